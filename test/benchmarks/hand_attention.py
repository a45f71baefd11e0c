"""
Flash attention forward, not causal, one head of 128, as a hand-tuned kernel does it.

A task has 128 queries; keys come in blocks of 128. The cube core multiplies the scores
of two blocks ahead while its vector cores work on those of a block, whose part of the
result they add two blocks later: nothing waits for a round trip between the cores. What
was popped is given back after the next pop, so transfers run ahead of computing.
"""

from __future__ import annotations

from pyptoc.api import Program, compile

BLOCK = 128
LEAST = 4
"""Blocks of keys: the loops start after the first three."""


def attention(length: int, machine: str = "ascend910b") -> Program:
    """`length` queries and keys of f16; flags and addresses are written by hand."""
    blocks = length // BLOCK
    assert length % BLOCK == 0
    assert blocks >= LEAST
    scores = "!tile.chan<128x128xf32, l0c -> gm -> ub, rows>"
    weights = "!tile.chan<128x128xf16, ub -> gm -> l1, rows>"
    memory = f'memref<{length}x128xf16, "gm">'
    text = f"""
npu.kernel @attend (%i) (%q: {memory}, %k: {memory}, %v: {memory}, %out: {memory})
    on mixed accesses(read %q[128 * %i, 0] [128, 128], read %k[0, 0] [{length}, 128],
      read %v[0, 0] [{length}, 128], write %out[128 * %i, 0] [128, 128])
      {{tag = "attention"}} {{
  %x = tile.channel {{addr = 0, slots = 2}} : {scores}
  %p = tile.channel {{addr = 163840, slots = 2}} : {weights}
  %y = tile.channel {{addr = 65536, slots = 2}} : {scores}
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %last = arith.constant {blocks - 1} : index
  %blocks = arith.constant {blocks} : index
  %before = arith.constant {blocks - 2} : index
  %row = pypto.index 128 * %i
{_cube()}
{_vector()}
}}
func.func @attention(
    %q: {memory} {{pypto.name = "q"}}, %k: {memory} {{pypto.name = "k"}},
    %v: {memory} {{pypto.name = "v"}}) -> ({memory} {{pypto.name = "out"}}) {{
  %out = npu.alloc[{length}, 128] : {memory}
  %t = npu.launch @attend[{blocks}] (%q, %k, %v, %out)
    {{order = "row", assign = "dynamic"}}
  func.return %out : {memory}
}}
"""
    return compile(text, machine=machine, pipeline="")


def _scores(t: str) -> str:
    """The product of the queries with block `t` of the keys."""
    return f"""
    %s{t} = pypto.index %{t} mod 2
    %key{t} = pypto.index 128 * %{t}
    %ks{t} = tile.slot %kl1[%s{t}]
    tile.wait_flag [mte1 -> mte2, %s{t}]
    tile.load %k[%key{t}, 0] [128, 128] into %ks{t}
    tile.set_flag [mte2 -> mte1, %s{t}]
    tile.wait_flag [m -> mte1, 0]
    tile.move %ql1[0, 0] [128, 128] into %left0
    tile.wait_flag [mte2 -> mte1, %s{t}]
    tile.move %ks{t}[0, 0] [128, 128] into %right0 {{trans}}
    tile.set_flag [mte1 -> mte2, %s{t}]
    tile.set_flag [mte1 -> m, 0]
    tile.wait_flag [mte1 -> m, 0]
    tile.wait_flag [fix -> m, 0]
    tile.matmul %left0, %right0 into %qk [128, 128, 128]
    tile.set_flag [m -> mte1, 0]
    tile.set_flag [m -> fix, 0]
    tile.wait_flag [m -> fix, 0]
    tile.push %qk [128, 128] into %x
    tile.set_flag [fix -> m, 0]"""


