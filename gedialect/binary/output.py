"""Output files that appear whole or not at all, and leave devices, pipes and symbolic links what they are."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Generator

from gedialect.errors import GeError

_BLOCK = 1 << 20


@contextlib.contextmanager
def atomic_output(path: str | os.PathLike[str]) -> Generator[str]:
    """Yields the name of a temporary file, which becomes ``path`` when the block succeeds and goes when it fails.

    A symbolic link stays and its target is replaced; an existing file keeps its mode. What is no regular file (a
    device, a pipe) gets the bytes once they are complete. GE1012 if ``path`` cannot be written, found out before the
    block runs as far as possible: several outputs belong into one ``ExitStack``, so that none is left if another fails.
    """
    path = os.fspath(path)
    target = check_output(path)
    special = _is_special(path)
    try:
        folder = None if special else os.path.dirname(target)
        handle, name = tempfile.mkstemp(prefix="." + os.path.basename(target)[:200] + ".", dir=folder)
    except OSError as error:
        raise write_error(path, error) from None
    os.close(handle)
    try:
        yield name
        if special:
            with open(name, "rb") as source, open(path, "wb") as sink:
                while block := source.read(_BLOCK):
                    sink.write(block)
        else:
            os.chmod(name, _mode(target))
            os.replace(name, target)
    except GeError as error:
        if error.where == name:
            error.where = path
        raise
    except OSError as error:
        if error.filename in (None, path, name, target):
            raise write_error(path, error) from None
        raise
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def check_output(path: str | os.PathLike[str]) -> str:
    """The file behind ``path``, symbolic links followed; GE1012 if it can be seen that writing to it will fail."""
    path = os.fspath(path)
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    reason = None
    if os.path.isdir(path):
        reason = "it is a folder"
    elif _is_special(path):
        pass
    elif os.path.islink(target):
        reason = "its symbolic links go in a circle"
    elif not os.path.basename(path) or not os.path.isdir(folder):
        reason = "there is no such folder"
    elif os.path.exists(target) and not os.access(target, os.W_OK):
        reason = "the file is read-only"
    if reason is not None:
        raise GeError(f"cannot write: {reason}", code="GE1012", where=path, hint="check the path and its permissions")
    return target


def _is_special(path: str) -> bool:
    """Whether ``path`` exists, is no regular file, and can therefore not be replaced by one."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    # a file that was unlinked while it is open, as /dev/stdout can be one, has no name to replace either
    return not stat.S_ISREG(found.st_mode) or not os.path.exists(os.path.realpath(path))


def _mode(target: str) -> int:
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def write_error(path: str, error: OSError) -> GeError:
    """A file that cannot be written."""
    reason = error.strerror or type(error).__name__
    return GeError(f"cannot write: {reason}", code="GE1012", where=path, hint="check the path and its permissions")
