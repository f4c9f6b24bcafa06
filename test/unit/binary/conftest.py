import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from gedialect.binary.om import OmFile

_SAMPLE = runpy.run_path(str(Path(__file__).with_name("sample_model.py")))


@pytest.fixture
def sample() -> Callable[[], OmFile]:
    """Makes the OM of sample_model.py, anew at each call."""
    return _SAMPLE["sample"]
