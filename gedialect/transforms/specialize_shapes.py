"""``specialize-shapes``: fixes the sizes of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from gedialect.errors import GeError, UsageError
from gedialect.ir.context import count
from gedialect.ir.input_shapes import format_input_shapes, parse_input_shapes
from gedialect.ir.spec import DYNAMIC, spec_of, tensor_type


@dataclass(frozen=True)
class SpecializeShapes(ModulePass):
    """Sets the sizes of the graph's inputs, ``shapes="x:1,3,224,224;y:1,8"`` by model name, recomputes all types,
    folds the arithmetic on sizes and turns operands that have become constant into attributes.

    ``?`` leaves a size unknown. Raises GE1004 for an unknown input or a shape that does not fit its type.
    """

    name: ClassVar[str] = "specialize-shapes"
    shapes: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for what, times in specialize(op, parse_input_shapes(self.shapes)).items():
            count(ctx, self.name, what, times)


def specialize(module: ModuleOp, shapes: Mapping[str, Sequence[int]]) -> Mapping[str, int]:
    """Fix sizes of the inputs of ``@main`` (or the only function) by model name; counts of what changed."""
    from gedialect.transforms._propagate import functions, propagate

    found = list(functions(module))
    main = next((f for f in found if f.sym_name.data == "main" or len(found) == 1), None)
    if main is None:
        raise GeError("the module has no function @main", code="GE1109", hint="write the graph as func.func @main")
    set_input_shapes(main, shapes)
    return propagate(main, infer=True, folding=True)


def set_input_shapes(function: FuncOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """Set the argument types only; GE1004 for an unknown input or a shape that does not fit."""
    args = function.body.block.args
    attrs: list[dict[str, Attribute]] = [{} for _ in args]
    if function.arg_attrs is not None:
        attrs = [dict(a.data) for a in function.arg_attrs.data]
    names = [_name(a, i) for i, a in enumerate(attrs)]
    for name, given in shapes.items():
        if name not in names:
            raise UsageError(
                f"the graph has no input {name!r}", code="GE1004", hint=f"its inputs are {', '.join(names) or 'none'}"
            )
        at = names.index(name)
        spec = spec_of(args[at].type)
        fits = len(given) == spec.rank and all(
            s in (DYNAMIC, g) or g == DYNAMIC for g, s in zip(given, spec.shape, strict=True)
        )
        if not fits or any(g < DYNAMIC for g in given):
            raise GeError(
                f"shape {format_input_shapes({name: given})} does not fit input {name!r} of type {spec}",
                code="GE1004",
            )
        new = spec.with_shape([s if g == DYNAMIC else g for g, s in zip(given, spec.shape, strict=True)])
        args[at]._type = tensor_type(new)  # pyright: ignore[reportPrivateUsage]
        _update_dims(attrs[at], new.shape)
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr([DictionaryAttr(a) for a in attrs])


def _name(attrs: Mapping[str, Attribute], index: int) -> str:
    name = attrs.get("ge.name")
    return name.data if isinstance(name, StringAttr) else f"arg{index}"


def _update_dims(attrs: dict[str, Attribute], shape: Sequence[int]) -> None:
    """Keep the names of sizes that are still unknown."""
    dims = attrs.pop("ge.dims", None)
    if dims is None or DYNAMIC not in shape:
        return
    names = cast("ArrayAttr[StringAttr]", dims).data
    attrs["ge.dims"] = ArrayAttr([n if s == DYNAMIC else StringAttr(str(s)) for n, s in zip(names, shape, strict=True)])
