"""Runs the commands of README.md and docs/guide.md and writes down what they print.

    python tools/update_readme.py                    # update
    python tools/update_readme.py --check [PAGE]     # exit code 1 if a page is out of date

Commands are the ``$`` lines of ```console blocks; blocks such as ```mlir file=NAME are the files they read. All
commands of a page run in one folder, in order.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command: str, folder: str) -> str:
    """What ``command`` prints on both streams."""
    # the commands of this environment; those it was not installed with yet, from the checkout
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", ""), str(ROOT / "tools")])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path},
        check=False,
    )
    return done.stdout


def updated(text: str) -> str:
    """``text`` with the output of its commands as it is now."""
    with tempfile.TemporaryDirectory() as folder:

        def block(match: re.Match[str]) -> str:
            language, file, body = match.groups()
            if file is not None:
                Path(folder, file).write_text(body, encoding="utf-8")
            if language != "console":
                return match[0]
            lines: list[str] = []
            for line in body.split("\n"):
                if line.startswith("$ "):
                    lines += [line, *run(line[2:], folder).rstrip("\n").split("\n")]
            return "```console\n" + "\n".join(line for line in lines if line) + "\n```"

        return FENCE.sub(block, text)


PAGES = ("README.md", "docs/guide.md")


def main() -> int:
    check = "--check" in sys.argv[1:]
    pages = [a for a in sys.argv[1:] if not a.startswith("-")] or PAGES
    stale = 0
    for name in pages:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        now = updated(text)
        if now == text:
            continue
        if check:
            changes = difflib.unified_diff(text.split("\n"), now.split("\n"), name, "now", lineterm="", n=1)
            print("\n".join([f"{name} is out of date; run make docs", *changes]))
            stale = 1
        else:
            path.write_text(now, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
