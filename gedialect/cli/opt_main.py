"""The driver behind ``ge-opt``: xDSL's, with our context, parser, verifier, errors and instrumentation."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from gedialect.binary.output import atomic_output
from gedialect.cli import pass_list
from gedialect.cli.common import check_files, explain, internal_error, open_error, usage_error, version_line
from gedialect.cli.expected import expectations, mismatches
from gedialect.cli.instrument import Dumps, Instrument
from gedialect.cli.rule_options import add_rule_options, alone, load_all, without_model
from gedialect.cli.switch_options import add_switch_options, switches_of, unused_switches
from gedialect.errors import EXIT_ERROR, EXIT_OK, GeError, UsageError
from gedialect.ir import registry, verifier
from gedialect.ir.context import GeContext
from gedialect.ir.diagnostics import cap, parse_error
from gedialect.ir.parser import parse_with
from gedialect.pipelines import DEFAULT_TARGET, STEPS, pipeline, unknown_pass
from gedialect.switches import check_names, say_left_out

if TYPE_CHECKING:
    from gedialect.patterns.session import RuleSession

PROG = "ge-opt"
SPLIT = b"// -----"
EXAMPLE = """\
examples:
  ge-opt model.onnx                                   print a model as text
  ge-opt model.mlir -p "canonicalize,cse" -o out.mlir
  ge-opt model.mlir -O2 --print-ir-after-change       see what each pass of a level does
  ge-opt model.mlir --rules mine.py --debug-rule r    apply own rules, and say why not
  ge-opt --verify-rules mine.py                       prove them on random instances
  ge-opt --list-passes                                every pass with a line about it
  ge-opt model.onnx -O2 --check-each-pass --inputs in.npz -o out.mlir    find the pass that changes the result
exit codes: 0 fine, 1 error, 2 wrong usage, 3 a rule is wrong or a pass changes the result"""


@cache
def _multiverse() -> Universe:
    """xDSL's registries and those of every plugin; looking for plugins costs 10 ms, so once."""
    return Universe.get_multiverse()


def _without_spaces(pipeline_text: str) -> str:
    """The pipeline without spaces between passes, which xDSL refuses."""
    kept: list[str] = []
    depth, quoted = 0, False
    for char in pipeline_text:
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char == "{") - (char == "}")
        if quoted or depth > 0 or not char.isspace():
            kept.append(char)
    return "".join(kept)


