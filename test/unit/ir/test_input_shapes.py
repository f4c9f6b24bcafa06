"""The command-line form of input shapes."""

from __future__ import annotations

import pytest

from gedialect.errors import UsageError
from gedialect.ir.input_shapes import format_input_shapes, parse_input_shapes


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x:1,3,224,224;y:1,8", {"x": (1, 3, 224, 224), "y": (1, 8)}),
        ("a:b:0:2", {"a:b:0": (2,)}),
        (" x : 1, ?, -1 ;", {"x": (1, -1, -1)}),
        ("sr:", {"sr": ()}),
        ("a;b:2;c:", {"a;b": (2,), "c": ()}),
        ("", {}),
    ],
)
def test_parse(text: str, shapes: dict[str, tuple[int, ...]]):
    assert parse_input_shapes(text) == shapes
    assert parse_input_shapes(format_input_shapes(shapes)) == shapes


@pytest.mark.parametrize("text", ["x", "x:1,a", "x:1.5", "x:-2", ":1", "x:1;x:2", "x:1;y", "x:1,,2"])
def test_errors(text: str):
    with pytest.raises(UsageError) as caught:
        parse_input_shapes(text)
    assert caught.value.code == "GE1001"
    assert "x:1,3,224,224" in str(caught.value)
