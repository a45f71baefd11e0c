"""
Small tensor programs for the tests of the front passes, one a feature.

`PROGRAMS` maps a name to the text; every `?` is named M or N. The rows of `GROUPED` are
partitioned by the input %g.
"""

from __future__ import annotations


def body(arguments: str, result: str, text: str) -> str:
    """A function around the lines of `text`, which define %r."""
    return (
        f"func.func @f({arguments}) -> {result} {{\n{text}\n"
        f"  func.return %r : {result}\n}}\n"
    )


ROWS = '{pypto.dims = ["M"]}'


def unary(
    text: str,
    element: str = "f32",
    result: str | None = None,
    shape: str = "?x24",
    out: str | None = None,
) -> str:
    """A function of one tensor %x."""
    source = f"tensor<{shape}x{element}>"
    target = "x".join(part for part in (out or shape, result or element) if part)
    dims = ROWS if "?" in shape else ""
    return body(f"%x: {source} {dims}", f"tensor<{target}>", text)


REDUCTIONS = {
    "softmax": unary("  %r = pypto.softmax %x axis -1"),
    "softmax_bf16": unary("  %r = pypto.softmax %x axis -1", "bf16"),
    "softmax_rows": unary("  %r = pypto.softmax %x axis 0"),
    "softmax_middle": unary("  %r = pypto.softmax %x axis -2", "f16", shape="?x4x3"),
    "sum": unary("  %r = pypto.sum %x axis -1", out="?"),
    "sum_bf16": unary("  %r = pypto.sum %x axis 1 {keepdim}", "bf16", out="?x1"),
    "sum_bf16_f32": unary("  %r = pypto.sum %x axis 1 to f32", "bf16", "f32", out="?"),
    "sum_rows": unary("  %r = pypto.sum %x axis 0", "f16", out="24"),
    "sum_i8": unary("  %r = pypto.sum %x axis -1 to i32", "i8", "i32", out="?"),
    "sum_i32": unary("  %r = pypto.sum %x axis -1 to i64", "i32", "i64", out="?"),
    "sum_rank3": unary("  %r = pypto.sum %x axis -1", shape="?x4x3", out="?x4"),
    "sum_middle": unary("  %r = pypto.sum %x axis 1", shape="?x4x3", out="?x3"),
    "prod_f16": unary("  %r = pypto.prod %x axis -1", "f16", out="?"),
    "amax": unary("  %r = pypto.amax %x axis -1", out="?"),
    "amax_bf16": unary("  %r = pypto.amax %x axis -1", "bf16", out="?"),
    "amax_i32": unary("  %r = pypto.amax %x axis -1", "i32", out="?"),
    "amin_rows": unary("  %r = pypto.amin %x axis -2 {keepdim}", out="1x24"),
    "mean": unary("  %r = pypto.mean %x axis -1 {keepdim}", "bf16", out="?x1"),
    "mean_dynamic": unary("  %r = pypto.mean %x axis -1", shape="3x?", out="3"),
    "mean_rows": unary("  %r = pypto.mean %x axis 0", out="24"),
    "mean_nothing": unary("  %r = pypto.mean %x axis -1", shape="?x0", out="?"),
    "var": unary("  %r = pypto.var %x axis -1", out="?"),
    "var_dynamic": unary("  %r = pypto.var %x axis 1", shape="3x?", out="3"),
    "logsumexp": unary("  %r = pypto.logsumexp %x axis -1", out="?"),
    "var_rows": unary("  %r = pypto.var %x axis 0 {keepdim}", "bf16", out="1x24"),
    "logsumexp_middle": unary(
        "  %r = pypto.logsumexp %x axis 1 {keepdim}", shape="?x4x3", out="?x1x3"
    ),
    "argmax": unary("  %r = pypto.argmax %x axis -1", "f32", "i32", out="?"),
    "argmax_bf16": unary("  %r = pypto.argmax %x axis 1", "bf16", "i32", out="?"),
    "argmax_i8": unary("  %r = pypto.argmax %x axis -1", "i8", "i32", out="?"),
    "argmin_rows": unary(
        "  %r = pypto.argmin %x axis 0 {keepdim}", "f16", "i32", "6x24", "1x24"
    ),
    "argmin_middle": unary(
        "  %r = pypto.argmin %x axis 1", "i64", "i32", "?x4x3", "?x3"
    ),
    "cumsum_bf16": unary("  %r = pypto.cumsum %x axis -1", "bf16"),
    "cumsum_rows": unary("  %r = pypto.cumsum %x axis 0"),
    "cumsum_middle": unary("  %r = pypto.cumsum %x axis 1", "f16", shape="?x4x3"),
}

