"""
Random attentions of many small tasks: mixed kernels that run several tasks at once.

A task has some of the heads of a token, or some rows: it multiplies them by keys that
all tasks have in common, does something to the scores, and multiplies that by values.
Its rows go through both vector cores and back, and are stored from l0c, so the executor
makes one task of several (`runtime/merged_tasks.py`), from 32 on. Inputs are small
multiples of 1/4, so that the first product is exact.
"""

from __future__ import annotations

from random import Random

from random_fusion import Fused
from random_writer import Program

ROWS = (16, 16, 32)
WIDTHS = (16, 32, 64)
STEPS = ("relu", "abs", "sigmoid", "tanh", "neg")


class Attention(Fused):
    """Writes one program."""

    def program(self) -> Program:
        rows, depth, width = self.pick(*ROWS), self.pick(*WIDTHS), self.pick(*WIDTHS)
        tokens, parts = self.pick((1, 32), (1, 45), (2, 16), (3, 11), (5, 8))
        heads = parts * rows
        self.keys = self.pick(16, 40, 64)
        element = self.pick("f16", "bf16")
        q = self.argument((tokens, heads, depth), element)
        k = self.argument((self.keys, depth), element)
        v = self.argument((self.keys, width), element)
        factors = [self.argument((self.keys,), "f32") for _ in range(2)]
        before = self.lines
        self.lines = []
        a = self.op(f"pypto.view {q}[%t, %g +: {rows}, :]")
        x = self.op(f"pypto.matmul {a}, {k} {{b_trans}}")
        for _ in range(self.random.randint(1, 3)):
            x = self.scored(x, factors)
        x = self.op(f"pypto.cast {x} to {element}")
        x = self.op(f"pypto.matmul {x}, {v}")
        body, self.lines = self.lines, before
        kind = f"tensor<{tokens}x{heads}x{width}xf32>"
        lines = [
            f"func.func @f({', '.join(self.arguments)})",
            f'    -> ({kind} {{pypto.name = "r"}}) {{',
            f"  %o = pypto.empty[{tokens}, {heads}, {width}] : {kind}",
            f"  %all = pypto.forall (%t = 0 to {tokens}, %h = 0 to {parts})"
            " outs(%u = %o) {",
            f"  %g = pypto.index %h * {rows}",
            *body,
            f"  pypto.store {x} into %u[%t, %g, 0]",
            "  }",
            f"  func.return %all : {kind}",
            "}",
        ]
        return Program("\n".join(lines) + "\n", self.inputs, {"r": 2e-2})

    def scored(self, x: str, factors: list[str]) -> str:
        """One more op on scores: of each, by column, or of what the row has."""
        match self.pick("each", "column", "row", "number"):
            case "column":
                return self.op(f"pypto.mul {x}, {self.pick(*factors)}")
            case "row":
                most = self.op(f"pypto.amax {x} axis -1 {{keepdim}}")
                return self.op(f"pypto.sub {x}, {most}")
            case "number":
                return self.op(f"pypto.mul {x}, 0.5")
            case _:
                return self.op(f"pypto.{self.pick(*STEPS)} {x}")


def merged(random: Random) -> Program:
    """An attention of 32 tasks or more."""
    return Attention(random).program()
