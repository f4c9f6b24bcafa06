"""What callers of the Python interface give, checked: anything may come, and what does not fit is told in our words."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from operator import index
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gedialect.errors import GeError, UsageError, check_input_names

Array = npt.NDArray[Any]


def check_options(
    target: object, max_fusion_ops: object, strict_numerics: object, options: object, **lists: object
) -> None:
    """UsageError GE1001 for options of another kind than ``compile`` takes; ``lists`` are those that hold names."""
    from gedialect.patterns.rule import Rule

    _must(isinstance(target, str), "target", "the name of a chip", target)
    number = isinstance(max_fusion_ops, int) and not isinstance(max_fusion_ops, bool)
    _must(number, "max_fusion_ops", "a number", max_fusion_ops)
    _must(isinstance(strict_numerics, bool), "strict_numerics", "True or False", strict_numerics)
    if options is not None:
        fits = isinstance(options, Mapping) and _all(cast("object", options), str)
        _must(fits, "options", "a dict from names", cast("object", options))
    for name, value in lists.items():
        if value is None and name == "fusion_modes":
            continue
        kinds = (str, os.PathLike, Rule) if name == "rules" else (str,)
        what = "a list of files or rules" if name == "rules" else "a list of names"
        _must(not isinstance(value, str | bytes) and _all(value, *kinds), name, what, value)


def _must(fits: bool, name: str, what: str, value: object) -> None:
    if not fits:
        raise UsageError(f"{name} is {what}, not {value!r}")


def _all(values: object, *kinds: type) -> bool:
    """Whether it is a collection of these kinds of things."""
    return isinstance(values, Collection) and all(isinstance(v, kinds) for v in cast("Collection[object]", values))


def check_model(model: object) -> None:
    """UsageError GE1013 for what is no ``onnx.ModelProto``."""
    import onnx

    if not isinstance(model, onnx.ModelProto):
        raise UsageError(
            f"a model is a path, an onnx.ModelProto or a ge module, not {type(model).__name__}",
            code="GE1013",
            hint="give the name of the file, or onnx.load_model(...) of a stream",
        )


def checked_path(path: object, what: str) -> str:
    """The name of a file as text; UsageError GE1001 for what is none."""
    try:
        name = os.fsdecode(cast("Any", path))
    except TypeError:
        name = ""
    if not name or "\0" in name:
        raise UsageError(f"{what} is the name of a file, not {path!r:.80}", hint="give a str or a path")
    return name


def checked_shapes(input_shapes: object) -> dict[str, tuple[int, ...]] | None:
    """The shapes as a dict of tuples of int; UsageError GE1001 for what is none."""
    if input_shapes is None:
        return None
    hint = 'write input_shapes={"x": [1, 3, 224, 224]}, -1 for a size that stays unknown'
    if not isinstance(input_shapes, Mapping):
        kind = type(input_shapes).__name__
        raise UsageError(f"input_shapes is a dict from names to sizes, not {kind}", hint=hint)
    found: dict[str, tuple[int, ...]] = {}
    for name, sizes in cast("Mapping[object, object]", input_shapes).items():
        if not isinstance(name, str):
            raise UsageError(f"an input has a name of str, not {name!r}", hint=hint)
        try:
            found[name] = tuple(index(size) for size in cast("Any", sizes))
        except TypeError:
            raise UsageError(f"the shape of input {name} is no list of integers: {sizes!r}", hint=hint) from None
    return found


def by_name(inputs: Mapping[str, Any] | Sequence[Any], names: Sequence[str]) -> Mapping[str, Any]:
    """Inputs given in order, by name; GE1004 for anything but a dict by name or as many values as there are names."""
    if isinstance(inputs, Mapping):
        check_input_names(inputs, names)
        return inputs
    if isinstance(inputs, str | bytes) or not hasattr(inputs, "__iter__"):  # what callers give may be anything
        raise GeError(
            f"inputs are a dict by name or a list in order, not {type(inputs).__name__}",
            code="GE1004",
            hint=f"the inputs are {', '.join(names) or 'none'}",
        )
    found = list(inputs)
    if len(found) != len(names):
        raise GeError(f"{len(names)} inputs are needed, got {len(found)}", code="GE1004")
    return dict(zip(names, found, strict=True))


def as_array(name: str, value: Any) -> Array:
    """The value as an array; GE1004 if it is none."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise GeError(f"input {name} is no array: {error}", code="GE1004") from None
