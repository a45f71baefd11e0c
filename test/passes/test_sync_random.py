"""plan-memory and insert-sync on random kernels: no hazard is left, no flag is misused.

Two judges that know nothing of the passes: `happens_before` checks every pair of
accesses of the unrolled kernel, and the executor runs the pipes as far apart as the
flags allow, where a missing flag shows as another value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from kernel_runs import (
    TRIPS,
    all_problems,
    assert_same_in_any_order,
    results,
    without_flag,
)
from random_kernels import cube_modules, entry, vector_modules
from random_mixed import mixed_modules
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.tile import BarrierOp, WaitFlagOp
from pyptoc.dialects.verify import verify_module
from pyptoc.passes.insert_sync import InsertSyncPass
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import Machine, load_machine

SLOW = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def small_machine(ub: int | None = None, ids: int = 8) -> Machine:
    """An ascend950 with less of what the passes share out."""
    machine = load_machine("ascend950")
    spaces = dict(machine.spaces)
    if ub is not None:
        spaces["ub"] = replace(spaces["ub"], bytes=ub)
    return replace(machine, spaces=spaces, event_ids=ids)


def compile_kernel(text: str, machine: Machine) -> ModuleOp:
    """The module with addresses and flags; examples that do not fit are dropped."""
    context = make_context(machine)
    module = parse_module(text, "test.mlir", context)
    try:
        PlanMemoryPass().apply(context, module)
    except CompileError as exc:
        assume(exc.diagnostics[0].code != "PTO211")
        raise
    InsertSyncPass().apply(context, module)
    verify_module(module)
    return module


def flag_count(text: str, machine: Machine) -> int:
    return len(without_flag(text, machine, None)[1])


PIPELINE = """
npu.kernel @k (%i) (%x: memref<128x16xf32, "gm">, %y: memref<128x16xf32, "gm">,
                    %n: index, %m: index) on cube {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 2} : !tile.buf<16x16xf32, l1>
  %b = tile.alloc : !tile.buf<16x16xf32, l1>
  %p = tile.alloc {slots = 2} : !tile.buf<16x16xf32, l0a>
  %q = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  scf.for %r = %c0 to %m step %c1 {
    scf.for %k = %c0 to %n step %c1 {
      %s = pypto.index %k mod 2
      %as = tile.slot %a[%s]
      %row = pypto.index 16 * (%k mod 4)
      %other = pypto.index 64 + 16 * (%r mod 4)
      tile.load %x[%row, 0] [16, 16] into %as
      tile.load %x[%other, 0] [16, 16] into %b
      scf.for %j = %c0 to %m step %c1 {
        %t = pypto.index %j mod 2
        %ps = tile.slot %p[%t]
        tile.move %as[0, 0] [16, 16] into %ps
        tile.move %b[0, 0] [16, 16] into %q
        %more = pypto.index %k + %j > 0
        tile.matmul %ps, %q into %c [16, 16, 16] accumulate %more
      }
      %out = pypto.index 16 * ((%k + 3 * %r) mod 8)
      tile.store %c [16, 16] into %y[%out, 0]
    }
  }
}
""" + entry("128x16", ["128x16"])


@pytest.mark.parametrize("gone", range(flag_count(PIPELINE, small_machine())))
def test_each_flag_of_a_pipeline_is_needed(gone: int) -> None:
    """Both judges say so. With an odd number of trips of the k loop, the next trip of
    the outer loop begins with the slot that was used last."""
    machine = small_machine()
    module, _ = without_flag(PIPELINE, machine, gone)
    assert all_problems(module)
    assert _differs_in_some_order(module, machine)


def _differs_in_some_order(module: ModuleOp, machine: Machine) -> bool:
    program = Executable(module, machine, check=True)
    for n, m in ((4, 3), (3, 3)):
        want = results(program, n, m, None)
        for seed in range(60):
            try:
                got = results(program, n, m, seed)
            except RunError:
                return True
            if any(not np.array_equal(got[name], want[name]) for name in want):
                return True
    return False


@settings(SLOW, max_examples=10)
@given(st.data(), st.one_of(vector_modules(), cube_modules(), mixed_modules()))
def test_without_a_flag_a_hazard_is_found_or_nothing_changes(
    data: st.DataObject, text: str
) -> None:
    """The checker finds all that the executor finds."""
    machine = small_machine()
    count = flag_count(text, machine)
    assume(count)
    module, _ = without_flag(text, machine, data.draw(st.integers(0, count - 1)))
    if not all_problems(module):
        assert_same_in_any_order(module, machine)


MEMORY = 'memref<64x16xf32, "gm">'


def inner_loop_may_not_run(before: str, inner: str, after: str) -> str:
    """What an inner loop's flags say when the outer loop is over does not hold for a
    trip in which it did not run."""
    return f"""
npu.kernel @k (%i) (%x: {MEMORY}, %n: index, %m: index) on vector {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc : !tile.buf<4x16xf32, ub>
  %b = tile.alloc : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {{
    {before}
    scf.for %j = %c0 to %m step %c1 {{
      {inner}
    }}
  }}
  {after}
}}
"""


LOAD_A = "tile.load %x[0, 0] [4, 16] into %a\n"
LOAD_B = "tile.load %x[0, 0] [4, 16] into %b\n"
FILL_A = "tile.fill 1.0 into %a [4, 16]\n"
ADD_B = "tile.add %b, %b into %b [4, 16]\n"
A_TO_B = "tile.add %a, %a into %b [4, 16]\n"

WAITS_LATER = f"""
npu.kernel @k (%i) (%x: {MEMORY}, %n: index, %m: index) on vector {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc : !tile.buf<4x16xf32, ub>
  %b = tile.alloc : !tile.buf<4x16xf32, ub>
  tile.fill 1.0 into %b [4, 16]
  tile.fill 1.0 into %a [4, 16]
  scf.for %k = %c0 to %n step %c1 {{
    tile.store %a [4, 16] into %x[0, 0]
    %s = pypto.index %k mod 2
    tile.store %b [4, 16] into %x[4, 0]
    tile.fill 2.0 into %b [4, 16]
  }}
}}
"""
"""The loop's own flag for %b comes after its first use of %a."""