class GeOptMain(xDSLOptMain):
    """One run of ge-opt. ``execute`` returns the exit code; errors are ``GeError``."""

    def __init__(self, args: Sequence[str]):
        self.positions: dict[Operation, tuple[str, int, int]] = {}
        self.steps: tuple[ModulePass, ...] = ()
        self.line_offset = 0
        self.instrument: Instrument | None = None
        self.rules: RuleSession | None = None
        try:
            super().__init__("Run passes on MLIR text or an ONNX model and print the result as MLIR text.", args)
        except ArgSpecParseError as error:
            raise UsageError(
                cap(str(error).strip().split("\n")[-1].strip()),
                code="GE1111",
                where=PROG,
                hint='write -t "name{option=1}"',
            ) from None

    # Registration

    def register_all_dialects(self) -> None:
        self.ctx = GeContext()
        known = set(self.ctx.registered_dialect_names)
        for name, factory in _multiverse().all_dialects.items():
            if name not in known:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        self.available_passes = {**_multiverse().all_passes, **registry.pass_factories()}

    def register_all_targets(self) -> None:
        self.available_targets.update(_multiverse().all_targets)
        self.available_targets.update(registry.target_factories())

    def register_all_frontends(self) -> None:
        self.available_frontends.update(_multiverse().all_frontends)
        self.available_frontends.update(registry.frontend_factories())

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)

        def fail(message: str) -> NoReturn:
            raise usage_error(PROG, message)

        arg_parser.prog = PROG
        arg_parser.allow_abbrev = False
        arg_parser.error = fail
        arg_parser.epilog = EXAMPLE
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        _shorten_help(arg_parser)
        add = arg_parser.add_argument
        add("-O", dest="level", metavar="LEVEL", help="run the passes of level 0, 1, 2 or 3 before those of -p")
        add("--chip", metavar="NAME", default=DEFAULT_TARGET, help=f"chip of the level (default {DEFAULT_TARGET})")
        add("--print-pipeline", action="store_true", help="print the passes that would run, and stop")
        add("--explain", metavar="CODE", help="print what an error code means, such as GE1203, and stop")
        add("--list-passes", action="store_true", help="print every pass with a line about it, and stop")
        add("--print-ir-before", metavar="PASS", action="append", default=[], help="dump before a pass, or 'all'")
        add("--print-ir-after", metavar="PASS", action="append", default=[], help="dump after a pass, or 'all'")
        add("--print-ir-after-change", action="store_true", help="dump after each pass that changed something")
        add("--verify-each", action="store_true", help="verify after every pass, not only at the end")
        add(
            "--check-each-pass",
            action="store_true",
            help="run the graph after every pass, and name the first pass that changes the result",
        )
        add("--inputs", metavar="IN.npz", help="inputs of --check-each-pass (default: random)")
        add("--seed", metavar="N", type=int, help="of these random inputs (default 0)")
        add(
            "--tolerance",
            metavar="X",
            type=float,
            help="change of floats a pass may make, relative to the largest value "
            "(default 1e-5 for f32, 5e-3 for f16, 4e-2 for bf16, 1e-12 for f64)",
        )
        add("--pass-statistics", action="store_true", help="print what each pass added and removed")
        add(
            "--reproducer",
            metavar="FILE",
            help="where to write the reproducer of a failing pass (default: in the temporary folder)",
        )
        add("--input-shape", metavar="SHAPES", help='sizes of a model\'s unknown dims: "x:1,3,224,224;y:1,8"')
        add_switch_options(arg_parser)
        add_rule_options(arg_parser)

    # Pipeline

    def setup_pipeline(self) -> None:
        """Read the pipeline. Unknown passes and wrong options are usage errors."""
        args = self.args
        specs: list[str] = []
        self._rules()
        if args.level is not None:
            switches = switches_of(args)
            own = self.rules.names if self.rules is not None and (switches.disable or switches.enable) else ()
            specs = pipeline(args.level, target=args.chip, switches=switches, own=own)
        if self.args.passes:
            specs.append(_without_spaces(self.args.passes))
        if args.level is None and (unused := unused_switches(args)):
            raise usage_error(PROG, f"{unused[0]} is for the passes of a level: give -O as well")
        for option in ("inputs", "seed", "tolerance"):
            if getattr(args, option) is not None and not args.check_each_pass:
                raise usage_error(PROG, f"--{option} is for --check-each-pass: give it as well")
        if args.tolerance is not None and not args.tolerance >= 0:
            raise usage_error(PROG, f"--tolerance is {args.tolerance:g}, not 0 or more")
        if args.seed is not None and args.seed < 0:
            raise usage_error(PROG, f"--seed is {args.seed}, not 0 or more")
        if not specs and self.rules is not None and self.rules.loaded:  # they are what runs
            specs.append(alone(self.rules.loaded))
        if args.level is not None:
            from gedialect.patterns.session import RuleSession

            session = self.rules or RuleSession()
            try:
                check_names(switches_of(args), STEPS, lambda: session.extra)
            except UsageError as error:
                raise error.at(PROG) from None
        self.pipeline_text = ",".join(specs)
        for name in [*args.print_ir_before, *args.print_ir_after]:
            if name != "all" and name not in self.available_passes:
                raise unknown_pass(name, self.available_passes).at(PROG)
        self.steps = self._steps(self.pipeline_text)

    def _rules(self) -> None:
        """Load rules from files, and take note of what to tell about rules."""
        args = self.args
        if args.verify_rules is not None or args.dump_pdl or args.dump_rules:
            return
        if not (args.rules or args.debug_rule or args.trace_rules or args.rule_stats):
            return
        from gedialect.patterns.session import RuleSession, set_session

        loaded = load_all(args.rules)
        self.rules = RuleSession(loaded, tuple(args.debug_rule), args.trace_rules, args.rule_stats)
        try:
            self.rules.check_names(self.rules.extra)  # also where no pass applies rules
        except UsageError as error:
            raise error.at(PROG) from None
        assert isinstance(self.ctx, GeContext)
        set_session(self.ctx, self.rules)

    def _steps(self, text: str) -> tuple[ModulePass, ...]:
        try:
            specs = tuple(parse_pipeline(text))
        except ArgSpecParseError as error:
            lines = [line for line in str(error).split("\n")[2:] if line.strip()]
            raise UsageError(
                f"wrong pipeline: {lines[-1].strip() if lines else text}",
                code="GE1111",
                where=PROG,
                hint='write "pass-a,pass-b{option=1 other=true}"',
                details=tuple(lines[:2]),
            ) from None
        for spec in specs:
            if spec.name not in self.available_passes:
                raise unknown_pass(spec.name, self.available_passes).at(PROG)
        return tuple(self._step(spec) for spec in specs)

    def _step(self, spec: Any) -> ModulePass:
        cls = self.available_passes[spec.name]()
        try:
            return cls.from_spec(spec)
        except (ValueError, TypeError) as error:
            names = ", ".join(f.name.replace("_", "-") for f in dataclasses.fields(cls))
            hint = f"its options: {names}" if names else "it has no options"
            raise UsageError(
                f"wrong option of {spec.name}: {cap(str(error))}", code="GE1111", where=PROG, hint=hint
            ) from None

    # Run

    def execute(self) -> int:
        """Do what the command line asks; returns the exit code."""
        if self.args.explain is not None:
            print(explain(self.args.explain))
            return EXIT_OK
        if self.args.list_passes:
            print(pass_list.listing(self.available_passes))
            return EXIT_OK
        if (done := without_model(self.args)) is not None:
            return done
        if self.args.print_pipeline:
            print(",".join(str(step) for step in self.steps))
            return EXIT_OK
        chunks, extension = self.prepare_input()
        if not self._is_text(extension):  # weights stay in a model file; text is read to its end before it is replaced
            try:
                check_files(PROG, {"-o": self._output}, {"the model": self.args.input_file})
            except GeError:
                for chunk, _ in chunks:
                    chunk.close()
                raise
        results: list[str] = []
        wrong: list[str] = []
        for chunk, offset in chunks:
            with chunk:
                data = chunk.read() if self._is_text(extension) else None
            if self.args.verify_diagnostics and data is not None:
                result, lines = self._checked(data, extension, offset)
                wrong += lines
            else:
                result = self._unchecked(data, extension, offset)
            if result is not None:
                results.append(result)
        if wrong:
            print("\n".join(wrong), file=sys.stderr)
            return EXIT_ERROR
        self._write("// -----\n".join(results))
        if self.args.shrink:
            print("Failure, can't shrink")
            return EXIT_ERROR
        return EXIT_OK

    def _is_text(self, extension: str) -> bool:
        return parse_spec(self.args.frontend or extension).name == "mlir"

    def _unchecked(self, data: bytes | None, extension: str, offset: int) -> str | None:
        try:
            return self._one(data, extension, offset)
        except ShrinkException:
            if not self.args.shrink:
                raise
            print("Success, can shrink")
            raise SystemExit(EXIT_OK) from None
        except GeError as error:
            if self.args.parsing_diagnostics and error.code in ("GE1101", "GE1108"):
                return f"{error}\n"
            raise

    def _checked(self, data: bytes, extension: str, offset: int) -> tuple[str | None, list[str]]:
        """The result, if there is one, and what differs from the comments in the text."""
        wanted = expectations(data.decode("utf-8", "replace"), offset)
        errors: list[GeError] = []
        result: str | None = None
        try:
            result = self._one(data, extension, offset, errors)
        except GeError as error:
            errors.append(error)
        return result, mismatches(self.get_input_name(), wanted, errors)

    def _one(self, data: bytes | None, extension: str, offset: int, found: list[GeError] | None = None) -> str | None:
        """Parse, verify, run the passes and print. With ``found``, all findings of the verifier go there."""
        module = self._parse(data, extension, offset)
        out = Instrument(
            self._text,
            self._verify if self.args.verify_each and not self.args.disable_verify else None,
            Dumps(
                frozenset(self.args.print_ir_before),
                frozenset(["all"] if self.args.print_between_passes else self.args.print_ir_after),
                self.args.print_ir_after_change,
            ),
            self.args.time_passes,
            self.args.pass_statistics,
        )
        if found is not None and not self.args.disable_verify:
            found += [self._finding(f) for f in verifier.findings(module)]
            if found:
                return None
        elif not self.args.disable_verify:
            out.measure("verify input", lambda: self._verify(module))
        if self.args.check_each_pass:
            from gedialect.cli.pass_check import PassCheck, check_inputs

            try:
                given = check_inputs(module, self.args.inputs, self.args.seed or 0)
            except GeError as error:
                raise error.at(self.get_input_name()) from error.__cause__
            out.check = PassCheck(given, self.args.tolerance)
        try:
            out.run(self.ctx, module, self.steps)
            if self.steps and not self.args.disable_verify and not self.args.verify_each:
                out.measure("verify result", lambda: self._verify(module))
        except (Exception, ArgSpecParseError) as error:
            if isinstance(error, ShrinkException):
                raise
            raise self._failure(error, out, data, extension, offset, quiet=found is not None) from error
        text = self.output_resulting_program(module)
        text = text.rstrip("\n") + "\n" if text else text
        out.report(self.ctx)
        if self.rules is not None and self.rules.stats:
            sys.stderr.write(self.rules.statistics())
        return text

    def _parse(self, data: bytes | None, extension: str, offset: int) -> ModuleOp:
        name = self.get_input_name()
        if data is not None:
            spec = parse_spec(self.args.frontend or extension)
            implicit = not (self.args.no_implicit_module or "no-implicit-module" in spec.parameters)
            module, parser = parse_with(self.ctx, data, name, implicit, offset)
            self.positions = parser.positions(offset)
            folder = os.path.dirname(os.path.abspath(name)) if self.args.input_file else os.getcwd()
            if b"weight" in data or b"late" in data:  # else nothing names files, and the import takes time
                self.weight_folder(module, folder)
            if self.args.input_shape is not None:
                from gedialect.ir.input_shapes import parse_input_shapes
                from gedialect.transforms.specialize_shapes import specialize

                try:
                    specialize(module, parse_input_shapes(self.args.input_shape))
                except GeError as error:
                    raise error.at(name) from None
            return module
        try:
            with self._open(name) as handle:
                module = super().parse_chunk(handle, self._with_shape(extension), offset)
        except ParseError as error:
            raise parse_error(error) from None
        except GeError as error:
            raise error.at(name) from None
        assert module is not None
        return module

    def _with_shape(self, extension: str) -> str:
        shape = self.args.input_shape
        if shape is None or "{" in extension:
            return extension
        escaped = shape.replace("\\", "\\\\").replace('"', '\\"')
        return f'{extension}{{input-shape="{escaped}"}}'

    def weight_folder(self, module: ModuleOp, folder: str) -> None:
        """Weights named relative to the text file are found beside it; GE1019 for those it may not name."""
        from gedialect.ir.weights import STORE, check_names

        STORE.search_first(folder)
        check_names(module, folder, self.get_input_name())

    def _verify(self, module: ModuleOp) -> None:
        verifier.verify(module, file=self.get_input_name(), positions=self.positions)

    def _finding(self, finding: verifier.Finding) -> GeError:
        return verifier.finding_error(finding, file=self.get_input_name(), positions=self.positions)

    def _failure(
        self,
        error: BaseException,
        out: Instrument,
        data: bytes | None,
        extension: str,
        offset: int,
        *,
        quiet: bool,
    ) -> GeError:
        """The error of a failing pass, with a reproducer."""
        step = self.steps[out.running] if out.running >= 0 else None
        doing = f"pass {step.name}" if step is not None else None
        if isinstance(error, GeError):  # a wrong name or option is no fault of the model
            found = error.at(PROG if isinstance(error, UsageError) else self.get_input_name())
            if self.args.level is not None:
                found = say_left_out(found, switches_of(self.args), STEPS)
        elif isinstance(error, ParseError):
            found = parse_error(error)
        elif isinstance(error, DiagnosticException | ArgSpecParseError):
            found = GeError(
                f"{doing or 'the result'} failed: {cap(str(error), 300)}",
                code="GE1112",
                where=self.get_input_name(),
            )
        else:
            found = internal_error(error, where=self.get_input_name(), doing=doing)
        if step is not None and not quiet:
            found.details = (*found.details, f"in {doing}")
        if step is not None and not quiet and not isinstance(found, UsageError):
            from gedialect.cli.reproducer import write_reproducer

            note = write_reproducer(self, out.running, found, data, extension, offset)
            found.details = (*found.details[:-1], f"in {doing}; {note}")
        return found

    def replay(self, count: int, data: bytes | None, extension: str, offset: int) -> str:
        """The text of the module after the first ``count`` passes; used for the reproducer."""
        module = self._parse(data, extension, offset)
        for step in self.steps[:count]:
            step.apply(self.ctx, module)
        return self._text(module)

    def _text(self, module: ModuleOp) -> str:
        from io import StringIO

        from gedialect.ir.printer import UniquePrinter

        out = StringIO()
        UniquePrinter(
            stream=out,
            print_generic_format=self.args.print_op_generic,
            print_debuginfo=self.args.print_debuginfo,
        ).print_op(module)
        return out.getvalue() + "\n"

    # Files

    def get_input_name(self) -> str:
        name = self.args.input_file
        return "<stdin>" if name in (None, "-") else name

    def _open(self, name: str) -> IO[bytes]:
        try:
            return open(name, "rb")
        except OSError as error:
            raise open_error(name, error) from None

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file in (None, "-"):
            return BytesIO(sys.stdin.buffer.read()), "mlir"
        extension = os.path.splitext(self.args.input_file)[1].removeprefix(".")
        if self.args.frontend is None and extension not in self.available_frontends:
            kinds = ", ".join("." + name for name in sorted(self.available_frontends))
            raise UsageError(
                f"unknown kind of file {'.' + extension if extension else '(no extension)'}",
                code="GE1013",
                where=self.args.input_file,
                hint=f"known are {kinds}; or name its format with -f",
            )
        if os.path.isdir(self.args.input_file):
            raise GeError("is a folder", code="GE1002", where=self.args.input_file, hint="give a file")
        return self._open(self.args.input_file), extension

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        stream, extension = self.get_input_stream()
        if not self.args.split_input_file:
            return [(stream, 0)], extension
        with stream:
            parts = stream.read().split(SPLIT)
        chunks: list[tuple[IO[bytes], int]] = []
        line = 0
        for part in parts:
            chunks.append((BytesIO(part), line))
            line += part.count(b"\n")
        return chunks, extension

    @property
    def _output(self) -> str | None:
        return None if self.args.output_file in (None, "-") else self.args.output_file

    def _write(self, text: str) -> None:
        if self._output is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        with atomic_output(self._output) as name, open(name, "w", encoding="utf-8") as handle:
            handle.write(text)


def _shorten_help(arg_parser: argparse.ArgumentParser) -> None:
    """xDSL's help lists every pass, target and frontend; ours says where to find them."""
    texts = {
        "passes": 'passes to run: "pass-a,pass-b{option=1}"; --list-passes names them',
        "target": "form of the output (default mlir)",
        "frontend": "form of the input (default: by the file's extension)",
        "input_file": "MLIR text or a model; standard input if absent",
        "verify_diagnostics": "check errors against expected-error comments; exit 1 if they differ",
        "time_passes": "print the time of each pass",
        "version": "print the version",
    }
    for action in arg_parser._actions:
        if action.dest in texts:
            action.help = texts[action.dest]
        if action.dest == "version":
            setattr(action, "version_format", version_line(PROG))
