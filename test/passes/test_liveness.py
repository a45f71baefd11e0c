"""Lifetimes of buffers, by position."""

from __future__ import annotations

from pyptoc.dialects.context import make_context
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.passes.liveness import Lifetime, lifetimes

BUFFER = "!tile.buf<4x16xf32, ub>"

KERNEL = f"""
npu.kernel @k (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %before = tile.alloc : {BUFFER}
  %through = tile.alloc {{slots = 2}} : {BUFFER}
  %unused = tile.alloc : {BUFFER}
  %early = tile.alloc : {BUFFER}
  tile.fill 0.0 into %before [4, 16]
  scf.for %k = %c0 to %n step %c1 {{
    %trip = tile.alloc : {BUFFER}
    tile.load %x[0, 0] [4, 16] into %early
    tile.load %x[0, 0] [4, 16] into %trip
    scf.for %j = %c0 to %n step %c1 {{
      %s = tile.slot %through[0] : {BUFFER}
      tile.add %trip, %trip into %s [4, 16]
    }}
    tile.exp %trip into %trip [4, 16]
  }}
  %after = tile.alloc : {BUFFER}
  %one = tile.slot %through[1] : {BUFFER}
  tile.exp %one into %after [4, 16]
}}
"""


def live() -> dict[str, Lifetime]:
    module = parse_module(KERNEL, "test.mlir", make_context())
    (kernel,) = kernels_of(module).values()
    return {x.alloc.results[0].name_hint or "": x for x in lifetimes(kernel)}


def test_used_in_a_loop_lives_through_all_of_it() -> None:
    found = live()
    through, trip = found["through"], found["trip"]
    assert through.start < trip.start
    assert through.end > trip.end
    assert through.overlaps(trip)
    assert through.overlaps(found["after"])


def test_also_where_the_last_use_is_early_in_the_loop() -> None:
    found = live()
    assert found["early"].overlaps(found["trip"])
    assert not found["early"].overlaps(found["after"])


def test_a_use_in_an_inner_loop_widens_to_the_loop_in_its_own_block() -> None:
    found = live()
    # %trip: from its load to the exp behind the inner loop, but not the whole trip.
    assert found["trip"].end - found["trip"].start == 6


def test_what_is_over_before_a_loop_may_share_with_what_is_in_it() -> None:
    found = live()
    assert not found["before"].overlaps(found["trip"])
    assert not found["before"].overlaps(found["through"])
    assert not found["trip"].overlaps(found["after"])


def test_unused_has_no_extent_and_no_pipe() -> None:
    unused = live()["unused"]
    assert unused.start == unused.end
    assert not unused.pipes
