import io
from pathlib import Path

import numpy as np
import pytest

from gedialect.binary.weights import Deferred, Place, Span, Weights
from gedialect.errors import GeError


def written(weights: Weights) -> bytes:
    out = io.BytesIO()
    weights.write(out)
    return out.getvalue()


def test_layout():
    weights = Weights()
    assert weights.size == 0
    assert weights.add(b"a" * 10) == Place(0, 10)
    assert weights.add(b"b" * 512) == Place(512, 512)
    assert weights.add(b"c") == Place(1024, 1)
    assert weights.size == 1536  # (1025 + 32) rounded up to 512
    assert written(weights) == b"a" * 10 + bytes(502) + b"b" * 512 + b"c" + bytes(511)


def test_total_rounds_used_plus_32():
    weights = Weights()
    weights.add(bytes(481))
    assert weights.size == 1024


def test_equal_constants_share(tmp_path: Path):
    data = np.arange(4000, dtype=np.float32)
    other = data.copy()
    other[2000] = -1  # same head and tail
    file = tmp_path / "w.bin"
    file.write_bytes(b"##" + data.tobytes())
    weights = Weights()
    first = weights.add(data.view(np.uint8))
    assert weights.add(other.view(np.uint8)) != first
    assert weights.add(data.tobytes()) == first
    assert weights.add(Span(str(file), 2, 16000)) == first
    assert weights.add(other.view(np.uint8)).offset == 16384
    assert len(weights.segments) == 2


def test_deferred_made_at_writing():
    calls: list[int] = []

    def make() -> bytes:
        calls.append(1)
        return b"z" * 600

    weights = Weights()
    place = weights.add(Deferred(600, make, "z"))
    assert weights.add(Deferred(600, make, "z")) == place
    assert not calls
    assert written(weights)[:600] == b"z" * 600
    assert len(calls) == 1
    weights.add(Deferred(5, make, "z"))
    with pytest.raises(GeError, match="made 600 bytes instead of 5"):
        written(weights)


def test_view_is_zero_copy_and_crosses_segments(tmp_path: Path):
    file = tmp_path / "w.bin"
    file.write_bytes(bytes(range(256)) * 4)
    data = np.arange(100, dtype=np.uint8)
    weights = Weights()
    weights.add(data)
    span = weights.add(Span(str(file), 100, 700))
    data[3] = 77
    assert weights.view(0, 5).tolist() == [0, 1, 2, 77, 4]
    assert bytes(weights.view(span.offset, 4)) == bytes([100, 101, 102, 103])
    assert bytes(weights.view(0, weights.size)) == written(weights)
    assert bytes(weights.view(90, 20)) == bytes(range(90, 100)) + bytes(10)
    with pytest.raises(GeError) as error:
        weights.view(weights.size - 1, 2)
    assert error.value.code == "GE1308"


def test_span_of_a_shorter_or_missing_file(tmp_path: Path):
    file = tmp_path / "w.bin"
    file.write_bytes(b"abc")
    for bad, code in ((Span(str(file), 1, 10000), "GE1003"), (Span(str(tmp_path / "none"), 0, 10000), "GE1002")):
        with pytest.raises(GeError) as error:
            Weights().add(bad)
        assert error.value.code == code
        assert error.value.where == bad.path
    weights = Weights()
    weights.add(Span(str(file), 0, 3))
    file.write_bytes(b"a")
    with pytest.raises(GeError, match="beyond the end"):
        written(weights)
    with pytest.raises(GeError, match="beyond the end"):
        weights.view(0, 3)


def test_empty_constant():
    weights = Weights()
    place = weights.add(b"")
    assert place == Place(0, 0)
    assert bytes(weights.view(place.offset, 0)) == b""
    assert written(weights) == bytes(512)


def test_contents_of_deferred_constants_are_compared_if_asked_for(tmp_path: Path):
    made: list[str] = []

    def deferred(key: str, data: bytes) -> Deferred:
        return Deferred(len(data), lambda: made.append(key) or data, key)

    weights = Weights()
    first = weights.add(deferred("a", b"x" * 600))
    plain = weights.add(b"p" * 600)
    assert weights.add(deferred("b", b"x" * 600)) != first
    assert made == []
    weights.deep = True
    assert weights.add(deferred("c", b"x" * 600)) == first
    assert weights.add(deferred("d", b"p" * 600)) == plain
    assert weights.add(b"x" * 600) == first
    other = weights.add(deferred("e", b"y" * 600))
    assert weights.add(deferred("f", b"y" * 600)) == other
    assert weights.add(deferred("g", b"y" * 601)) not in (first, plain, other)
    assert made.count("a") == made.count("e") == 1
    assert written(weights)[other.offset : other.offset + 600] == b"y" * 600
