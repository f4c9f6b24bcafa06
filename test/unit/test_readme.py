"""The output shown in README.md is what the commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_readme_shows_real_output():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "update_readme.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
