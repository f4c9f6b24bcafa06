import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gedialect.binary.om import OmFile

sys.path.insert(0, str(Path(__file__).parent))
_SAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "binary" / "sample_model.py"))


@pytest.fixture
def sample() -> Callable[[], OmFile]:
    """Makes the OM of sample_model.py, anew at each call."""
    return _SAMPLE["sample"]
