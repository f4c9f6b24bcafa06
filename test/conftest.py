"""pytest runs each .mlir file below test/filecheck as one test."""

from __future__ import annotations

from pathlib import Path

import pytest

from gedialect.testing.runner import run_file

FILECHECK = Path(__file__).parent / "filecheck"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".mlir" and FILECHECK in file_path.parents and "Inputs" not in file_path.parts:
        return FileCheckFile.from_parent(parent, path=file_path)
    return None


class FileCheckFile(pytest.File):
    def collect(self):
        yield FileCheckItem.from_parent(self, name=self.path.stem)


class FileCheckFailed(Exception):
    pass


class FileCheckItem(pytest.Item):
    def runtest(self) -> None:
        outcome = run_file(str(self.path))
        if outcome.code != 0:
            raise FileCheckFailed(outcome.err)

    def repr_failure(self, excinfo, style=None):
        if excinfo.errisinstance(FileCheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, 0, str(self.path.relative_to(FILECHECK))