ACTIVATIONS = {
    "sigmoid": unary("  %r = pypto.sigmoid %x"),
    "silu": unary("  %r = pypto.silu %x"),
    "silu_f16": unary("  %r = pypto.silu %x", "f16"),
    "gelu": unary("  %r = pypto.gelu %x"),
    "gelu_bf16": unary("  %r = pypto.gelu %x", "bf16"),
    "swiglu": unary("  %r = pypto.swiglu %x", out="?x12"),
    "swiglu_bf16": unary("  %r = pypto.swiglu %x", "bf16", out="?x12"),
    "swiglu_two": unary("  %y = pypto.exp %x\n  %r = pypto.swiglu %x, %y"),
}

SHAPES = {
    "concat": unary("  %r = pypto.concat %x, %x axis -1", out="?x48"),
    "concat_rows": unary(
        "  %y = pypto.exp %x\n  %r = pypto.concat %x, %y, %x axis 0", "bf16"
    ),
    "concat_one": unary("  %r = pypto.concat %x axis 0", "i1"),
    "concat_middle": body(
        f"%x: tensor<?x4x3xi8> {ROWS}, %y: tensor<?x0x3xi8> {ROWS}, "
        f"%z: tensor<?x1x3xi8> {ROWS}",
        "tensor<?x5x3xi8>",
        "  %r = pypto.concat %x, %y, %z axis 1",
    ),
    "concat_dynamic": body(
        '%x: tensor<3x?xi32> {pypto.dims = ["M"]}, '
        '%y: tensor<3x?xi32> {pypto.dims = ["N"]}',
        "tensor<3x?xi32>",
        "  %r = pypto.concat %x, %y axis 1",
    ),
}


def roped(clauses: str, angles: str, element: str = "f32", shape: str = "?x4x6") -> str:
    """rope with cos and sin of one shape."""
    dims = ROWS if "?" in angles else ""
    return body(
        f"%x: tensor<{shape}x{element}> {ROWS}, %c: tensor<{angles}> {dims}, "
        f"%s: tensor<{angles}> {dims}",
        f"tensor<{shape}x{element}>",
        f"  %r = pypto.rope %x, %c, %s {clauses}",
    )


ROPES = {
    "rope": roped("", "?x1x6xf32"),
    "rope_bf16": roped("", "?x1x6xbf16", "bf16"),
    "rope_interleaved": roped("{interleaved}", "?x4x6xbf16", "f16"),
    "rope_first": roped("first 4", "4xf32", "bf16"),
    "rope_first_interleaved": roped("first 4 {interleaved}", "?x1x4xf32"),
    "rope_odd": roped("first 2 {interleaved}", "1xf32", shape="?x5"),
    "rope_all": roped("first 0", "?x0xf32", "f16", "?x6"),
    "rope_dynamic": body(
        "%x: tensor<3x?xf32>, %c: tensor<?xf32>, %s: tensor<?xf32>".replace(
            "xf32>", 'xf32> {pypto.dims = ["N"]}'
        ),
        "tensor<3x?xf32>",
        "  %r = pypto.rope %x, %c, %s {interleaved}",
    ),
}


