"""Verification that xDSL leaves out or makes expensive.

``verify`` checks every op as xDSL does, and that each value is defined before it is used (xDSL does not), in one
linear walk without recursion. Errors name the op and the value and stay small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from gedialect.errors import GeError
from gedialect.ir.diagnostics import Positions, cap, op_error, value_text

USE_BEFORE_DEFINITION = "GE1103"
DOES_NOT_VERIFY = "GE1104"

Finding = tuple[Operation, str, str, str | None]
"""The op at fault, the code, the message, what to do."""


def _block_findings(block: Block, region: Region, parent: Operation) -> Iterator[Finding]:
    """What xDSL checks of a block: parents, a terminator where one is due."""
    single = len(region.blocks) == 1
    last = block.last_op
    if last is None:
        if single and not parent.has_trait(NoTerminator):
            yield parent, DOES_NOT_VERIFY, f"{parent.name} holds an empty block where a terminator is due", None
        return
    needs_terminator = not single or not parent.has_trait(NoTerminator)
    if needs_terminator and not last.has_trait(IsTerminator):
        hint = "end the block with a terminator such as func.return"
        yield last, DOES_NOT_VERIFY, f"{last.name} ends its block but is not a terminator", hint


def _op_findings(op: Operation, block: Block | None) -> Iterator[Finding]:
    if op.parent is not block:
        yield op, DOES_NOT_VERIFY, f"{op.name} does not know its block", None
    if op.successors:
        if block is None or block.parent is None or block.last_op is not op:
            yield op, DOES_NOT_VERIFY, f"{op.name} has successors but does not end a block", None
        elif any(successor.parent is not block.parent for successor in op.successors):
            yield op, DOES_NOT_VERIFY, f"{op.name} branches to a block of another region", None
    try:
        # Not op.verify(): on failure that prints the whole module into the exception.
        op.verify_()
    except VerifyException as error:
        yield op, DOES_NOT_VERIFY, f"{op.name} does not verify: {cap(str(error), 300)}", None
    except Exception as error:
        # An op is not trusted before it verifies: xDSL's own checks meet values that nothing defines, and attributes
        # of any kind and size, and say so by nearly every type of exception.
        message = f"{op.name} does not verify: {type(error).__name__}: {cap(str(error), 300)}"
        yield op, DOES_NOT_VERIFY, message, None


def _dominance(region: Region) -> DominanceInfo | None:
    try:
        return DominanceInfo(region)
    except KeyError:
        return None  # a branch out of the region, reported by itself


class _Scope:
    """One region under way: which values its ops may use, and what to forget when it ends."""

    __slots__ = ("block", "blocks", "defined", "dominance", "op", "ops", "ordered", "pending", "region", "visible")

    def __init__(self, region: Region, op: Operation, outer: set[SSAValue]):
        self.region = region
        self.op = op
        self.visible: set[SSAValue] = set() if op.has_trait(IsolatedFromAbove) else outer
        self.defined: list[SSAValue] = []
        self.pending: Sequence[SSAValue] = ()
        self.blocks = iter(tuple(region.blocks))
        self.block: Block | None = None
        self.ops: Iterator[Operation] = iter(())
        # The body of a module is a graph: order means nothing there, as in MLIR.
        self.ordered = not isinstance(op, ModuleOp)
        self.dominance = _dominance(region) if len(region.blocks) > 1 else None
        if not self.ordered:
            for block in region.blocks:
                for inner in block.ops:
                    self.define(inner.results)

    def define(self, values: Sequence[SSAValue]) -> None:
        self.defined.extend(values)
        self.visible.update(values)

    def may_use(self, value: SSAValue) -> bool:
        if not isinstance(value, OpResult | BlockArgument):
            return False  # erased, or never defined
        visible = value in self.visible
        if self.dominance is None or self.block is None:
            return visible
        defining = value.owner if isinstance(value, BlockArgument) else value.op.parent
        if defining is None or defining.parent is not self.region or defining is self.block:
            return visible
        # A block in a cycle may come later in the text and still dominate.
        return self.dominance.strictly_dominates(defining, self.block)


def findings(root: Operation, *, dominance: bool = True) -> Iterator[Finding]:
    """Everything wrong in ``root`` and the ops inside it, in the order of the text."""
    yield from _op_findings(root, root.parent)
    scopes = [_Scope(region, root, set()) for region in reversed(root.regions)]
    while scopes:
        scope = scopes[-1]
        # Results are visible after their op, its regions included.
        scope.define(scope.pending)
        scope.pending = ()
        op = next(scope.ops, None)
        if op is None:
            block = scope.block = next(scope.blocks, None)
            if block is None:
                scope.visible.difference_update(scope.defined)
                scopes.pop()
                continue
            if block.parent is not scope.region:
                yield scope.op, DOES_NOT_VERIFY, f"{scope.op.name} holds a block that does not know its region", None
            yield from _block_findings(block, scope.region, scope.op)
            scope.define(block.args)
            scope.ops = iter(tuple(block.ops))
            continue
        if dominance:
            for value in dict.fromkeys(op.operands):
                if not scope.may_use(value):
                    message = f"{op.name} uses {value_text(value)} where it is not defined"
                    yield op, USE_BEFORE_DEFINITION, message, "move its definition before this op, or pass it in"
        yield from _op_findings(op, scope.block)
        scopes.extend(_Scope(region, op, scope.visible) for region in reversed(op.regions))
        if scope.ordered:
            scope.pending = op.results


def verify(
    root: Operation, *, dominance: bool = True, file: str | None = None, positions: Positions | None = None
) -> None:
    """Raise the first finding as a ``GeError`` (GE1103 use before definition, GE1104 op does not verify)."""
    for finding in findings(root, dominance=dominance):
        raise finding_error(finding, file=file, positions=positions)


def finding_error(finding: Finding, *, file: str | None = None, positions: Positions | None = None) -> GeError:
    """A finding as an error with its place."""
    op, code, message, hint = finding
    return op_error(op, message, code=code, hint=hint, file=file, positions=positions)
