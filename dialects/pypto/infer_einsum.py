"""Result types of einsum: an equation of two operands."""

from __future__ import annotations

import re
from typing import NamedTuple

from xdsl.ir import Attribute

from pyptoc.dialects.pypto.infer import (
    Dim,
    Site,
    Tensor,
    dims_of,
    equal_dim,
    show,
    tensor,
    want_tensor,
)
from pyptoc.dialects.pypto.infer_matmul import accumulator, product_element


class Equation(NamedTuple):
    """`"thd,hdc->thc"` taken apart, every group in the order of first appearance."""

    lhs: str
    rhs: str
    out: str

    @classmethod
    def of(cls, text: str) -> Equation:
        """The terms of an equation that has been checked."""
        return cls(*re.split(",|->", text.replace(" ", "")))

    @property
    def batch(self) -> str:
        """Letters of both operands and the result."""
        return "".join(c for c in self.lhs if c in self.rhs and c in self.out)

    @property
    def contracted(self) -> str:
        """Letters of both operands that the result lacks: summed over."""
        return "".join(c for c in self.lhs if c in self.rhs and c not in self.out)

    @property
    def free_lhs(self) -> str:
        return "".join(c for c in self.lhs if c not in self.rhs)

    @property
    def free_rhs(self) -> str:
        return "".join(c for c in self.rhs if c not in self.lhs)

    @property
    def swaps(self) -> bool:
        """Whether the result has free letters of the right operand before all left."""
        free = [c for c in self.out if c not in self.batch]
        return bool(self.free_lhs) and bool(free) and free[0] in self.free_rhs


def parse_equation(site: Site, text: str) -> Equation:
    """Read an equation of two operands; diagonals and lone letters are errors."""
    match = re.fullmatch(r"([a-z]*),([a-z]*)->([a-z]*)", text.replace(" ", ""))
    if match is None:
        site.error(
            "PTO124",
            f'"{text}" is not an equation of two operands',
            help='write one lower-case letter for each dimension: "thd,hdc->thc"',
        )
    equation = Equation(*match.groups())
    for term in equation:
        for letter in term:
            if term.count(letter) > 1:
                site.error(
                    "PTO124",
                    f"'{letter}' stands twice in '{term}'",
                    notes=("einsum takes no diagonals",),
                )
    for letter in dict.fromkeys("".join(equation)):
        terms = sum(letter in term for term in equation)
        if terms < 2:
            site.error(
                "PTO124",
                f"'{letter}' stands in one term only",
                rule="a letter is in both operands, or in one operand and the result",
            )
    return equation


def einsum(
    site: Site, text: str, lhs: Attribute, rhs: Attribute, target: Attribute | None
) -> Tensor:
    """`einsum "thd,hdc->thc" %a, %b [to T]`."""
    equation = parse_equation(site, text)
    a, b = want_tensor(site, lhs, 0), want_tensor(site, rhs, 1)
    element = product_element(site, accumulator(site, a, b), target)
    sizes: dict[str, Dim] = {}
    for position, (term, type) in enumerate(
        ((equation.lhs, a), (equation.rhs, b)), start=0
    ):
        if len(term) != type.get_num_dims():
            site.error(
                "PTO124",
                f"'{term}' names {len(term)} dimensions, "
                f"{site.operand(position)} has {type.get_num_dims()}",
                operand=position,
                label=f"{site.operand(position)} is {show(type)}",
            )
        for letter, dim in zip(term, dims_of(type), strict=True):
            merged = equal_dim(sizes.get(letter, dim), dim)
            if merged is None:
                site.error(
                    "PTO120",
                    f"'{letter}' is {sizes[letter]} in {site.operand(0)} "
                    f"and {dim} in {site.operand(1)}",
                    operand=position,
                )
            sizes[letter] = merged
    return tensor(element, (sizes[letter] for letter in equation.out))
