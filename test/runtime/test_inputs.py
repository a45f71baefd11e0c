"""Inputs: signatures, --bind, .npz files, made-up values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime.bindings import (
    Bindings,
    parse_bindings,
    parse_value,
    split_bindings,
)
from pyptoc.runtime.inputs import accept, complete, load_npz
from pyptoc.runtime.signature import Signature, Tolerance, read_signature


def signature(arguments: str) -> Signature:
    """The signature of a function with these arguments."""
    text = f"func.func @f({arguments}) {{\n  func.return\n}}\n"
    return read_signature(parse_module(text, "op.mlir", make_context()))


def message(error: pytest.ExceptionInfo[CompileError]) -> str:
    """Everything that the first diagnostic says."""
    found = error.value.diagnostics[0]
    notes = " ".join(note.message for note in found.notes)
    return (
        f"[{found.code}] {found.message} {found.rule} {found.here} {notes} {found.help}"
    )


GROUPS = signature(
    '%a: tensor<?x512xf8E4M3FN> {pypto.dims = ["M"]},'
    '%scales: tensor<?x8x2xf8E8M0FNU> {pypto.dims = ["M"]},'
    '%groups: tensor<2xi64> {pypto.data = #pypto.data<partition "M">},'
    "%lr: f32 {pypto.default = 0.5 : f32}"
)
PLAIN = signature("%x: tensor<?x4xf32>, %n: index, %mask: tensor<4xi1>")


class TestSignature:
    def test_arguments(self) -> None:
        a, scales, groups, lr = GROUPS.arguments
        assert (a.name, a.shape, a.dims) == ("a", (None, 512), ("M", ""))
        assert scales.type_text == "tensor<?x8x2xf8E8M0FNU>"
        assert groups.data is not None
        assert groups.data.kind == "partition"
        assert lr.is_scalar
        assert lr.default == 0.5
        assert GROUPS.dims == ("M",)

    def test_unnamed_sizes_get_the_argument_and_axis(self) -> None:
        assert PLAIN.dims == ("x.0",)

    def test_names_with_suffixes_stay(self) -> None:
        found = signature("%scale_1: tensor<4xf32>, %scale: f32")
        assert [argument.name for argument in found.arguments] == ["scale_1", "scale"]

    def test_entry_is_the_public_function(self) -> None:
        text = (
            "func.func private @h() {\n func.return\n}\nfunc.func @f() {func.return}\n"
        )
        module = parse_module(text, "op.mlir", make_context())
        assert read_signature(module).name == "f"

    def test_several_functions_are_listed(self) -> None:
        text = "func.func @f() {\n func.return\n}\nfunc.func @g() {\n func.return\n}\n"
        module = parse_module(text, "op.mlir", make_context())
        with pytest.raises(CompileError) as error:
            read_signature(module)
        assert "@f, @g" in message(error)
        assert read_signature(module, "@g").name == "g"
        with pytest.raises(CompileError) as error:
            read_signature(module, "gg")
        assert "did you mean @g?" in message(error)

    def test_no_function(self) -> None:
        text = "func.func private @f() {\n func.return\n}\n"
        module = parse_module(text, "op.mlir", make_context())
        with pytest.raises(CompileError) as error:
            read_signature(module)
        assert "[PTO505]" in message(error)

    @pytest.mark.parametrize("kind", ["tensor<4xf64>", "i7", "vector<4xf32>"])
    def test_types_without_arrays(self, kind: str) -> None:
        with pytest.raises(CompileError) as error:
            signature(f"%x: {kind}")
        assert "[PTO507] %x has the type" in message(error)


class TestTolerances:
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("f32", Tolerance(1e-5, 1e-5)),
            ("f16", Tolerance(1e-3, 1e-3)),
            ("bf16", Tolerance(1e-4, 2.0**-7, 0.005)),
            ("i8", Tolerance()),
            ("f8E4M3FN", Tolerance(codes=1)),
        ],
    )
    def test_defaults(self, kind: str, expected: Tolerance) -> None:
        assert self.result(kind).tolerance == expected

    def test_attribute(self) -> None:
        given = self.result("bf16", "#pypto.tol<atol = 1.0, rtol = 1.0e-3>")
        assert given.tolerance == Tolerance(1.0, 1e-3)

    def test_only_outliers_keep_the_default_bounds(self) -> None:
        given = self.result("f32", "#pypto.tol<outliers = 0.1>")
        assert given.tolerance == Tolerance(1e-5, 1e-5, 0.1)

    def test_sets(self) -> None:
        given = self.result("i32", "#pypto.tol<as_sets, misses = 1>")
        assert given.tolerance == Tolerance(as_sets=True, misses=1)

    def result(self, kind: str, tolerance: str = ""):
        attribute = f", pypto.tol = {tolerance}" if tolerance else ""
        text = (
            f"func.func @f(%x: tensor<4x{kind}>) -> (tensor<4x{kind}> "
            f'{{pypto.name = "out"{attribute}}}) {{\n'
            f"  func.return %x : tensor<4x{kind}>\n}}\n"
        )
        module = parse_module(text, "op.mlir", make_context())
        return read_signature(module).results[0]


class TestBind:
    def test_commas_in_brackets_do_not_separate(self) -> None:
        assert split_bindings("M=16, g=[7,9],h=[[1,2],[3,4]]") == [
            "M=16",
            "g=[7,9]",
            "h=[[1,2],[3,4]]",
        ]

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("16", 16),
            ("-3", -3),
            ("1e-3", 1e-3),
            ("1.", 1.0),
            (".5", 0.5),
            ("+2", 2),
            ("true", True),
            ("[1, -inf]", [1, -np.inf]),
            ("[]", []),
        ],
    )
    def test_values(self, text: str, value: object) -> None:
        assert parse_value(text) == value

    @pytest.mark.parametrize("text", ["", "a", "[1", "{}", '"a"', "null", "[" * 9999])
    def test_no_values(self, text: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011
            parse_value(text)

    def test_sorts_names(self) -> None:
        bound = parse_bindings(["M=16,lr=1e-3", "groups=[7,9]"], GROUPS)
        assert bound == Bindings({"M": 16}, {"lr": 1e-3, "groups": [7, 9]})

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("group=[7,9]", "did you mean groups?"),
            ("Q=1", "names: M, a, scales, groups, lr"),
            ("M=-1", "a size is 0 to 2^63 - 1"),
            ("M=9223372036854775808", "a size is 0 to 2^63 - 1"),
            ("M=1.5", "a size is an integer"),
            ("M=true", "a size is an integer"),
            ("M=[1]", "a size is one integer"),
            ("M", "not NAME=VALUE"),
            ("M=x", "--bind M=x: x is no number"),
            ("M=", "--bind M=: nothing is no number"),
            ("groups=[7,x]", "--bind groups=[7,x]: [7,x] is no list of numbers"),
        ],
    )
    def test_errors(self, text: str, expected: str) -> None:
        with pytest.raises(CompileError) as error:
            parse_bindings([text], GROUPS)
        assert expected in message(error)
        assert "[PTO501]" in message(error)

    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            ("groups", [7], "shape (1,)"),
            ("groups", [7.5, 1], "not an integer  %groups is tensor<2xi64>"),
            ("groups", [[1], [1, 2]], "lists of different lengths"),
            ("groups", [2**63, 1], "out of the range"),
            ("lr", [1], "a list for a single number"),
        ],
    )
    def test_values_that_do_not_fit(
        self, name: str, value: object, expected: str
    ) -> None:
        with pytest.raises(CompileError) as error:
            accept(GROUPS, {}, "in.npz", Bindings({}, {name: value}))
        assert expected in message(error)


def arrays(m: int = 16) -> dict[str, np.ndarray]:
    return {
        "a": np.zeros((m, 512), ml_dtypes.float8_e4m3fn),
        "scales": np.full((m, 8, 2), 127, np.uint8),
        "groups": np.array([7, m - 7]),
    }


class TestFiles:
    def test_types_and_bits(self) -> None:
        given = arrays()
        codes = np.arange(16 * 512).astype(np.uint8).reshape(16, 512)
        for a in (codes, codes.view(ml_dtypes.float8_e4m3fn), codes.view("V1")):
            inputs = accept(GROUPS, {**given, "a": a}, "in.npz", Bindings())
            assert inputs.values["a"].dtype == ml_dtypes.float8_e4m3fn
            assert np.array_equal(inputs.values["a"].view(np.uint8), codes)
        assert inputs.sizes == {"M": 16}

    def test_through_a_file(self, tmp_path) -> None:
        # numpy writes ml_dtypes arrays as raw void.
        given = arrays()
        given["a"][...] = 1.5
        np.savez(tmp_path / "in.npz", **given)
        loaded = load_npz(str(tmp_path / "in.npz"))
        assert loaded["a"].dtype == "V1"
        inputs = accept(GROUPS, loaded, "in.npz", Bindings())
        assert (inputs.values["a"].astype(np.float32) == 1.5).all()

    def test_e5m2_through_a_file(self, tmp_path) -> None:
        # numpy writes it as '<f1', which it cannot read.
        codes = np.arange(256, dtype=np.uint8)
        np.savez(tmp_path / "in.npz", x=codes.view(ml_dtypes.float8_e5m2), n=codes)
        loaded = load_npz(str(tmp_path / "in.npz"))
        assert np.array_equal(loaded["x"].view(np.uint8), codes)
        assert np.array_equal(loaded["n"], codes)

    def test_order_and_byte_order_are_accepted(self) -> None:
        x = np.arange(8, dtype=">f4").reshape(2, 4)
        given = {"x": np.asfortranarray(x), "n": np.int32(3), "mask": np.ones(4, bool)}
        inputs = accept(PLAIN, given, "in.npz", Bindings())
        assert inputs.values["x"].dtype == np.float32
        assert inputs.values["x"].flags.c_contiguous
        assert np.array_equal(inputs.values["x"], x)
        assert inputs.values["n"] == 3

    def test_a_wrong_size_is_named(self) -> None:
        given = {**arrays(), "scales": np.zeros((16, 7, 3), np.uint8)}
        with pytest.raises(CompileError) as error:
            accept(GROUPS, given, "in.npz", Bindings())
        assert "axis 1 is 7, not 8, axis 2 is 3, not 2" in message(error)

    def test_wrong_shape_says_how_to_reshape(self) -> None:
        given = {**arrays(), "scales": np.zeros((16, 16), np.uint8)}
        del given["groups"]
        given["b"] = np.zeros(3)
        with pytest.raises(CompileError) as error:
            accept(GROUPS, given, "in.npz", Bindings())
        text = message(error)
        assert "[PTO501] in.npz: 'scales' has shape (16, 16) uint8" in text
        assert "%scales is tensor<?x8x2xf8E8M0FNU> (op.mlir:1:" in text
        assert "two scales side by side for each 64 elements of K" in text
        assert "np.reshape(scales, (16, 8, 2))" in text
        assert "the bits of uint8 are taken as f8E8M0FNU" in text
        assert "Also missing: 'groups'" in text
        assert "Not used: 'b'" in text

    def test_wrong_shape_of_the_last_two_axes(self) -> None:
        given = {**arrays(), "scales": np.zeros((16, 2, 8), np.uint8)}
        with pytest.raises(CompileError) as error:
            accept(GROUPS, given, "in.npz", Bindings())
        assert "np.swapaxes(scales, -2, -1)" in message(error)
        given["scales"] = np.zeros((16, 8, 3), np.uint8)
        with pytest.raises(CompileError) as error:
            accept(GROUPS, given, "in.npz", Bindings())
        assert "swapaxes" not in message(error)

    @pytest.mark.parametrize(
        ("name", "array", "expected"),
        [
            ("x", np.zeros((2, 4)), "x.astype(np.float32)"),
            ("x", np.zeros((2, 4), np.uint32), "x.astype(np.float32)"),
            ("x", np.zeros((2, 5), np.float32), "has shape (2, 5) float32"),
            ("x", np.zeros(4, np.float32), "np.reshape(x, (1, 4))"),
            ("x", np.zeros((4, 2), np.float32), "axis 1 is 2, not 4  x.T"),
            ("n", np.float32(1), "a single integer"),
            ("n", np.array([1]), "a single integer"),
            ("mask", np.ones(4, np.int8), "mask.astype(bool)"),
            ("x", np.array([["a"]]), "x.astype(np.float32)"),
        ],
    )
    def test_wrong_types(self, name: str, array: np.ndarray, expected: str) -> None:
        given = {"x": np.zeros((2, 4), np.float32), "n": np.int64(1)}
        given |= {"mask": np.ones(4, bool), name: array}
        with pytest.raises(CompileError) as error:
            accept(PLAIN, given, "in.npz", Bindings())
        assert expected in message(error)

    def test_unknown_key_is_a_warning_with_the_nearest_name(self) -> None:
        given = {"x": np.zeros((2, 4), np.float32), "masks": np.zeros(4)}
        inputs = accept(PLAIN, given, "in.npz", Bindings())
        (warning,) = inputs.warnings
        assert warning.severity == "warning"
        assert "'masks'" in warning.message
        assert "did you mean mask?" in warning.help

    def test_missing_inputs_are_listed(self) -> None:
        inputs = accept(PLAIN, {"n": np.int64(1)}, "in.npz", Bindings())
        with pytest.raises(CompileError) as error:
            complete(PLAIN, inputs, "in.npz", None)
        text = message(error)
        assert "missing: 'x', 'mask'" in text
        assert "%x is tensor<?x4xf32>" in text

    def test_sizes_must_agree(self) -> None:
        given = {**arrays(16), "scales": np.zeros((15, 8, 2), np.uint8)}
        with pytest.raises(CompileError) as error:
            accept(GROUPS, given, "in.npz", Bindings())
        assert "M is 16 in 'a' and 15 in 'scales' (axis 0)" in message(error)
        with pytest.raises(CompileError) as error:
            accept(GROUPS, arrays(), "in.npz", Bindings({"M": 8}))
        assert "M is 8 in --bind and 16 in 'a'" in message(error)

    def test_bind_wins_over_file_and_file_over_default(self) -> None:
        bound = Bindings({}, {"groups": [1, 15]})
        # What is replaced need not even fit.
        given = {**arrays(), "lr": np.float32(0.25), "groups": np.zeros(3)}
        inputs = complete(GROUPS, accept(GROUPS, given, "f", bound), "f", None)
        assert inputs.values["groups"].tolist() == [1, 15]
        assert inputs.values["lr"] == 0.25
        inputs = complete(GROUPS, accept(GROUPS, arrays(), "f", bound), "f", None)
        assert inputs.values["lr"] == 0.5


class TestUnreadable:
    def test_files(self, tmp_path) -> None:
        missing = tmp_path / "missing.npz"
        text = tmp_path / "text.npz"
        text.write_text("hello")
        empty = tmp_path / "empty.npz"
        empty.touch()
        single = tmp_path / "single.npy"
        np.save(single, np.zeros(3))
        objects = tmp_path / "objects.npz"
        np.savez(objects, a=np.array([{}], dtype=object))
        whole = tmp_path / "whole.npz"
        np.savez(whole, a=np.zeros(1000))
        cut = tmp_path / "cut.npz"
        cut.write_bytes(whole.read_bytes()[:500])
        flipped = tmp_path / "flipped.npz"
        data = bytearray(whole.read_bytes())
        data[400] ^= 255
        flipped.write_bytes(data)
        files = [missing, text, empty, single, objects, cut, flipped, tmp_path]
        for file in files:
            with pytest.raises(CompileError) as error:
                load_npz(str(file))
            assert "[PTO502] cannot read" in message(error), file


class TestRandom:
    def make(self, what: Signature, seed: int = 1, **sizes: int):
        inputs = accept(what, {}, "--bind", Bindings(sizes))
        return complete(what, inputs, "--bind", seed)

    def test_sizes_must_be_known(self) -> None:
        with pytest.raises(CompileError) as error:
            self.make(GROUPS)
        assert "[PTO503] sizes to choose: M" in message(error)
        assert "--bind=M=4" in message(error)

    def test_same_seed_same_values(self) -> None:
        first, second = (self.make(GROUPS, 3, M=16) for _ in range(2))
        other = self.make(GROUPS, 4, M=16)
        for name, value in first.values.items():
            assert (
                np.asarray(value).tobytes() == np.asarray(second.values[name]).tobytes()
            )
        assert first.values["a"].tobytes() != other.values["a"].tobytes()

    def test_an_argument_more_changes_no_other(self) -> None:
        one = signature("%x: tensor<8xf32>")
        two = signature("%w: tensor<8xf32>, %x: tensor<8xf32>")
        x, again = self.make(one).values["x"], self.make(two).values["x"]
        assert x.tobytes() == again.tobytes()
        assert x.tobytes() != self.make(two).values["w"].tobytes()

    def test_default_rules(self) -> None:
        kinds = signature(
            "%f: tensor<999xf32>, %s: tensor<999xf8E8M0FNU>, %i: tensor<999xi8>,"
            "%b: tensor<999xi1>, %h: tensor<999xbf16>, %n: index, %r: f32"
        )
        values = self.make(kinds).values
        assert values["f"].dtype == np.float32
        assert -1 <= values["f"].min() < -0.9 < 0.9 < values["f"].max() < 1
        exponents = values["s"].view(np.uint8)
        assert (exponents.min(), exponents.max()) == (123, 127)
        assert (values["i"].min(), values["i"].max()) == (-8, 8)
        assert set(values["b"].tolist()) == {False, True}
        assert values["h"].dtype == ml_dtypes.bfloat16
        assert isinstance(values["n"], int)
        assert isinstance(values["r"], float)

    @pytest.mark.parametrize("total", [0, 1, 16, 1000])
    def test_partition(self, total: int) -> None:
        for seed in range(20):
            groups = self.make(GROUPS, seed, M=total).values["groups"]
            assert groups.sum() == total
            assert groups.min() >= 0

    def test_partition_says_its_size(self) -> None:
        inputs = accept(GROUPS, {}, "--bind", Bindings({}, {"groups": [7, 9]}))
        assert complete(GROUPS, inputs, "--bind", 1).sizes["M"] == 16

    def test_ranges(self) -> None:
        what = signature(
            '%u: tensor<?x500xf32> {pypto.dims = ["n"],'
            " pypto.data = #pypto.data<uniform 0.0 to 2.0>},"
            '%i: tensor<500xi32> {pypto.data = #pypto.data<integer 1 to "n * 4">},'
            '%d: tensor<12xi64> {pypto.data = #pypto.data<distinct 0 to "n * 4">},'
            "%s: tensor<10xi64> {pypto.data = #pypto.data<distinct 0 to 10, skip>}"
        )
        skipped = 0
        for seed in range(20):
            values = self.make(what, seed, n=3).values
            assert values["u"].shape == (3, 500)
            assert values["u"].min() >= 0
            assert 1.5 < values["u"].max() < 2
            assert (values["i"].min(), values["i"].max()) == (1, 11)
            assert sorted(values["d"].tolist()) == list(range(12))
            kept = [value for value in values["s"].tolist() if value != -1]
            assert len(set(kept)) == len(kept)
            skipped += 10 - len(kept)
        assert 5 < skipped < 60

    def test_causal_topk(self) -> None:
        what = signature(
            '%topk: tensor<4x6xi32> {pypto.data = #pypto.data<causal_topk "len">},'
            "%len: tensor<2xi32> {pypto.data = #pypto.data<integer 1 to 20>}"
        )
        for seed in range(20):
            values = self.make(what, seed).values
            for row, picks in enumerate(values["topk"].tolist()):
                seen = max(int(values["len"][row // 2]) - 1 + row % 2, 0)
                found = [pick for pick in picks if pick != -1]
                assert len(found) == min(seen, 6)
                assert len(set(found)) == len(found)
                assert all(0 <= pick < seen for pick in found)
                assert picks[len(found) :] == [-1] * (6 - len(found))

    @pytest.mark.parametrize(
        "rule",
        ['integer 1 to "n"', 'distinct 0 to "n"', 'causal_topk "len"', 'partition "n"'],
    )
    def test_nothing_keeps_every_rule(self, rule: str) -> None:
        what = signature(
            '%x: tensor<?xf32> {pypto.dims = ["n"]}, %len: tensor<2xi32>,'
            '%i: tensor<?x3xi32> {pypto.dims = ["n"],'
            f" pypto.data = #pypto.data<{rule}>}}"
        )
        assert self.make(what, n=0).values["i"].shape == (0, 3)

    @pytest.mark.parametrize(
        ("rule", "expected"),
        [
            ('distinct 0 to "n"', "5 different integers from 0 to 4"),
            ("integer 3 to 3", "no integer from 3 to 3"),
            ("uniform 1.0 to 0.5", "no number from 1.0 to 0.5"),
            ("uniform -3.0e307 to 1.7e308", "no number from -3e+307 to 1.7e+308"),
            ('integer 0 to "n *"', "is no expression"),
            ('integer 0 to "k"', "no size is called 'k'"),
            ('causal_topk "nothing"', "lengths in 'nothing'"),
        ],
    )
    def test_impossible_rules(self, rule: str, expected: str) -> None:
        what = signature(
            '%x: tensor<?xf32> {pypto.dims = ["n"]},'
            f"%i: tensor<5xi32> {{pypto.data = #pypto.data<{rule}>}}"
        )
        with pytest.raises(CompileError) as error:
            self.make(what, n=4)
        assert expected in message(error)
        assert "[PTO503]" in message(error)