def einsum(equation: str, a: str, b: str, result: str, to: str = "") -> str:
    """einsum of two tensors."""
    a_dims, b_dims = (ROWS if "?" in text else "" for text in (a, b))
    return body(
        f"%a: tensor<{a}> {a_dims}, %b: tensor<{b}> {b_dims}",
        f"tensor<{result}>",
        f'  %r = pypto.einsum "{equation}" %a, %b {to}',
    )


EINSUMS = {
    "einsum": einsum("thd,hdc->thc", "?x4x6xbf16", "4x6x8xbf16", "?x4x8xf32"),
    "einsum_to": einsum("mk,kn->mn", "?x6xf16", "6x8xf16", "?x8xf16", "to f16"),
    "einsum_turned": einsum("mk,nk->nm", "?x6xf32", "8x6xf32", "8x?xf32"),
    "einsum_joined": einsum("abkl,klc->abc", "?x2x3x4xf32", "3x4x5xf32", "?x2x5xf32"),
    "einsum_apart": einsum("akbl,lkc->cba", "?x3x2x4xi8", "4x3x5xi8", "5x2x?xi32"),
    "einsum_outer": einsum("a,b->ba", "?xf32", "4xf32", "4x?xf32"),
    "einsum_dot": einsum("a,a->", "?xf32", "?xf32", "f32"),
    "einsum_batches": einsum("xyk,yxk->xy", "?x3x4xf32", "3x?x4xf32", "?x3xf32"),
}

GAMMA = '%x: tensor<?x24xbf16> {pypto.dims = ["M"]}, %g: tensor<24xf32>'
NORMS = {
    "rms_norm": body(
        GAMMA, "tensor<?x24xbf16>", "  %r = pypto.rms_norm %x, %g eps 1.0e-5"
    ),
    "rms_norm_f32": body(
        GAMMA, "tensor<?x24xf32>", "  %r = pypto.rms_norm %x, %g eps 1.0e-5 to f32"
    ),
    "rms_norm_dynamic": body(
        '%x: tensor<3x?xf32> {pypto.dims = ["N"]}, '
        '%g: tensor<?xf32> {pypto.dims = ["N"]}',
        "tensor<3x?xf32>",
        "  %r = pypto.rms_norm %x, %g eps 1.0e-5",
    ),
    "layer_norm": body(
        GAMMA + ", %b: tensor<24xf32>",
        "tensor<?x24xbf16>",
        "  %r = pypto.layer_norm %x, %g, %b eps 1.0e-6",
    ),
    "online_softmax": body(
        '%s: tensor<?x24xf32> {pypto.dims = ["M"]}, '
        '%m: tensor<?x1xf32> {pypto.dims = ["M"]}, '
        '%l: tensor<?x1xf32> {pypto.dims = ["M"]}',
        "tensor<?x24xf32>",
        "  %m2, %l2, %p, %a = pypto.online_softmax %s state %m, %l\n"
        "  %0 = pypto.add %m2, %l2\n  %1 = pypto.mul %0, %a\n"
        "  %r = pypto.add %p, %1",
    ),
}


def quantized(clauses: str, scale: str, element: str = "f32", shape: str = "?x24"):
    """A function that returns both results of quantize."""
    dims = ROWS if "?" in shape else ""
    return (
        f"func.func @f(%x: tensor<{shape}x{element}> {dims})\n"
        f"    -> (tensor<{shape}xi8>, tensor<{scale}xf32>) {{\n"
        f"  %q, %d = pypto.quantize %x {clauses}\n"
        f"  func.return %q, %d : tensor<{shape}xi8>, tensor<{scale}xf32>\n}}\n"
    )