ONE_SLOT_AHEAD = f"""
npu.kernel @k (%i) (%x: {MEMORY}, %n: index, %m: index) on vector {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {{slots = 2}} : !tile.buf<4x16xf32, ub>
  %b = tile.alloc : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {{
    %s = pypto.index %k mod 2
    %t = pypto.index (%k + 1) mod 2
    %as = tile.slot %a[%s] : !tile.buf<4x16xf32, ub>
    %at = tile.slot %a[%t] : !tile.buf<4x16xf32, ub>
    tile.load %x[0, 0] [4, 16] into %as
    tile.neg %at into %b [4, 16]
  }}
}}
"""
"""A trip reads the slot that the next trip fills."""

CONSTANT_SLOT = f"""
npu.kernel @k (%i) (%x: {MEMORY}, %n: index, %m: index) on vector {{
  %a = tile.alloc {{slots = 2}} : !tile.buf<4x16xf32, ub>
  %a0 = tile.slot %a[0] : !tile.buf<4x16xf32, ub>
  %a1 = tile.slot %a[1] : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %a1
  tile.neg %a1 into %a0 [4, 16]
}}
"""


@example(WAITS_LATER, None, 8)
@example(ONE_SLOT_AHEAD, None, 8)
@example(CONSTANT_SLOT, None, 8)
@example(inner_loop_may_not_run(LOAD_A, A_TO_B + LOAD_B, LOAD_A + FILL_A), None, 8)
@example(inner_loop_may_not_run(FILL_A, LOAD_B + ADD_B, LOAD_A), None, 8)
@SLOW
@given(
    vector_modules(), st.sampled_from([None, 512, 1024, 2048]), st.sampled_from([8, 3])
)
def test_vector_kernels_have_no_hazard(text: str, ub: int | None, ids: int) -> None:
    module = compile_kernel(text, small_machine(ub, ids))
    assert not all_problems(module)


@SLOW
@given(cube_modules(), st.sampled_from([8, 4]))
def test_cube_kernels_have_no_hazard(text: str, ids: int) -> None:
    module = compile_kernel(text, small_machine(ids=ids))
    assert not all_problems(module)


@settings(SLOW, max_examples=6)
@given(vector_modules(), st.sampled_from([None, 512, 2048]))
def test_vector_kernels_run_alike_in_any_order(text: str, ub: int | None) -> None:
    machine = small_machine(ub)
    assert_same_in_any_order(compile_kernel(text, machine), machine)


@settings(SLOW, max_examples=6)
@given(cube_modules())
def test_cube_kernels_run_alike_in_any_order(text: str) -> None:
    machine = small_machine()
    assert_same_in_any_order(compile_kernel(text, machine), machine)


@settings(SLOW, max_examples=8)
@given(vector_modules(), st.sampled_from([512, 768, 1024, 2048]))
def test_sharing_bytes_changes_no_result(text: str, ub: int) -> None:
    """Also with fewer slots; the values are those without addresses."""
    machine = small_machine(ub)
    module = compile_kernel(text, machine)
    apart = Executable(parse_module(text, "test.mlir", make_context(machine)), machine)
    program = Executable(module, machine, check=True)
    for n, m in TRIPS[1:5]:
        want = results(apart, n, m, None)
        got = results(program, n, m, None)
        for name, value in want.items():
            np.testing.assert_array_equal(got[name], value, err_msg=name)


@settings(SLOW, max_examples=6)
@given(mixed_modules(), st.sampled_from([8, 4]))
def test_mixed_kernels_have_no_hazard(text: str, ids: int) -> None:
    module = compile_kernel(text, small_machine(ids=ids))
    assert not all_problems(module)


@settings(SLOW, max_examples=4)
@given(mixed_modules())
def test_mixed_kernels_run_alike_in_any_order(text: str) -> None:
    machine = small_machine()
    assert_same_in_any_order(compile_kernel(text, machine), machine)


def full_loop(counter: str, one: str, other: str) -> str:
    """A loop that needs four flags each way: two slots of two buffers."""
    return f"""
  scf.for %{counter} = %c0 to %n step %c1 {{
    %s{counter} = pypto.index %{counter} mod 2
    %x{counter} = tile.slot %{one}[%s{counter}]
    %y{counter} = tile.slot %{other}[%s{counter}]
    tile.load %x[0, 0] [4, 16] into %x{counter}
    tile.neg %x{counter} into %x{counter} [4, 16]
    tile.load %x[0, 0] [4, 16] into %y{counter}
    tile.neg %y{counter} into %y{counter} [4, 16]
  }}"""


def test_where_an_order_itself_finds_no_id_one_barrier_stands() -> None:
    """Two full loops: nothing is free between them for the flag that would let the
    second one take the ids of the first; a barrier before the first would not help."""
    slots = "tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>"
    text = f"""
npu.kernel @k (%i) (%x: {MEMORY}, %n: index, %m: index) on vector {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = {slots}
  %b = {slots}
  %c = {slots}
  %d = {slots}
{full_loop("j", "a", "b")}
{full_loop("k", "c", "d")}
}}
"""
    module = compile_kernel(text, small_machine(ids=4))
    assert not all_problems(module)
    (barrier,) = [op for op in module.walk() if isinstance(op, BarrierOp)]
    assert isinstance(barrier.prev_op, WaitFlagOp)
