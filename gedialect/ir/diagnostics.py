"""Errors about ops, in a size a person can read.

xDSL attaches the whole module in generic form to an error (0.95 MB of text for 10k ops). Here an error shows the op
and its neighbours, each cut to a line or two, and names the model node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, cast

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from gedialect.errors import GeError
from gedialect.ir import sources
from gedialect.ir.printer import UniquePrinter

MAX_LINE = 160
MAX_CHARS = 400

Positions = Mapping[Operation, tuple[str, int, int]]
"""File, line and column of the ops of a parsed text."""


class _Full(Exception):
    pass


class _CappedStream:
    """Collects text and stops the printer once it has enough."""

    def __init__(self, limit: int):
        self.parts: list[str] = []
        self.left = limit

    def write(self, text: str) -> int:
        self.parts.append(text)
        self.left -= len(text)
        if self.left < 0 or "\n" in text:
            raise _Full
        return len(text)


def cap(text: str, limit: int = MAX_LINE) -> str:
    """``text`` on one line of at most ``limit`` characters."""
    line, newline, _ = text.partition("\n")
    return line if len(line) <= limit and not newline else line[: limit - 4].rstrip() + " ..."


def op_text(op: Operation, limit: int = MAX_CHARS) -> str:
    """The first line of ``op`` as text, at most ``limit`` characters, without printing the rest of it."""
    stream = _CappedStream(limit)
    try:
        UniquePrinter(stream=cast(IO[str], stream)).print_op(op)
    except _Full:
        return cap("".join(stream.parts), limit)
    except Exception:
        # A broken op may not print in its own syntax; its name always does.
        return f"{op.name} (does not print)"
    return "".join(stream.parts)


def value_text(value: SSAValue) -> str:
    """A short name of an SSA value: its hint, or where it comes from."""
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    if isinstance(value, OpResult):
        return f"result {value.index} of {value.op.name}"
    if isinstance(value, BlockArgument):
        return f"block argument {value.index}"
    return "a value that was erased"


def neighbourhood(op: Operation) -> tuple[str, ...]:
    """``op`` between the ops before and after it, one line each, ``op`` marked."""
    prev, nxt = op.prev_op, op.next_op
    lines: list[str] = []
    if prev is not None:
        lines.append("  " + cap(op_text(prev)))
    lines.append("> " + cap(op_text(op), 2 * MAX_LINE))
    if nxt is not None:
        lines.append("  " + cap(op_text(nxt)))
    return tuple(lines)


def place(op: Operation, file: str | None = None, positions: Positions | None = None) -> str | None:
    """``FILE:line:col`` of ``op``, or ``FILE: node NAME``, or ``FILE``: the most precise that is known.

    An op a pass has made has no place of its own; its parents' is the next best.
    """
    at: Operation | None = op
    while at is not None:
        if positions is not None and at in positions and at.parent is not None:
            return "{}:{}:{}".format(*positions[at])
        if (found := sources.file_position(at.location)) is not None:
            return "{}:{}:{}".format(*found)
        if nodes := sources.names_of(at.location):
            return f"{file}: node {nodes[0]}" if file is not None else f"node {nodes[0]}"
        at = at.parent_op()
    return file


def op_error(
    op: Operation,
    message: str,
    *,
    code: str,
    hint: str | None = None,
    file: str | None = None,
    positions: Positions | None = None,
) -> GeError:
    """An error about ``op``: placed, naming its model nodes, showing it and its neighbours."""
    details = list(neighbourhood(op))
    if nodes := sources.names_of(op.location):
        more = f" and {len(nodes) - 5} more" if len(nodes) > 5 else ""
        details.append("from node " + ", ".join(nodes[:5]) + more)
    return GeError(message, code=code, where=place(op, file, positions), hint=hint, details=tuple(details))


def _marked_line(span: Span[str] | Span[bytes]) -> tuple[str, ...]:
    """The source line of ``span`` with carets below, both cut around the mark."""
    if not isinstance(span.input.content, str):
        return ()
    content = span.input.content
    start = min(span.start, len(content))
    begin = content.rfind("\n", 0, start) + 1
    end = content.find("\n", start)
    end = len(content) if end < 0 else end
    first = max(begin, start - MAX_LINE // 2)
    line = content[first : min(end, first + MAX_LINE)]
    width = max(1, min(span.end, first + len(line)) - start)
    return (line, " " * (start - first) + "^" * width)


def parse_error(error: ParseError, *, hint: str | None = None) -> GeError:
    """xDSL's parse error as ours: ``FILE:line:col: error GE1101: what; what to do`` and the marked line."""
    details = list(_marked_line(error.span))
    if isinstance(error, MultipleSpansParseError):
        details.extend(f"{span.get_location()}: {text or error.ref_text or ''}" for span, text in error.refs[:3])
    message = cap(error.msg.strip(), 2 * MAX_LINE).rstrip(".!")
    if hint is None:
        hint = getattr(error, "hint", None) or "correct the text at the mark"
    code = getattr(error, "code", None) or "GE1101"
    return GeError(message, code=code, where=str(error.span.get_location()), hint=hint, details=tuple(details))
