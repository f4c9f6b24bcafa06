"""Runs the commands of README.md and writes down what they print.

    python tools/update_readme.py            # update
    python tools/update_readme.py --check    # exit code 1 if it is out of date

Commands are the ``$`` lines of ```console blocks; ```mlir file=NAME blocks are the files they read.
"""

from __future__ import annotations

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
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
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


def main() -> int:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    now = updated(text)
    if "--check" in sys.argv[1:]:
        if now != text:
            print("README.md is out of date; run python tools/update_readme.py")
        return int(now != text)
    readme.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