def _part(t: str, first: bool = False) -> str:
    """The product of block `t` of the weights with the values."""
    free = """
    tile.wait_flag [mte1 -> mte2, 4]
    tile.free %p"""
    return f"""
    %vs_{t} = pypto.index %{t} mod 2
    %vkey{t} = pypto.index 128 * %{t}
    %v_{t} = tile.slot %vl1[%vs_{t}]
    tile.wait_flag [mte1 -> mte2, 2 + %vs_{t}]
    tile.load %v[%vkey{t}, 0] [128, 128] into %v_{t}
    %p_{t} = tile.pop %p{"" if first else free}
    tile.set_flag [mte2 -> mte1, 2 + %vs_{t}]
    tile.wait_flag [m -> mte1, 1]
    tile.wait_flag [mte2 -> mte1, 2 + %vs_{t}]
    tile.move %p_{t}[0, 0] [128, 128] into %left1
    tile.set_flag [mte1 -> mte2, 4]
    tile.move %v_{t}[0, 0] [128, 128] into %right1
    tile.set_flag [mte1 -> mte2, 2 + %vs_{t}]
    tile.set_flag [mte1 -> m, 1]
    tile.wait_flag [mte1 -> m, 1]
    tile.wait_flag [fix -> m, 1]
    tile.matmul %left1, %right1 into %pv [128, 128, 128]
    tile.set_flag [m -> mte1, 1]
    tile.set_flag [m -> fix, 1]
    tile.wait_flag [m -> fix, 1]
    tile.push %pv [128, 128] into %y
    tile.set_flag [fix -> m, 1]"""


def _flags(kind: str) -> str:
    pairs = [*(("mte1", "mte2", n) for n in range(4))]
    pairs += [(source, target, n) for n in range(2) for source, target in _TAKEN]
    return "\n".join(f"    tile.{kind}_flag [{a} -> {b}, {n}]" for a, b, n in pairs)


_TAKEN = (("m", "mte1"), ("fix", "m"))


def _cube() -> str:
    return f"""
  tile.section cube {{
    %ql1 = tile.alloc {{addr = 0}} : !tile.buf<128x128xf16, l1>
    %kl1 = tile.alloc {{addr = 32768, slots = 2}} : !tile.buf<128x128xf16, l1>
    %vl1 = tile.alloc {{addr = 98304, slots = 2}} : !tile.buf<128x128xf16, l1>
    %left0 = tile.alloc {{addr = 0}} : !tile.buf<128x128xf16, l0a>
    %left1 = tile.alloc {{addr = 32768}} : !tile.buf<128x128xf16, l0a>
    %right0 = tile.alloc {{addr = 0}} : !tile.buf<128x128xf16, l0b>
    %right1 = tile.alloc {{addr = 32768}} : !tile.buf<128x128xf16, l0b>
    %qk = tile.alloc {{addr = 0}} : !tile.buf<128x128xf32, l0c>
    %pv = tile.alloc {{addr = 65536}} : !tile.buf<128x128xf32, l0c>
    tile.load %q[%row, 0] [128, 128] into %ql1
    tile.set_flag [mte2 -> mte1, 5]
    tile.wait_flag [mte2 -> mte1, 5]
{_flags("set")}
{_scores("zero")}
{_scores("one")}
{_scores("two")}
{_part("zero", first=True)}
    scf.for %t = %three to %blocks step %one {{
      %earlier = pypto.index %t - 2
{_scores("t")}
{_part("earlier")}
    }}
{_part("before")}
{_part("last")}
    tile.wait_flag [mte1 -> mte2, 4]
    tile.free %p
{_flags("wait")}
  }}"""


