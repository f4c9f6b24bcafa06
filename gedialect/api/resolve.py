"""Bringing a module as far as known sizes and constants allow: types, folding, branches, nodes that waited."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation

from gedialect.analysis.graph import graph_function
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.control import HostOp, IfOp, LateOp, LoopOp, merged_type, yielded
from gedialect.dialects.ge.folding import foldable
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.sources import names
from gedialect.ir.spec import spec_of
from gedialect.transforms._propagate import propagate, propagate_block, set_type
from gedialect.transforms.fold_control import carry_collected, fold_control


def prepare(module: ModuleOp) -> None:
    """Infer, fold, take the branches that are known and convert nodes that need not wait, until nothing changes."""
    function = graph_function(module)
    block = function.body.block
    while True:
        propagate(function, infer=True, folding=True)
        drop_unused(block)
        if not fold_control(block) and not _resolve(block) and not settle_bodies(block):
            return


def settle_bodies(block: Block) -> int:
    """Bring the bodies of branches and loops as far as the values they read allow; how many have narrower results.

    Bodies that fail are left alone: they may never run.
    """
    narrower = 0
    for op in list(block.ops):
        if isinstance(op, LoopOp) and (made := carry_collected(op)) is not None:
            narrower += 1
            op = made
        if not isinstance(op, IfOp | LoopOp) or (not any(_open(r.type) for r in op.results) and _is_settled(op)):
            continue
        before = op.clone()
        try:
            done = _settle(op)
        except GeError:
            done = False
        if done:
            narrower += [r.type for r in op.results] != [r.type for r in before.results]
            before.drop_all_references()
            continue
        block.insert_op_before(before, op)
        for old, new in zip(op.results, before.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        block.erase_op(op)
    return narrower


def _is_settled(op: IfOp | LoopOp) -> bool:
    inner = [o for o in op.walk() if o is not op]
    return not any(_open(r.type) for o in inner for r in o.results)


def _settle(op: IfOp | LoopOp) -> bool:
    """Infer types inside; whether the op stays well-formed."""
    if isinstance(op, LoopOp):
        for arg, value in zip(op.body.block.args[2:], op.init, strict=True):
            set_type(arg, value.type)
    for region in op.regions:
        _prepare_block(region.block)
    ends = [[v.type for v in yielded(r.block, "a body").operands] for r in op.regions]
    if isinstance(op, LoopOp):
        carried = len(op.init)
        if ends[0][1 : 1 + carried] != [v.type for v in op.init]:
            return False
        for result, value in zip(op.results, op.init, strict=False):
            set_type(result, value.type)
        return True
    for result, a, b in zip(op.results, ends[0], ends[1], strict=True):
        set_type(result, merged_type(a, b))
    return True


def _prepare_block(block: Block) -> None:
    while True:
        propagate_block(block)
        drop_unused(block)
        if not fold_control(block) and not _resolve(block) and not settle_bodies(block):
            return


def drop_unused(block: Block) -> None:
    """Erase ops whose results nobody reads."""
    for op in reversed(list(block.ops)):
        removable = isinstance(op, GeOp) and (isinstance(op, ConstantOp | HostOp) or foldable(type(op)))
        if removable and op.results and not any(r.first_use is not None for r in op.results):
            block.erase_op(op)


def _resolve(block: Block) -> int:
    """Convert the nodes whose operands have known sizes; how many were."""
    done = 0
    for op in list(block.ops):
        if not isinstance(op, LateOp) or any(_open(v.type) for v in op.x):
            continue
        if _convert(op):
            done += 1
    return done


def _open(type_: Attribute) -> bool:
    return isinstance(type_, ON_HOST) or not spec_of(type_).is_static


def _convert(op: LateOp) -> bool:
    if op.format.data != "onnx":
        raise UnsupportedError(f"nobody reads nodes of format {op.format.data}", code="GE1204", where=_place(op))
    from gedialect.frontends.onnx.late import resolve

    values = resolve(op)
    if values is None:
        return False
    for result, value in zip(list(op.results), values, strict=True):
        result.replace_all_uses_with(value)
    block = op.parent
    assert block is not None
    block.erase_op(op)
    return True


def resolve_or_fail(op: LateOp) -> None:
    """For a node all of whose operands are known, and that still waits: the error that says so."""
    raise UnsupportedError(
        "the node cannot be converted even with all its inputs known", code="GE1205", where=_place(op)
    )


def _place(op: Operation) -> str:
    return f"node {next(iter(names(op)), op.name)}"


__all__ = ["drop_unused", "prepare", "resolve_or_fail"]
