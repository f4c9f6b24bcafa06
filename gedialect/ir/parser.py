"""xDSL's parser, 2-4 times faster, with the same results.

Parsing is the slowest thing xDSL does (250-590 us per op). Here one regular expression finds each token, and types,
numbers, small arrays and strings that were seen before are taken from a cache by their text. Whatever the fast way
does not know falls through to xDSL. Besides speed: nesting is limited with a clear error, errors about unknown ops
point at the name and suggest others, and the position of each op is kept for later errors.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    RankedStructure,
    StringAttr,
    TensorType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, Region, TypeAttribute
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind, PunctuationSpelling

from gedialect.errors import GeError
from gedialect.ir.diagnostics import parse_error

MAX_DEPTH = 64
"""Regions, attributes and types nest at most this deep; xDSL's printer and clone recurse and stop near 100."""

MAX_DENSE = 1 << 26
"""Elements of a dense literal; larger constants are ``#ge.splat`` or ``#ge.weight``."""

MAX_WIDTH = (1 << 24) - 1
"""Bits of the widest integer type, as in MLIR."""

_K = MLIRTokenKind
_TOKEN = re.compile(
    r"(?:\s++|//[^\n]*+\n?)*+"  # possessive: two ways to split blanks are exponentially many for a row of them
    r"(?:(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|([a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|([:,()}\[\]<>=+/*?|]|->|\{-#|\{|-|#-\}|\.\.\.)"
    r"|([0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)"
    r"|(0x[0-9a-fA-F]+|[0-9]+)"
    r'|("[^"\\\n\v\f]*")'
    r"|(#(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|(!(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|(\^(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|(@[a-zA-Z_][a-zA-Z0-9_$.]*))",
    re.ASCII,
)
_PUNCTUATION_GROUP = 3
_KINDS = (
    _K.EOF,  # group 0 does not occur
    _K.PERCENT_IDENT,
    _K.BARE_IDENT,
    _K.EOF,  # punctuation, by its text
    _K.FLOAT_LIT,
    _K.INTEGER_LIT,
    _K.STRING_LIT,
    _K.HASH_IDENT,
    _K.EXCLAMATION_IDENT,
    _K.CARET_IDENT,
    _K.AT_IDENT,
)
_PUNCTUATION: dict[str, MLIRTokenKind] = {str(text): kind for text, kind in KIND_BY_PUNCTUATION_SPELLING.items()}

# Texts whose meaning depends on nothing else, in the form the printer writes. Each ends where xDSL's parser would end.
_TENSOR = re.compile(r"tensor<(?:(?:[0-9]+|\?)x)*[a-z][a-zA-Z0-9]*(?:, #[a-z_]+\.[a-z_]+<[A-Za-z0-9_, ]*>)?>")
_INTEGER_TYPE = re.compile(r"[su]?i([0-9]+)", re.ASCII)
_NUMBER = r"-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?(?: : [a-z][a-zA-Z0-9]*)?"
_NUMBER_ATTR = re.compile(_NUMBER + r"(?![\w.$<]|\s*(?::|//))", re.ASCII)
_ARRAY_ATTR = re.compile(rf"\[(?:{_NUMBER}(?:, {_NUMBER})*)?\]", re.ASCII)
_DENSE_ARRAY_ATTR = re.compile(r"array<[a-z][a-zA-Z0-9]*(?:: -?[0-9]+(?:, -?[0-9]+)*)?>")
_ROW = re.compile(
    r"\[\s*(?:-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?\s*,\s*)*-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?\s*\]"
)


class _FastToken(Token[MLIRTokenKind, str]):
    """A token that holds its text and makes its span when asked."""

    __slots__ = ("_end", "_input", "_start", "_text")

    def __init__(self, kind: MLIRTokenKind, text: str, start: int, end: int, input: Input[str]):
        self.kind = kind
        self._text = text
        self._start = start
        self._end = end
        self._input = input

    @property
    def text(self) -> str:
        return self._text

    if not TYPE_CHECKING:

        @property
        def span(self) -> Span[str]:
            return Span(self._start, self._end, self._input)


