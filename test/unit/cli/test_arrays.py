"""Input files of ge-run: whatever is wrong with one is an error that names it, found before its data takes memory."""

from __future__ import annotations

import io
import resource
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gedialect.cli import ge_compile, ge_run
from gedialect.cli.arrays import ArrayFile
from gedialect.errors import GeError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name + ".npy", data)
    return path


@pytest.fixture(params=["m.om", "m.onnx", "m.mlir"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "m.mlir":
        t = "tensor<2x3xf32>"
        (tmp_path / "m.mlir").write_text(
            f'func.func @main(%x: {t} {{ge.name = "x"}}) -> ({t} {{ge.name = "y"}}) {{\n'
            f"  %y = ge.exp(%x) : ({t}) -> {t}\n  func.return %y : {t}\n}}\n"
        )
        return tmp_path / "m.mlir"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["y"])],
        "g",
        [info("x", TensorProto.FLOAT, ["n", 3])],
        [info("y", TensorProto.FLOAT, ["n", 3])],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    if request.param == "m.om":
        assert ge_compile.main([str(path), "-o", str(tmp_path / "m.om"), "--input-shape", "x:2,3"]) == 0
    return tmp_path / request.param


def error_of(model: Path, path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """The error after the name of the input file."""
    capsys.readouterr()
    assert ge_run.main([str(model), "--inputs", str(path), *more]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: error "), error
    return error.removeprefix(f"{path}: error ")


def test_fits(model, tmp_path):
    np.savez(tmp_path / "in.npz", **{"in:x": X, "out:y": np.exp(X)})
    assert ge_run.main([str(model), "--inputs", str(tmp_path / "in.npz"), "--check", "npz"]) == 0
    np.savez_compressed(tmp_path / "in.npz", **{"x": np.asfortranarray(X), "out:y": X})
    assert ge_run.main([str(model), "--inputs", str(tmp_path / "in.npz"), "--check", "npz"]) == 3


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": X.T}, "3,2"),
        ({"x": X.astype(np.float64)}, "float64"),
        ({"x": X.astype(">f4")}, ">f4"),
        ({"z": X}, "z"),
        ({"x": X, "z": X}, "z"),
        ({"x": X, "in:x": X}, "twice"),
        ({}, "x"),
    ],
)
def test_what_does_not_fit(model, tmp_path, capsys, arrays, says):
    np.savez(tmp_path / "in.npz", **arrays)
    error = error_of(model, tmp_path / "in.npz", capsys)
    assert error.startswith("GE1004: ")
    assert says in error.replace(" ", "")


@pytest.mark.parametrize("shape", ["(1000000000000, 5)", "(400000, 100000)", "(99999999999999999999,)"])
def test_huge_arrays_take_no_memory(model, tmp_path, capsys, shape):
    path = npz(tmp_path / "in.npz", x=header(shape) + bytes(1 << 24))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert error_of(model, path, capsys).startswith("GE1004: ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000_000 // 1024 * 16


def test_a_size_that_the_model_leaves_open_is_not_believed_either(model, tmp_path, capsys):
    path = npz(tmp_path / "in.npz", x=header("(100000000, 3)"))
    assert error_of(model, path, capsys)[:6] == ("GE1003" if model.suffix == ".onnx" else "GE1004")


def test_huge_outputs_are_not_read(model, tmp_path, capsys):
    good = io.BytesIO()
    np.save(good, X)
    path = npz(tmp_path / "in.npz", **{"x": good.getvalue(), "out:y": header("(1000000000000, 3)")})
    assert ge_run.main([str(model), "--inputs", str(path), "--check", "npz"]) == 3


def test_files_that_are_no_npz(model, tmp_path, capsys):
    path = tmp_path / "in.npz"
    with open(path, "wb") as out:
        np.save(out, X)
    assert "numpy.savez" in error_of(model, path, capsys)
    for data in (b"", b"PK\x03\x04", b"\x80\x04\x95\x00.", b"nothing of the kind", b"\x93NUMPY"):
        path.write_bytes(data)
        assert error_of(model, path, capsys).startswith("GE1003: not an .npz file: ")
    path.unlink()
    path.mkdir()
    assert error_of(model, path, capsys).startswith("GE1002: ")
    assert error_of(model, tmp_path / "none.npz", capsys).startswith("GE1002: ")


@pytest.mark.parametrize(
    ("member", "says"),
    [
        (header("(2, 3)") + X.tobytes()[:-1], "needs 24 bytes, the file holds 23"),
        (header("(2, 3)") + X.tobytes() + b"\0", "needs 24 bytes, the file holds 25"),
        (header("(2, 3)", "|O") + b"\x80\x04N.", "holds Python objects"),
        (header("(-2, 3)"), "has the shape"),
        (header("(2, 3"), ""),
        (header("'a'"), ""),
        (header("(2, 3)", "nosuch"), ""),
        (b"\x93NUMPY\x07\x00" + header("(2, 3)")[8:], "version (7, 0)"),
        (b"no array", "is no array"),
        (b"", "is no array"),
    ],
)
def test_damaged_members(model, tmp_path, capsys, member, says):
    error = error_of(model, npz(tmp_path / "in.npz", x=member), capsys)
    assert error.startswith("GE1003: ")
    assert says in error
    assert "pickle" not in error


def test_object_arrays_are_not_unpickled(tmp_path):
    np.savez(tmp_path / "in.npz", x=np.array([print, None], object))
    with pytest.raises(GeError, match="holds Python objects, which are not read"):
        ArrayFile(str(tmp_path / "in.npz"))


def test_flipped_bytes_never_escape(tmp_path):
    """Every byte of a small file, damaged: the arrays are read or the error is GE1002 or GE1003."""
    np.savez_compressed(tmp_path / "good.npz", x=X, y=X)
    good = (tmp_path / "good.npz").read_bytes()
    path = tmp_path / "bad.npz"
    errors: list[GeError] = []
    for at in range(len(good)):
        for flip in (0x01, 0x80, 0xFF):
            path.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :])
            try:
                file = ArrayFile(str(path))
                assert all(file.headers[n].dtype.itemsize < 100 for n in file.headers)
                for name in file.headers:
                    file.read(name)
            except GeError as error:
                errors.append(error)
    assert {e.code for e in errors} <= {"GE1002", "GE1003"}
    assert {e.where for e in errors} == {str(path)}
    assert len(errors) > len(good)
