"""Output files appear whole or not at all; devices, pipes and symbolic links stay what they are."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from gedialect.binary.output import atomic_output
from gedialect.errors import GeError


def put(path: Path, text: str = "new") -> None:
    with atomic_output(path) as name, open(name, "w", encoding="utf-8") as out:
        out.write(text)


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "f"
    put(path, "old")
    path.chmod(0o640)
    put(path)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["f"]


def test_a_failing_block_leaves_what_there_was(tmp_path: Path):
    path = tmp_path / "f"
    put(path, "old")
    with pytest.raises(ValueError, match="stop"), atomic_output(path) as name:
        Path(name).write_text("half")
        raise ValueError("stop")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path, there: bool):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    target, link = tmp_path / "a" / "target", tmp_path / "b" / "link"
    if there:
        target.write_text("old")
    link.symlink_to("../a/target")
    put(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path / "b") == ["link"]


@pytest.mark.parametrize("linked", [True, False])
def test_a_pipe_gets_the_bytes(tmp_path: Path, linked: bool):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    put(path, "x" * 3_000_000)
    reader.join(20)
    assert got == [b"x" * 3_000_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_is_not_opened_when_the_block_fails(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="stop"), atomic_output(tmp_path / "pipe"):
        raise ValueError("stop")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_cannot_be_written_is_told_before_the_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "to_folder").symlink_to("folder")
    for path in ("folder", "to_folder", "folder/", "none/f", "file/f", "round", "", "new/"):
        with pytest.raises(GeError, match="cannot write") as caught, atomic_output(path):
            pytest.fail("the block ran")
        assert (caught.value.code, caught.value.where) == ("GE1012", path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "round", "to_folder"]
    assert (tmp_path / "round").is_symlink()


def test_a_socket_stays_and_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(GeError, match="cannot write") as caught:
            put(Path("s"))
    assert caught.value.code == "GE1012"
    assert stat.S_ISSOCK(os.stat("s").st_mode)


def test_of_several_outputs_none_appears_if_one_fails(tmp_path: Path):
    with pytest.raises(GeError), contextlib.ExitStack() as files:
        Path(files.enter_context(atomic_output(tmp_path / "a"))).write_text("a")
        files.enter_context(atomic_output(tmp_path / "none" / "b"))
    assert os.listdir(tmp_path) == []