QUANT = {
    "quantize": quantized("axis -1 to i8", "?x1"),
    "quantize_bf16": quantized("axis 1 to i8", "?x1", "bf16"),
    "quantize_columns": quantized("axis 0 to i8", "1x24"),
    "quantize_groups": quantized("axis -1 group 8 to i8", "?x3"),
    "quantize_groups_first": quantized("axis 0 group 2 to i8", "3x8", shape="6x8"),
    "quantize_groups_middle": quantized(
        "axis 1 group 2 to i8", "?x2x3", "bf16", "?x4x3"
    ),
    "quantize_middle": quantized(
        'axis 1 to i8 {scale = "amax/127"}', "?x1x3", "f16", "?x4x3"
    ),
    "quantize_rule": quantized('axis -1 to i8 {scale = "amax/127"}', "?x1"),
    "dequantize": body(
        '%x: tensor<?x24xi32> {pypto.dims = ["M"]}, '
        '%s: tensor<?x1xf32> {pypto.dims = ["M"]}, %t: tensor<24xbf16>',
        "tensor<?x24xbf16>",
        "  %r = pypto.dequantize %x scales %s, %t to bf16",
    ),
    "dequantize_groups": body(
        '%x: tensor<?x24xi8> {pypto.dims = ["M"]}, '
        '%s: tensor<?x3xf32> {pypto.dims = ["M"]}, %t: tensor<3xbf16>, '
        '%z: tensor<?x1xi32> {pypto.dims = ["M"]}',
        "tensor<?x24xbf16>",
        "  %r = pypto.dequantize %x scales %s, %t axis 1 group 8 zero_point %z to bf16",
    ),
}


def quant_mx(axis: int, shape: str, scale: str, element: str, to: str) -> str:
    """A function that returns both results of quant_mx."""
    dims = ROWS if "?" in shape else ""
    return (
        f"func.func @f(%x: tensor<{shape}x{element}> {dims})\n"
        f"    -> (tensor<{shape}x{to}>, tensor<{scale}xf8E8M0FNU>) {{\n"
        f"  %q, %s = pypto.quant_mx %x axis {axis} to {to}\n"
        f"  func.return %q, %s : tensor<{shape}x{to}>, tensor<{scale}xf8E8M0FNU>\n}}\n"
    )


QUANT_MX = {
    "quant_mx": quant_mx(-1, "?x128", "?x2x2", "f32", "f8E4M3FN"),
    "quant_mx_tail": quant_mx(-1, "?x100", "?x2x2", "bf16", "f8E5M2"),
    "quant_mx_rows": quant_mx(0, "64x24", "1x24x2", "f16", "f8E4M3FN"),
    "quant_mx_rows_tail": quant_mx(1, "?x33x3", "?x1x3x2", "f32", "f8E5M2"),
    "quant_mx_dynamic": quant_mx(0, "?x3", "?x3x2", "f32", "f8E4M3FN"),
}


def grouped(a: str, b: str, result: str, flags: str = "", groups: str = "3xi64") -> str:
    """grouped_matmul of 3 experts."""
    return body(
        f"%a: tensor<?x{a}> {ROWS}, %b: tensor<3x{b}>, %g: tensor<{groups}>",
        f"tensor<?x{result}>",
        f"  %r = pypto.grouped_matmul %a, %b groups %g {flags}",
    )


def grouped_mx(b: str, scales: str, flags: str) -> str:
    """grouped_matmul of 3 experts in f8 with scales."""
    return body(
        f"%a: tensor<?x96xf8E4M3FN> {ROWS}, %b: tensor<3x{b}xf8E4M3FN>, "
        f"%sa: tensor<?x2x2xf8E8M0FNU> {ROWS}, %sb: tensor<3x{scales}xf8E8M0FNU>, "
        "%g: tensor<3xi64>",
        "tensor<?x8xf32>",
        f"  %r = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb {flags}",
    )


