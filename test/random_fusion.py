"""
Random products and what reads them: what partition may fuse, move into loops and cut.

A program has one or two products (batched, transposed, i8, MX, grouped by expert, in a
loop), vector ops on all of a product or on two halves of it, with scales of rows and
columns, biases and residuals, and perhaps a reduction with what is made of it. Inputs
are small multiples of 1/4, so that products are exact; what follows is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from element_types import DTYPES
from random_writer import Program

SIZES = (1, 2, 5, 16, 17, 33, 64, 100)
COLUMNS = (1, 8, 16, 40, 96, 130, 256, 300)
INNER = (1, 16, 40, 64, 130, 192)
UNARY = ("abs", "neg", "relu", "sigmoid", "silu", "gelu", "tanh")


@dataclass
class Fused:
    """Writes one program."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    count: int = 0

    def __post_init__(self) -> None:
        self.batch: tuple[int, ...] = self.pick((), (), (), (2,), (2, 3))
        self.m, self.n = self.pick(*SIZES), self.pick(*COLUMNS)
        self.dynamic = not self.batch and self.chance(0.4)

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def op(self, text: str) -> str:
        """Defines a value."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def rows(self, shape: tuple[int, ...], element: str) -> str:
        """An input with the rows of the program."""
        return self.argument(shape, element, dynamic=self.dynamic)

    def argument(
        self, shape: tuple[int, ...], element: str, *, dynamic: bool = False
    ) -> str:
        """An input; its first dimension may be dynamic."""
        name = f"x{len(self.arguments)}"
        generator = np.random.default_rng(self.random.getrandbits(32))
        values = generator.integers(-4, 5, shape)
        data = values if element[0] in "iu" else values / 4
        if element == "f8E8M0FNU":
            data = 2.0 ** generator.integers(-1, 2, shape)
        self.inputs[name] = np.asarray(data).astype(DTYPES[element])
        sizes = [str(size) for size in shape]
        marks = ""
        if dynamic:
            sizes[0], marks = "?", ' {pypto.dims = ["M"]}'
        self.arguments.append(f"%{name}: tensor<{'x'.join([*sizes, element])}>{marks}")
        return f"%{name}"

    # -- products

    def product(self, k: int, n: int) -> str:
        """A product in f32 or i32."""
        scaled = [] if self.batch else ["f8E4M3FN"]
        element = self.pick("f16", "bf16", "f32", "i8", *scaled)
        if element == "f8E4M3FN":
            pairs = -(-k // 64)
            a = self.rows((self.m, k), element)
            b = self.argument((k, n), element)
            sa = self.rows((self.m, pairs, 2), "f8E8M0FNU")
            sb = self.argument((pairs, n, 2), "f8E8M0FNU")
            scales = f"scales {sa}, {sb}"
            return self.op(f"pypto.scaled_mm {a}, {b} {scales}{self.tile()}")
        turned = self.chance(0.3) and not self.dynamic
        left = (*self.batch, k, self.m) if turned else (*self.batch, self.m, k)
        flags = ["a_trans"] if turned else []
        right = self.pick((k, n), (*self.batch, k, n))
        if self.chance(0.3):
            right, flags = (*right[:-2], n, k), [*flags, "b_trans"]
        a = self.rows(left, element)
        b = self.argument(right, element)
        tile = "" if turned else self.tile()
        marks = [*flags, *([tile[2:-1]] if tile else [])]
        text = f"pypto.matmul {a}, {b}" + (f" {{{', '.join(marks)}}}" if marks else "")
        y = self.op(text)
        return self.op(f"pypto.cast {y} to f32") if element == "i8" else y

    def tile(self) -> str:
        """A given tile, perhaps."""
        if self.chance(0.6):
            return ""
        m, n, k = self.pick(16, 32, 128), self.pick(32, 64, 256), self.pick(64, 128)
        split = self.pick("", "", ", split_k")
        sizes = f"m = [{m}, {m}], k = [{k}, {k}], n = [{n}, {n}]"
        return f" {{tile = #pypto.cube<{sizes}{split}>}}"

    def sources(self) -> list[str]:
        """Values of one shape that products make."""
        k = self.pick(*INNER)
        match self.pick("one", "halves", "two", "grouped"):
            case "halves":
                y = self.product(k, 2 * self.n)
                lead = ":, " * (len(self.batch) + 1)
                return [
                    self.op(f"pypto.view {y}[{lead}{start} +: {self.n}]")
                    for start in (0, self.n)
                ]
            case "two":
                other = self.pick(k, *INNER)
                return [self.product(size, self.n) for size in (k, other)]
            case "grouped" if not self.batch:
                return [self.grouped(k)]
            case _:
                return [self.product(k, self.n)]

    def grouped(self, k: int) -> str:
        """A product by expert."""
        experts = self.pick(1, 2, 3)
        element = self.pick("f16", "bf16")
        a = self.rows((self.m, k), element)
        b = self.argument((experts, k, self.n), element)
        cuts = sorted(self.random.randint(0, self.m) for _ in range(experts - 1))
        name = f"x{len(self.arguments)}"
        self.inputs[name] = np.diff([0, *cuts, self.m]).astype(np.int64)
        self.arguments.append(f"%{name}: tensor<{experts}xi64>")
        return self.op(f"pypto.grouped_matmul {a}, {b} groups %{name}{self.tile()}")

    # -- vector ops

    def step(self, x: str) -> str:
        """One more vector op on `x`."""
        match self.pick("unary", "unary", "row", "column", "bias", "residual", "cast"):
            case "row":
                y = self.rows((self.m, 1), "f32")
                return self.op(f"pypto.mul {x}, {y}")
            case "column":
                y = self.argument(self.pick((self.n,), (1, self.n)), "f32")
                return self.op(f"pypto.mul {x}, {y}")
            case "bias":
                shapes = ((self.n,), (1, self.n), (*self.batch, 1, self.n))
                y = self.argument(self.pick(*shapes), "bf16")
                y = self.op(f"pypto.cast {y} to f32")
                return self.op(f"pypto.add {x}, {y}")
            case "residual":
                y = self.rows((self.m, self.n), "f32")
                return self.op(f"pypto.add {x}, {y}")
            case "cast":
                x = self.op(f"pypto.cast {x} to bf16")
                return self.op(f"pypto.cast {x} to f32")
            case _:
                return self.op(f"pypto.{self.pick(*UNARY)} {x}")

    def program(self) -> Program:
        """The whole program."""
        first, *rest = self.sources()
        x = first if self.chance(0.5) else self.step(first)
        results = [x] if self.chance(0.1) and x != first else []
        for other in rest:
            x = self.op(f"pypto.{self.pick('mul', 'add')} {x}, {other}")
        for _ in range(self.random.randint(1, 4)):
            x = self.step(x)
        if self.chance(0.2):
            results.append(x)
        if self.chance(0.5):
            x = self.folded(x)
        results.append(x)
        return self.text(list(dict.fromkeys(results)))

    def folded(self, x: str) -> str:
        """A reduction of `x`, and what is made of both."""
        kind = self.pick("amax", "sum", "amin", "quantize", "softmax")
        if kind == "softmax":
            return self.op(f"pypto.softmax {x} axis -1")
        if kind == "quantize":
            q = self.name()
            self.lines.append(f"  {q}, {q}s = pypto.quantize {x} axis -1 to i8")
            x = self.op(f"pypto.cast {q} to f32")
            return self.op(f"pypto.mul {x}, {q}s")
        r = self.op(f"pypto.{kind} {x} axis -1 {{keepdim}}")
        if self.chance(0.5):
            r = self.op(f"pypto.mul {r}, 0.5")
        y = self.op(f"pypto.add {x}, {r}")
        return self.step(y) if self.chance(0.5) else y

    def text(self, results: list[str]) -> Program:
        rows = "?" if self.dynamic else str(self.m)
        type_ = f"tensor<{'x'.join([*map(str, self.batch), rows, str(self.n)])}xf32>"
        types = ", ".join(
            f'{type_} {{pypto.name = "r{i}"}}' for i in range(len(results))
        )
        plain = ", ".join([type_] * len(results))
        lines = [
            f"func.func @f({', '.join(self.arguments)}) -> ({types}) {{",
            *self.lines,
            f"  func.return {', '.join(results)} : {plain}",
            "}",
        ]
        within = {f"r{i}": 2e-2 for i in range(len(results))}
        text = "\n".join(lines) + "\n"
        mx = "scaled_mm" in text
        return Program(text, self.inputs, within, needs_mx=mx)


def fused(random: Random) -> Program:
    """A program of products and what reads them."""
    return Fused(random).program()
