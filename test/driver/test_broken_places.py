"""Files that cannot be read or written, full disks, closed pipes: an error, no half."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest
from inprocess import call
from processes import SECONDS, clean, files_in, run, start

from pyptoc.cli import console_main
from pyptoc.files import FileError, read_source

SOURCE = """\
func.func @f(%x: tensor<64x256xf32>) -> (tensor<64x256xf32> {pypto.name = "y"}) {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<64x256xf32>
}
"""
TOO_LARGE = """\
func.func @f(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %y = pypto.matmul %a, %b to f32
    {tile = #pypto.cube<m = [256, 256], k = [128, 256], n = [512, 512]>}
  func.return %y : tensor<512x512xf32>
}
"""
SWEEP = "--sweep=machine.clock_ghz=1.0,2.0"
RUN = ("--run", "--random-inputs=1")
WRITING = {
    "out.mlir": ("-o",),
    "out.npz": (*RUN, "--outputs"),
    "in.npz": ("--random-inputs=1", "--write-inputs"),
    "out.json": ("--simulate", "--trace"),
    "out.html": ("--simulate", "--report"),
    "tree/": ("--print-ir-tree-dir",),
    "sweep.csv": (SWEEP, "--sweep-csv"),
    "sweep.json": (SWEEP, "--sweep-json"),
    "sweep.png": (SWEEP, "--sweep-plot"),
    "sweep.svg": (SWEEP, "--sweep-plot"),
    "sweep.html": (SWEEP, "--sweep-plot"),
    "cache/": (SWEEP, "--sweep-cache"),
}
"""Everything that is written, and the option before its name."""


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file gets longer, as on a disk that is full from there on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write(name: str, folder: Path) -> tuple[int, str, str]:
    return call("-", *WRITING[name], str(folder / name), stdin=SOURCE)


class TestFull:
    @pytest.mark.parametrize("name", WRITING)
    def test_nothing_is_half_written(self, name: str, tmp_path: Path) -> None:
        for size in (0, 100):
            with files_of_at_most(size):
                code, _, err = write(name, tmp_path)
            assert code == 1
            assert err.startswith(f"error[PTO502]: cannot write {tmp_path / name}")
            assert os.strerror(errno.EFBIG) in err
            assert files_in(tmp_path) == []
        assert write(name, tmp_path)[0] == 0
        assert files_in(tmp_path) != []

    @pytest.mark.parametrize("name", [n for n in WRITING if not n.endswith("/")])
    def test_the_old_file_stays(self, name: str, tmp_path: Path) -> None:
        (tmp_path / name).write_text("old")
        with files_of_at_most(100):
            assert write(name, tmp_path)[0] == 1
        assert (tmp_path / name).read_text() == "old"
        assert files_in(tmp_path) == [name]

    def test_a_file_system_without_room(self, tmp_path: Path) -> None:
        mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(tmp_path)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root may mount a file system")
        try:
            code, _, err = write("out.npz", tmp_path)
            assert code == 1
            assert err == (
                f"error[PTO502]: cannot write {tmp_path}/out.npz: "
                "No space left on device\n"
            )
            assert files_in(tmp_path) == []
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)

    def test_the_bug_is_told_without_its_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def parse(*_: object) -> None:
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr("pyptoc.dialects.parsing.parse_module", parse)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with files_of_at_most(0):
            code, _, err = call("-", "--pipeline=", stdin=SOURCE)
        assert code == 2
        assert err.startswith("error[PTO900]: internal error: ZeroDivisionError: a bug")
        assert f"{tmp_path} has no room for its traceback" in err
        assert "in parse, test_broken_places.py:" in err
        assert files_in(tmp_path) == []

    def test_the_error_is_told_without_its_reproducer(self, tmp_path: Path) -> None:
        name = str(tmp_path / "crash.mlir")
        code, _, alone = call("-", stdin=TOO_LARGE)
        assert code == 1
        assert "error[PTO210]: cube tile does not fit" in alone
        with files_of_at_most(10):
            code, _, err = call("-", "--crash-reproducer", name, stdin=TOO_LARGE)
        assert code == 1
        assert err == f"error[PTO502]: cannot write {name}: File too large\n" + alone
        assert files_in(tmp_path) == []


GOOD = ("-",)
DUMPS = ("-", "--print-ir-after-all", "--remarks", "--timing")
WRONG = ("-", "--zebra")
HELP = ("--help",)


@contextlib.contextmanager
def target(kind: str) -> Iterator[IO[str] | None]:
    """A stream to us, to a full device, to a pipe that nobody reads; None: closed."""
    if kind == "closed":
        yield None
    elif kind == "unread":
        read, write = os.pipe()
        os.close(read)
        with open(write, "w") as pipe:
            yield pipe
    elif kind == "full":
        with open("/dev/full", "w") as device:
            yield device
    else:
        with tempfile.TemporaryFile("w+") as file:
            yield cast(IO[str], file)


def run_into(argv: tuple[str, ...], out: str, err: str) -> tuple[int, str, str]:
    """The exit code of a process, and what arrives of its output and errors."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    with target(out) as stdout, target(err) as stderr:
        sys.argv = ["pyptoc", *argv]
        sys.stdin = io.TextIOWrapper(io.BytesIO(SOURCE.encode()))
        sys.stdout, sys.stderr = stdout, stderr
        try:
            code = _exit_code()
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = before
        return code, _text(stdout, out), _text(stderr, err)


def _exit_code() -> int:
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            console_main()
    finally:
        signal.signal(signal.SIGINT, interrupt)
    try:
        # As Python does at its end.
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return 120
    return int(ended.value.code or 0)


def _text(stream: IO[str] | None, kind: str) -> str:
    """What has come to us."""
    if kind or stream is None:
        return ""
    stream.seek(0)
    return stream.read()


class TestStreams:
    @pytest.mark.parametrize("argv", [GOOD, DUMPS, HELP], ids=lambda words: words[-1])
    def test_output_that_nobody_takes(self, argv: tuple[str, ...]) -> None:
        full = "error[PTO502]: cannot write the output: No space left on device\n"
        for kind, code, last in (
            ("unread", 1, ""),
            ("full", 1, full),
            ("closed", 0, ""),
        ):
            found, _, err = run_into(argv, kind, "")
            assert found == code
            assert clean(found, err)
            assert err.endswith(last) if argv == DUMPS else err == last

    @pytest.mark.parametrize("kind", ["unread", "full", "closed"])
    def test_errors_that_nobody_takes(self, kind: str) -> None:
        code, out, _ = run_into(GOOD, "", kind)
        assert (code, out[:14]) == (0, "builtin.module")
        assert run_into(WRONG, "", kind) == (1, "", "")
        assert run_into(DUMPS, "", kind)[0] == int(kind != "closed")

    @pytest.mark.parametrize(("argv", "number"), [(GOOD, 1), (WRONG, 2)])
    def test_a_process_without_a_stream(
        self, argv: tuple[str, ...], number: int
    ) -> None:
        found = run(*argv, text=SOURCE, before=lambda: os.close(number))
        assert found == (number - 1, "", "")

    def test_an_interrupt_that_nobody_hears(self) -> None:
        with open("/dev/full", "w") as full:
            process = start("-", "--pipeline=", stderr=full)
            # Only a process that reads takes more than a pipe holds.
            assert process.stdin is not None
            process.stdin.write("// a comment\n" * 99_999)
            process.stdin.flush()
            process.send_signal(2)
            out, _ = process.communicate(timeout=SECONDS)
        assert (process.returncode, out) == (130, "")


class TestReading:
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork beside threads
    def test_a_file_of_another_user(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.mlir"
        path.write_text(SOURCE)
        path.chmod(0)
        # Root reads everything, so nobody tries; the process needs no file but this.
        read, write = os.pipe()
        child = os.fork()
        if not child:
            if os.geteuid() == 0:
                os.setuid(65534)
            try:
                found = read_source(str(path))[1]
            except FileError as problem:
                found = problem.message
            os.write(write, found.encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with open(read) as told:
            assert told.read() == f"cannot read {path}: Permission denied"

    @pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no /proc")
    def test_a_file_that_nobody_can_read(self) -> None:
        code, out, err = call("/proc/self/mem")
        assert (code, out) == (1, "")
        assert err == "error[PTO502]: cannot read /proc/self/mem: Input/output error\n"

    @pytest.mark.parametrize("option", ["--inputs", "--expect"])
    def test_arrays_that_cannot_be_read(self, option: str, tmp_path: Path) -> None:
        (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 and no more")
        for name in ("", "none.npz", "cut.npz"):
            given = (*RUN, option, str(tmp_path / name))
            code, out, err = call("-", *given, stdin=SOURCE)
            assert (code, out) == (1, "")
            assert err.startswith("error[PTO502]: cannot read ")

    def test_a_device_and_a_folder(self, tmp_path: Path) -> None:
        code, _, err = call("/dev/null")
        assert code == 1
        assert "there is no operation in this text" in err
        assert call(str(tmp_path))[2].endswith(": Is a directory\n")

    def test_an_error_while_reading(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def read_bytes(_: Path) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(Path, "read_bytes", read_bytes)
        code, out, err = call("op.mlir", "--pipeline=")
        assert (code, out) == (1, "")
        assert err == "error[PTO502]: cannot read op.mlir: Input/output error\n"