GROUPED = {
    "grouped_matmul": grouped("16xbf16", "16x8xbf16", "8xf32"),
    "grouped_matmul_trans": grouped("16xf16", "8x16xf16", "8xf32", "{b_trans}"),
    "grouped_matmul_i8": grouped("16xi8", "16x8xi8", "8xi32", groups="3xi32"),
    "grouped_matmul_ends": grouped(
        "16xbf16", "16x8xbf16", "8xf32", '{group_kind = "ends"}'
    ),
    "grouped_matmul_mx": grouped_mx("96x8", "2x8x2", ""),
    "grouped_matmul_mx_trans": grouped_mx("8x96", "8x2x2", "{b_trans, scales_b_trans}"),
}
TILED = """func.func @f(%x: tensor<?x24xf32> {pypto.dims = ["M"]}) -> tensor<?x24xf32> {
  %m = pypto.dim %x, 0
  %o0 = pypto.empty[%m, 24] : tensor<?x24xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 2, %j = 0 to 3) outs(%o = %o0) {
    %c = pypto.index %j * 8
    %v = pypto.view %x[%i +: %n, %c +: 8]
    %e = pypto.exp %v
    pypto.store %e into %o[%i, %c]
  }
  func.return %r : tensor<?x24xf32>
}
"""
NESTED = """func.func @f(%x: tensor<?x24xf32> {pypto.dims = ["M"]})
    -> (tensor<?x24xf32>, tensor<?xf32>) {
  %m = pypto.dim %x, 0
  %o0 = pypto.full 0.0[%m, 24] : tensor<?x24xf32>
  %p0 = pypto.full 1.0[%m] : tensor<?xf32>
  %r, %p = pypto.forall (%i = 0 to %m) outs(%o = %o0, %q = %p0) {tag = "rows"} {
    %row = pypto.view %x[%i, :]
    %odd = pypto.index %i mod 2
    %is = pypto.index %odd == 1
    %t = pypto.forall (%j = 0 to 3) outs(%u = %row) {
      %c = pypto.index %j * 8
      %v = pypto.view %x[%i, %c +: 8]
      %s = pypto.mul %v, 2.0
      %w = pypto.view %s[0 +: 1]
      %keep = pypto.index %j > 1
      scf.if %is {
        pypto.store %s into %u[%c]
        scf.if %keep {
          pypto.store %w into %q[%i]
        }
      } else {
        pypto.forall (%k = 0 to 8 step 4) {
          %d = pypto.index %c + %k
          %z = pypto.view %v[%k +: 4]
          pypto.store %z into %o[%i, %d]
        }
      }
    }
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %len = pypto.sum %t axis 0 {keepdim}
    scf.for %k = %c0 to %odd step %c1 {
      pypto.store %len into %o[%i, 3]
    }
  }
  func.return %r, %p : tensor<?x24xf32>, tensor<?xf32>
}
"""
CARRIED = """func.func @f(%x: tensor<?x24xf32> {pypto.dims = ["M"]},
    %k: tensor<1xi32>) -> tensor<1x24xf32> {
  %m = pypto.dim %x, 0
  %a0 = pypto.full 0.0[1, 24] : tensor<1x24xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %r, %last = pypto.for (%i +: %n = 0 to %m step 2) iter(%a = %a0, %at = %c0) {
    %o = arith.addi %at, %c3 : index
    %h = arith.remsi %o, %m : index
    %v = pypto.view %x[%i +: %n, :]
    %s = pypto.sum %v axis 0 {keepdim}
    %b = pypto.add %a, %s
    %w = pypto.view %x[%h +: 1, :]
    %d = pypto.add %b, %w
    pypto.yield %d, %h
  }
  func.return %r : tensor<1x24xf32>
}
"""
ARITH = """func.func @f(%x: tensor<7xi32>) -> (index, index, index, index, index) {
  %a = pypto.read %x[0]
  %b = pypto.read %x[1]
  %c = arith.constant 4 : i64
  %d = arith.index_cast %c : i64 to index
  %q = arith.divsi %a, %b : index
  %r = arith.remsi %a, %b : index
  %q4 = arith.divsi %a, %d : index
  %f = arith.floordivsi %a, %b : index
  %g = arith.ceildivsi %a, %b : index
  %p = arith.muli %q4, %f : index
  %lt = arith.cmpi slt, %p, %g : index
  %s = scf.if %lt -> (index) {
    %t = arith.maxsi %p, %g : index
    scf.yield %t : index
  } else {
    %t = arith.minsi %p, %g : index
    %u = arith.subi %t, %d : index
    scf.yield %u : index
  }
  func.return %q, %r, %f, %g, %s : index, index, index, index, index
}
"""
CALLS = """func.func private @twice(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %y = pypto.add %x, %x
  func.return %y : tensor<?x24xf32>
}
func.func private @four(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %y = func.call @twice(%x) : (tensor<?x24xf32>) -> tensor<?x24xf32>
  %z = func.call @twice(%y) : (tensor<?x24xf32>) -> tensor<?x24xf32>
  func.return %z, %x : tensor<?x24xf32>, tensor<?x24xf32>
}
func.func @f(%x: tensor<?x24xf32> {pypto.dims = ["M"]}) -> tensor<?x24xf32> {
  %a, %b = func.call @four(%x)
    : (tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>)
  %r = pypto.sub %a, %b
  func.return %r : tensor<?x24xf32>
}
"""
STATED = body(
    '%x: tensor<?x24xbf16> {pypto.dims = ["M"]}',
    "tensor<5x24xi8>",
    """  %y = pypto.softmax %x axis -1 : tensor<?x24xbf16> -> tensor<5x24xbf16>
  %z = pypto.cast %y to f32 : tensor<5x24xbf16> -> tensor<?x24xf32>
  %r = pypto.cast %z to i8 mode rint : tensor<?x24xf32> -> tensor<5x24xi8>""",
)
"""Types that state more, and less, than what is inferred."""
CONTROL = {
    "stated_types": STATED,
    "forall": TILED,
    "forall_nested": NESTED,
    "for_carried": CARRIED,
    "arith": ARITH,
    "calls": CALLS,
}