class FastLexer(MLIRLexer):
    """xDSL's lexer with one regular expression for all common tokens."""

    # xDSL's own takes exponential time for a string that is never closed.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> Token[MLIRTokenKind, str]:
        match = _TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex or 0
        text = match[group]
        kind = _PUNCTUATION[text] if group == _PUNCTUATION_GROUP else _KINDS[group]
        self.pos = end = match.end()
        return _FastToken(kind, text, end - len(text), end, self.input)


class FastParser(Parser):
    """xDSL's ``Parser`` with the same results. ``starts`` maps each parsed op to the offset of its text."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, "", name)
        text = input.decode("utf-8") if isinstance(input, bytes) else input
        self._parser_state: ParserState[MLIRTokenKind, str] = ParserState(FastLexer(Input(text, name)))
        self.starts: dict[Operation, int] = {}
        self._content = text
        self._depth = 0
        self._by_text: dict[str, Any] = {}

    # Tokens

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> Token[MLIRTokenKind, str]:
        state = self._parser_state
        token = state.current_token
        if (
            expected_kind is not None and token.kind is not expected_kind
        ):  # xDSL asserts, also about what is in the text
            self.raise_error(f"{expected_kind.name} expected", token.span)
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> Token[MLIRTokenKind, str] | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_punctuation(self, punctuation: PunctuationSpelling) -> PunctuationSpelling | None:
        state = self._parser_state
        if state.current_token.kind is not _PUNCTUATION[punctuation]:
            return None
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_punctuation(self, punctuation: PunctuationSpelling, context_msg: str = "") -> PunctuationSpelling:
        state = self._parser_state
        if state.current_token.kind is not _PUNCTUATION[punctuation]:
            self.raise_error(f"Expected '{punctuation}'" + context_msg, state.current_token.span)
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_optional_characters(self, text: str) -> str | None:
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_str_literal(self) -> str | None:
        token = self._parser_state.current_token
        if token.kind is not _K.STRING_LIT or "\\" in token.text:
            return super().parse_optional_str_literal()
        self._consume_token()
        return token.text[1:-1]

    def _skip_to(self, pos: int) -> None:
        """Continue at offset ``pos``."""
        state = self._parser_state
        state.lexer.pos = pos
        state.current_token = state.lexer.lex()

    # Types and attributes by text

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._parser_state.current_token
        kind = token.kind
        if kind is _K.BARE_IDENT:
            if token.text == "tensor":
                match = _TENSOR.match(self._content, token.span.start)
                if match is not None:
                    return self._cached(match, super().parse_optional_type)
            elif (known := self._by_text.get(token.text)) is not None:
                self._consume_token()
                return known
            else:
                text = token.text
                found: TypeAttribute | None = self._nested(super().parse_optional_type)
                if isinstance(found, IntegerType | IndexType | AnyFloat):
                    self._by_text[text] = found
                return cast("TypeAttribute | None", found)
        elif kind is not _K.EXCLAMATION_IDENT and kind is not _K.L_PAREN:
            return None
        return self._nested(super().parse_optional_type)

    def _cached(self, match: re.Match[str], parse: Any) -> Any:
        """What ``parse`` returns for the text of ``match``, parsed at its first occurrence only."""
        text = match[0]
        known = self._by_text.get(text)
        if known is not None:
            self._skip_to(match.end())
            return known
        known = parse()
        if known is not None and self._current_token.span.start >= match.end():
            self._by_text[text] = known
        return known

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        token = self._parser_state.current_token
        kind = token.kind
        if kind is _K.STRING_LIT:
            text = token.text
            known = self._by_text.get(text)
            if known is None:
                known = super()._parse_optional_builtin_attr()
                if isinstance(known, StringAttr):
                    self._by_text[text] = known
                return known
            self._consume_token()
            return known
        if kind is _K.INTEGER_LIT or kind is _K.MINUS or kind is _K.FLOAT_LIT:
            match = _NUMBER_ATTR.match(self._content, token.span.start)
            parse = self.parse_optional_builtin_int_or_float_attr
            return parse() if match is None else self._cached(match, parse)
        if kind is _K.L_SQUARE:
            match = _ARRAY_ATTR.match(self._content, token.span.start)
            parse = self._parse_optional_array_attr
            return parse() if match is None else self._cached(match, parse)
        if kind is _K.L_BRACE:
            return self._parse_optional_builtin_dict_attr()
        if kind is _K.AT_IDENT:
            return self._parse_optional_symref_attr()
        if kind is _K.BARE_IDENT:
            return self._parse_optional_named_attr(token.text, token.span.start)
        return super()._parse_optional_builtin_attr()

    def _parse_optional_named_attr(self, name: str, start: int) -> Attribute | None:
        if name == "unit":
            self._consume_token()
            return UnitAttr()
        if name == "true" or name == "false":
            return self.parse_optional_builtin_int_or_float_attr()
        if name == "loc":
            return self.parse_optional_location()
        if name == "array" and (match := _DENSE_ARRAY_ATTR.match(self._content, start)) is not None:
            return self._cached(match, self._parse_optional_builtin_parametrized_attr)
        if (found := self.parse_optional_type()) is not None:
            return found
        return self._parse_optional_builtin_parametrized_attr()

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        match = _INTEGER_TYPE.fullmatch(token.text)
        # xDSL checks values against the range of their type, which takes as much memory
        if match is not None and (len(match[1]) > 8 or int(match[1]) > MAX_WIDTH):
            self.raise_error(f"an integer type has at most {MAX_WIDTH} bits", token.span)
        return super()._parse_optional_integer_or_float_type()

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[Any] | None) -> DenseIntOrFPElementsAttr:
        start = self._current_token.span
        found = super().parse_dense_int_or_fp_elements_attr(type)
        size = found.get_element_type().compile_time_size
        if len(found.data.data) != len(found) * size:  # bytes written as a string; xDSL counts whole elements only
            self.raise_error(f"{len(found.data.data)} bytes for {len(found)} elements of {size} bytes", start)
        return found

    def _parse_dense_literal_type(self) -> RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType]:
        # xDSL builds a constraint object for each literal here, 0.3 ms.
        span = self._current_token.span
        found: Any = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        element: object = getattr(found, "element_type", None)
        if not isinstance(found, TensorType | VectorType | MemRefType) or not isinstance(
            element, IntegerType | IndexType | AnyFloat | ComplexType
        ):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type", span)
        typed = cast("RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType]", found)
        if DYNAMIC_INDEX in typed.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        if math.prod(found.get_shape()) > MAX_DENSE:
            # xDSL holds every element of a literal, splats included.
            self.raise_error(f"a dense literal holds at most {MAX_DENSE} elements", span)
        return typed

    class _TensorLiteralElement(Parser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
        """An element written in hex is the bits of a float: inf, NaN and large whole numbers print so, and xDSL
        reads them back as integers."""

        def to_type(self, parser: Any, type: Any) -> Any:
            text = self.span.text if isinstance(type, AnyFloat) else ""
            if not text.startswith("0x"):
                return super().to_type(parser, type)
            size = type.size
            bits = int(text, 16)
            if bits >= 1 << 8 * size:
                parser.raise_error(f"more bits than {type} has", self.span)
            return type.unpack(bits.to_bytes(size, "little"), 1)[0]

    def _parse_tensor_literal(self) -> tuple[list[Any], list[int]]:
        token = self._parser_state.current_token
        if token.kind is _K.L_SQUARE:
            start = token.span.start
            match = _ROW.match(self._content, start)
            if match is not None:
                texts = [text.strip() for text in match[0][1:-1].split(",")]
                values: list[int | float] = [float(t) if "." in t else int(t) for t in texts]
                self._skip_to(match.end())
                span = Span(start, match.end(), self.lexer.input)
                return [self._TensorLiteralElement(v < 0, v, span) for v in values], [len(values)]
            return self._nested(super()._parse_tensor_literal)
        return super()._parse_tensor_literal()

    # Nesting

    def _too_deep(self) -> NoReturn:
        error = ParseError(self._current_token.span, f"nested more than {MAX_DEPTH} levels deep")
        setattr(error, "code", "GE1108")
        setattr(error, "hint", "flatten the text")
        raise error

    def _nested(self, parse: Any, *args: Any) -> Any:
        if self._depth >= MAX_DEPTH:
            self._too_deep()
        self._depth += 1
        try:
            return parse(*args)
        finally:
            self._depth -= 1

    def parse_optional_attribute(self) -> Attribute | None:
        return self._nested(super().parse_optional_attribute)

    def parse_optional_region(self, arguments: Any = None) -> Region | None:
        return self._nested(super().parse_optional_region, arguments)

    # Operations

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        self.starts[op] = start
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is not None:
            return found
        # The name itself is consumed; xDSL would point at the token after it.
        start = max(self._content.rfind(name, 0, self._current_token.span.start), 0)
        error = ParseError(Span(start, start + len(name), self.lexer.input), f"Operation {name} is not registered")
        setattr(error, "hint", _near_ops(name, self.ctx))
        raise error

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except RecursionError:
            self._too_deep()
        except (VerifyException, ValueError, OverflowError, NotImplementedError, struct.error) as error:
            if isinstance(error, UnicodeDecodeError):
                raise
            # An attribute that does not verify or a number out of range: xDSL has no place for it, we do.
            raise ParseError(self._current_token.span, str(error) or type(error).__name__) from None

    def positions(self, line_offset: int = 0) -> dict[Operation, tuple[str, int, int]]:
        """File, line and column of each parsed op."""
        name = self.lexer.input.name
        found: dict[Operation, tuple[str, int, int]] = {}
        line, line_start, scanned = 1 + line_offset, 0, 0
        for op, start in sorted(self.starts.items(), key=lambda item: item[1]):
            newlines = self._content.count("\n", scanned, start)
            if newlines:
                line += newlines
                line_start = self._content.rfind("\n", scanned, start) + 1
            scanned = start
            found[op] = (name, line, start - line_start + 1)
        return found


def _near_ops(name: str, ctx: Context) -> str:
    dialect, _, _ = name.partition(".")
    names: Iterable[str] = ()
    if ctx.get_optional_dialect(dialect) is not None:
        names = [op.name for op in ctx.loaded_ops if op.name.startswith(dialect + ".")]
        if near := get_close_matches(name, names, 3):
            return "did you mean " + " or ".join(near) + "?"
        return f"the dialect {dialect} has no such op"
    known = sorted(ctx.registered_dialect_names)
    if near := get_close_matches(dialect, known, 2):
        return "did you mean the dialect " + " or ".join(near) + "?"
    return "check its name, or allow it with --allow-unregistered-dialect"


def parse_module(ctx: Context, text: str | bytes, name: str = "<text>") -> ModuleOp:
    """Parse a module, not verified; errors are ``GeError`` with ``name:line:col`` (GE1101, GE1102, GE1108)."""
    return parse_with(ctx, text, name)[0]


def parse_with(
    ctx: Context, text: str | bytes, name: str, implicit: bool = True, line_offset: int = 0
) -> tuple[ModuleOp, FastParser]:
    """As ``parse_module``, also returning the parser, which knows where each op stood.

    ``line_offset`` is the number of lines before ``text`` in its file.
    """
    try:
        parser = FastParser(ctx, text, name)
        return parser.parse_module(implicit), parser
    except UnicodeDecodeError as error:
        raise GeError(
            f"the text is not UTF-8 at byte {error.start}", code="GE1102", where=name, hint="give MLIR text"
        ) from None
    except ParseError as error:
        error.span = replace(error.span, line_offset=line_offset)
        raise parse_error(error) from None