def _softmax(t: str) -> str:
    """The weights of block `t`, and by how much the maxima have grown."""
    box, column = "[64, 128]", "[64, 1]"
    return f"""
    tile.wait_flag [mte2 -> v, 0]
    %a{t} = pypto.index %{t} mod 3
    %alpha{t} = tile.slot %alpha[%a{t}]
    tile.mul %x{t}, 0.0883883461 into %x{t} {box}
    tile.row_max %x{t} into %new {column.replace("1]", "128]")}
    tile.maximum %new, %max into %new {column}
    tile.sub %max, %new into %alpha{t} {column}
    tile.exp %alpha{t} into %alpha{t} {column}
    tile.sub %x{t}, %new row into %x{t} {box}
    tile.exp %x{t} into %x{t} {box}
    tile.wait_flag [mte3 -> v, 0]
    tile.cvt %x{t} into %narrow {box}
    tile.set_flag [v -> mte3, 0]
    tile.mul %sum, %alpha{t} into %sum {column}
    tile.copy %new into %max {column}
    tile.row_sum %x{t} into %new {box}
    tile.set_flag [v -> mte2, 0]
    tile.add %sum, %new into %sum {column}
    tile.wait_flag [v -> mte3, 0]
    tile.push %narrow {box} into %p
    tile.set_flag [mte3 -> v, 0]"""


def _take(channel: str, t: str, flag: int, free: bool) -> str:
    """Take a tile; give back the one before."""
    back = f"""
    tile.wait_flag [v -> mte2, {flag}]
    tile.free %{channel}"""
    return f"""
    %{channel}{t} = tile.pop %{channel}{back if free else ""}
    tile.set_flag [mte2 -> v, {flag}]"""


def _add(t: str, number: str) -> str:
    """Add the part of block `number` to the result."""
    return f"""
    tile.wait_flag [mte2 -> v, 1]
    %b{t} = pypto.index %{number} mod 3
    %grown{t} = tile.slot %alpha[%b{t}]
    tile.mul %total, %grown{t} row into %total [64, 128]
    tile.add %total, %y{t} into %total [64, 128]
    tile.set_flag [v -> mte2, 1]"""


def _vector() -> str:
    rows = {name: 180224 + 2048 * n for n, name in enumerate(("sum", "max", "new"))}
    small = "\n".join(
        f"    %{name} = tile.alloc {{addr = {at}}} : !tile.buf<64x1xf32, ub>"
        for name, at in rows.items()
    )
    return f"""
  tile.section vector (%half) {{
{small}
    %alpha = tile.alloc {{addr = 186368, slots = 3}} : !tile.buf<64x1xf32, ub>
    %total = tile.alloc {{addr = 131072}} : !tile.buf<64x128xf32, ub>
    %narrow = tile.alloc {{addr = 163840}} : !tile.buf<64x128xf16, ub>
    %start = pypto.index %row + 64 * %half
    tile.fill -inf into %max [64, 1]
    tile.fill 0.0 into %sum [64, 1]
    tile.fill 0.0 into %total [64, 128]
    tile.set_flag [mte3 -> v, 0]
{_take("x", "zero", 0, free=False)}
{_softmax("zero")}
{_take("x", "one", 0, free=True)}
{_softmax("one")}
{_take("x", "two", 0, free=True)}
{_take("y", "zero", 1, free=False)}
{_softmax("two")}
{_add("zero", "zero")}
    scf.for %t = %three to %blocks step %one {{
      %earlier = pypto.index %t - 2
{_take("x", "t", 0, free=True)}
{_take("y", "t", 1, free=True)}
{_softmax("t")}
{_add("t", "earlier")}
    }}
    tile.wait_flag [v -> mte2, 0]
    tile.free %x
{_take("y", "before", 1, free=True)}
{_add("before", "before")}
{_take("y", "last", 1, free=True)}
{_add("last", "last")}
    tile.wait_flag [v -> mte2, 1]
    tile.free %y
    tile.wait_flag [mte3 -> v, 0]
    tile.div %total, %sum row into %total [64, 128]
    tile.cvt %total into %narrow [64, 128]
    tile.set_flag [v -> mte3, 1]
    tile.wait_flag [v -> mte3, 1]
    tile.store %narrow [64, 128] into %out[%start, 0]
  }}"""