CASTS = {
    f"cast_{source}_{target}_{mode}{'' if saturate else '_wrap'}": unary(
        f"  %r = pypto.cast %x to {target}"
        + (f" mode {mode}" if mode != "none" else "")
        + ("" if saturate else " {saturate = false}"),
        source,
        target,
    )
    for source, target, mode, saturate in (
        ("f32", "i8", "none", True),
        ("f32", "i8", "rint", True),
        ("f32", "i8", "floor", False),
        ("f32", "ui8", "round", True),
        ("f32", "ui8", "none", False),
        ("bf16", "i8", "ceil", True),
        ("bf16", "i16", "none", False),
        ("bf16", "f16", "none", True),
        ("f16", "bf16", "none", True),
        ("f16", "i64", "rint", True),
        ("i8", "f32", "none", True),
        ("i8", "bf16", "none", True),
        ("i8", "i32", "none", True),
        ("i8", "i64", "none", True),
        ("i16", "i8", "none", True),
        ("i16", "i8", "none", False),
        ("i32", "i8", "none", True),
        ("i32", "ui8", "none", False),
        ("i32", "bf16", "none", True),
        ("i64", "i8", "none", True),
        ("i64", "i16", "none", False),
        ("i64", "f16", "none", True),
        ("i1", "f32", "none", True),
        ("i1", "i32", "none", True),
        ("f32", "f32", "none", True),
    )
}

PROGRAMS: dict[str, str] = {
    **REDUCTIONS,
    **ACTIVATIONS,
    **SHAPES,
    **ROPES,
    **EINSUMS,
    **NORMS,
    **QUANT,
    **QUANT_MX,
    **GROUPED,
    **CONTROL,
    **CASTS,
}
