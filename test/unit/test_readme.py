"""The output shown in the pages is what the commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_page_shows_real_output(page: str):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "update_readme.py"), "--check", page],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
