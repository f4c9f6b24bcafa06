"""Hostile files: every reader ends in success or a ``GeError`` with a code of its own, in bounded time and memory.

A ``Target`` has a corpus of sound files, a way to change them that keeps enough structure to reach deeper layers, and
a ``run`` that does with a file what a user would. ``judge`` names what came of it: ``ok``, an error code, or a fault
(any other exception, an internal error, a file left behind). ``bench/fuzz.py`` drives this.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import io
import json
import os
import re
import struct
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast
from zlib import crc32

import numpy as np

from gedialect.binary import kernel_codec
from gedialect.binary.om import OmFile, from_bytes, to_bytes
from gedialect.errors import GeError
from gedialect.testing import fuzz_mutators as change

Corpus = Sequence[bytes]
INTERNAL = {"GE1901", "GE1902", "GE1903"}
"""Codes that say the fault is ours."""
MAX_INPUT = 1 << 20
"""Bytes of all inputs up to which a model that was loaded is run."""


class Fault(Exception):
    """Something is wrong although no exception came."""


@dataclass(frozen=True)
class Target:
    """``corpus(rng, limit)`` gives files to start from, ``mutate`` one change of such a file."""

    name: str
    suffix: str
    corpus: Callable[[Random, int], list[bytes]]
    mutate: Callable[[bytes, Random, Corpus], bytes]
    run: Callable[[str, str, int], None]
    """Gets the file, an empty folder, and a number that chooses among what could be done with the file."""


def mutated(target: Target, rng: Random, corpus: Corpus) -> bytes:
    """A file of the corpus after one to five changes."""
    data = rng.choice(corpus)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        data = target.mutate(data, rng, corpus)
    return data


def judge(target: Target, data: bytes, *, trace: bool = False) -> str:
    """What came of the file: "ok", an error code, or "FAULT ..."; ``trace`` prints where a fault came from."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in" + target.suffix)
        with open(path, "wb") as file:
            file.write(data)
        out = os.path.join(folder, "out")
        os.mkdir(out)
        verdict = _verdict(target, path, out, crc32(data), trace)
        left = os.listdir(out)
        if verdict != "ok" and left and not verdict.startswith("FAULT"):
            return f"FAULT {verdict} left {sorted(left)[0]}"
        return verdict


def _verdict(target: Target, path: str, out: str, number: int, trace: bool) -> str:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            target.run(path, out, number)
    except GeError as error:
        if trace:
            traceback.print_exception(error)
        # where a run needs more memory than there is, the error says for what
        if error.code in INTERNAL or (error.code == "GE1905" and error.message == "out of memory"):
            cause = error.__cause__ or error
            return f"FAULT {error.code} {type(cause).__name__} {_place(cause)}: {error.message[:160]}"
        return error.code
    except Exception as error:
        if trace:
            traceback.print_exception(error)
        return f"FAULT {type(error).__name__} {_place(error)}: {str(error).partition(chr(10))[0][:160]}"
    return "ok"


def _place(error: BaseException) -> str:
    """The innermost line of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if re.search(r"[/\\](gedialect|lowering)[/\\]", f.filename)] or frames
    own = [f for f in own if not f.filename.endswith("fuzzing.py")] or own
    last = own[-1]
    where = "/".join(last.filename.replace("\\", "/").split("/")[-2:])
    return f"{where}:{last.lineno} {last.name}"


def _sample(rng: Random, items: list[Any], limit: int) -> list[Any]:
    return items if len(items) <= limit else rng.sample(items, limit)


# ---------------------------------------------------------------- ONNX
def node_models(limit: int = 20_000) -> list[str]:
    """The small models of the onnx package, one for each case of each operator."""
    import onnx

    root = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    found = glob.glob(os.path.join(root, "*", "*", "model.onnx"))
    return sorted(f for f in found if os.path.getsize(f) <= limit)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _onnx_corpus(rng: Random, limit: int) -> list[bytes]:
    return [_read(f) for f in _sample(rng, node_models(), limit)] + [_external_model()]


def _external_model() -> bytes:
    """A model with weights in another file, in raw bytes and in a list."""
    from onnx import TensorProto, helper

    outside = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "in.onnx"), ("offset", "0"), ("length", "16")):
        outside.external_data.add(key=key, value=value)
    raw = helper.make_tensor("r", 1, [512], bytes(2048), raw=True)
    floats = helper.make_tensor("f", 1, [512], [0.5] * 512)
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Gather", ["r", "i"], ["b"]),
        helper.make_node("Add", ["r", "f"], ["c"]),
    ]
    values = {n: helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [4]), ("a", [4]), ("b", [2]), ("c", [512]))}
    index = helper.make_tensor("i", 7, [2], [0, 1])
    graph = helper.make_graph(
        nodes, "g", [values["x"]], [values["a"], values["b"], values["c"]], [outside, raw, floats, index]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def _onnx_mutate(data: bytes, rng: Random, corpus: Corpus) -> bytes:
    import onnx

    if rng.random() < 0.1:
        return change.mutate_bytes(data, rng, corpus)
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # protobuf's own class is not exported everywhere
        return change.mutate_bytes(data, rng, corpus)
    if rng.random() < 0.1:
        _graft(model, rng, corpus)
    else:
        change.mutate_message(model, rng, change.strings_of(model))
    return model.SerializeToString()


def _graft(model: Any, rng: Random, corpus: Corpus) -> None:
    """A node of another model, reading and writing names of this one."""
    import onnx

    try:
        other = onnx.ModelProto.FromString(rng.choice(corpus))
    except Exception:  # as above
        return
    if not other.graph.node or not model.graph.node:
        return
    node = rng.choice(list(other.graph.node))
    names = [n for old in model.graph.node for n in (*old.input, *old.output)]
    for i in range(len(node.input)):
        if names and rng.random() < 0.8:
            node.input[i] = rng.choice(names)
    model.graph.node.insert(rng.randrange(len(model.graph.node) + 1), node)


def _onnx_run(path: str, out: str, number: int) -> None:
    """ge-import; the text it writes is sound."""
    from gedialect import api
    from gedialect.cli import ge_import

    text = os.path.join(out, "out.mlir")
    ge_import.command([path, "-o", text])
    try:
        module = api.import_source(text)
    except GeError as error:
        raise Fault(f"the imported text is wrong: {error}") from error
    if number % 4 == 0:
        os.remove(text)
        _compile_and_run(module, path, Random(number))


# ---------------------------------------------------------------- text
def _texts(rng: Random, limit: int) -> list[str]:
    """The texts of the tests, cut where ge-opt cuts them, and some imported models."""
    from gedialect import api

    root = os.path.join(os.path.dirname(__file__), "..", "..", "test", "filecheck")
    files = sorted(glob.glob(os.path.join(root, "**", "*.mlir"), recursive=True))
    found: list[str] = []
    for name in _sample(rng, files, limit):
        parts = _read(name).decode("utf-8", "replace").split("// -----")
        found += [p for p in _sample(rng, parts, max(1, limit // 4)) if len(p) < 8000]
    for name in _sample(rng, node_models(2000), limit // 2):
        with contextlib.suppress(GeError):
            found.append(str(api.import_source(name)))
    return found


def _text_mutate(data: bytes, rng: Random, corpus: Corpus) -> bytes:
    """Half of the changes are made in the IR, with result types that follow, so that most of it verifies."""
    if rng.random() < 0.03:
        return change.mutate_bytes(data, rng, corpus)
    if rng.random() < 0.5 and (text := _graph_mutate(data, rng)) is not None:
        return text.encode("utf-8", "replace")
    return _token_mutate(data, rng, corpus)


def _token_mutate(data: bytes, rng: Random, corpus: Corpus) -> bytes:
    other = rng.choice(corpus).decode("utf-8", "replace")
    return change.mutate_text(data.decode("utf-8", "replace"), rng, [other]).encode("utf-8", "replace")


def _graph_mutate(data: bytes, rng: Random) -> str | None:
    """The text after one change of an op; None if it is no text of a graph."""
    from gedialect.analysis.graph import graph_function
    from gedialect.dialects.ge.base import GeOp
    from gedialect.ir.context import GeContext
    from gedialect.ir.parser import parse_module
    from gedialect.transforms._propagate import propagate

    try:
        module = parse_module(GeContext(), data)
        function = graph_function(module)
        ops = [op for op in function.walk() if isinstance(op, GeOp)]
        if not ops:
            return None
        op = rng.choice(ops)
        match rng.randrange(4):
            case 0 if op.operands:
                before = [r for o in ops[: ops.index(op)] for r in o.results] + list(function.body.block.args)
                op.operands[rng.randrange(len(op.operands))] = rng.choice(before)
            case 1 if function.body.block.args:
                change.mutate_type(rng.choice(list(function.body.block.args)), rng)
            case 2 if op.results and not op.operands:
                change.mutate_type(op.results[0], rng)
            case _:
                names = [n for n in op.properties if n != "operandSegmentSizes"]
                if names:
                    name = rng.choice(names)
                    op.properties[name] = change.mutate_attribute(op.properties[name], rng)
        with contextlib.suppress(GeError):
            propagate(function, infer=True, folding=False)
        return str(module)
    except Exception:  # what was changed need not be anything that prints
        return None


def _text_run(path: str, out: str, number: int) -> None:
    """ge-opt alone, with passes or at a level; or the interpreter; or compiled and run."""
    from gedialect import api, interpreter
    from gedialect.analysis.graph import graph_function
    from gedialect.api.sources import unknown_sizes
    from gedialect.cli import ge_opt
    from gedialect.dialects.ge.attrs import ON_HOST
    from gedialect.ir.spec import spec_of

    rng = Random(number)
    kind = rng.randrange(6)
    if kind < 4:
        options = ([], ["-p", _passes(rng)], ["-O2"], ["-O1"])[kind]
        ge_opt.command([path, "-o", os.path.join(out, "out.mlir"), "--reproducer", path + ".failed", *options])
        return
    module = api.import_source(path)
    function = graph_function(module)
    if unknown := unknown_sizes(module):
        module = api.import_source(path, {n: [1 if d < 0 else d for d in s] for n, s in unknown.items()})
        function = graph_function(module)
    types = dict(zip(interpreter.input_names(function), function.function_type.inputs, strict=True))
    values = any(isinstance(t, ON_HOST) for t in types.values())
    inputs = None if values else _inputs({n: spec_of(t) for n, t in types.items()}, rng)
    if kind == 4:
        if inputs is not None:
            interpreter.run(module, inputs)
        return
    _compile_and_run(module, path, rng)


def _compile_and_run(module: Any, path: str, rng: Random) -> None:
    """Through an OM beside ``path``, at any level."""
    from gedialect import api
    from gedialect.analysis.graph import graph_function
    from gedialect.dialects.ge.attrs import ON_HOST
    from gedialect.interpreter import input_names
    from gedialect.ir.spec import spec_of

    function = graph_function(module)
    types = dict(zip(input_names(function), function.function_type.inputs, strict=True))
    executable = api.build(module, api.Settings(rng.choice(("O0", "O1", "O2"))))
    executable.save(path + ".om")
    try:
        loaded = api.load(path + ".om")
    except GeError as error:
        raise Fault(f"the file that was written does not load: {error}") from error
    if not any(isinstance(t, ON_HOST) for t in types.values()):
        inputs = _inputs({n: spec_of(t) for n, t in types.items()}, rng)
        if inputs is not None:
            loaded.run(inputs)


def _passes(rng: Random) -> str:
    from gedialect.ir.registry import pass_factories

    names = sorted(n for n in pass_factories() if n not in ("tune-kernels",))
    chosen = [rng.choice([*names, "canonicalize", "cse", "dce"]) for _ in range(rng.choice((1, 1, 2, 4)))]
    return ",".join(chosen)


def _inputs(specs: Any, rng: Random) -> dict[str, Any] | None:
    """Arrays of these names, element types and shapes; None where they are too large to be worth it."""
    items = dict(specs)
    if any(not s.is_static for s in items.values()) or sum(s.nbytes for s in items.values()) > MAX_INPUT:
        return None
    random: Any = np.random.default_rng(rng.randrange(1 << 30))
    return {n: np.asarray(random.integers(0, 3, s.shape)).astype(s.dtype.numpy) for n, s in items.items()}


# ---------------------------------------------------------------- OM
def _om_corpus(rng: Random, limit: int) -> list[bytes]:
    """Compiled models: each kind of kernel, host tasks, branches, sizes that come from data."""
    from gedialect import api

    found: list[bytes] = []
    names = node_models(4000)
    rng.shuffle(names)
    wanted = [n for n in names if any(f"test_{k}" in n for k in ("if", "loop", "conv", "matmul", "nonzero", "softmax"))]
    for name in [*_sample(rng, wanted, limit // 2 + 1), *names]:
        if len(found) >= limit:
            break
        with contextlib.suppress(GeError):
            executable = api.compile(name, level=rng.choice(("O0", "O2")))
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.om")
                executable.save(path)
                found.append(_read(path))
    return found


def _om_mutate(data: bytes, rng: Random, corpus: Corpus) -> bytes:
    kind = rng.randrange(10)
    try:
        om = from_bytes(data)
    except GeError:
        return change.mutate_bytes(data, rng, corpus)
    if kind < 1:
        raw = change.mutate_bytes(data, rng, corpus)
        # the size the header states is the first thing checked
        return raw[:224] + struct.pack("<Q", max(len(raw) - 256, 0)) + raw[232:] if rng.random() < 0.5 else raw
    try:
        return to_bytes(_changed(om, kind, rng, corpus))
    except (GeError, OverflowError, ValueError, struct.error):
        return data  # the change does not fit the format


def _changed(om: OmFile, kind: int, rng: Random, corpus: Corpus) -> OmFile:
    if kind < 4:
        change.mutate_message(om.model, rng, change.strings_of(om.model))
    elif kind < 7:
        change.mutate_message(om.tasks, rng, [*om.kernels, *change.strings_of(om.tasks)])
    elif kind < 9 and om.kernels:
        name = rng.choice(sorted(om.kernels))
        om.kernels[name] = _kernel(om.kernels[name], rng)
    elif rng.random() < 0.5:
        om.kernels = dict(rng.sample(sorted(om.kernels.items()), len(om.kernels) // 2))
    else:
        part = om.inputs if rng.random() < 0.5 else om.outputs
        if part:
            at = rng.randrange(len(part))
            part[at] = replace(part[at], shape=tuple(rng.choice(change.INTEGERS) % (1 << 62) for _ in range(2)))
    return om


def _kernel(data: bytes, rng: Random) -> bytes:
    """A changed kernel with a right checksum."""
    if rng.random() < 0.6:
        with contextlib.suppress(Exception):
            return kernel_codec.encode(change.mutate_dataclass(kernel_codec.decode(data), rng))
    body = data[:6] + change.mutate_bytes(data[6:-4], rng, ())
    return body + struct.pack("<I", crc32(body))


def _om_run(path: str, out: str, number: int) -> None:
    """ge-run: load, and run on small inputs."""
    from gedialect import api
    from gedialect.ir.spec import Spec

    executable = api.load(path)
    rng = Random(number)
    if isinstance(executable, api.ChainExecutable):
        return
    infos: Any = executable._model.inputs  # pyright: ignore[reportPrivateUsage]
    if any(t.dtype is None for t in infos):
        return
    inputs = _inputs({t.name: Spec(t.dtype, t.shape) for t in infos}, rng)
    if inputs is None:
        return
    executable.run(inputs, sanitize=bool(number & 1))
    if number & 2:
        executable.timing()
    executable.save(os.path.join(out, "again.om"))


# ---------------------------------------------------------------- rules, switches, arrays
_INPUTS = ("test", "filecheck", "patterns", "Inputs")


def _rule_corpus(suffix: str) -> Callable[[Random, int], list[bytes]]:
    def corpus(rng: Random, limit: int) -> list[bytes]:
        root = os.path.join(os.path.dirname(__file__), "..", "..", *_INPUTS)
        found = [_read(f) for f in sorted(glob.glob(os.path.join(root, "*" + suffix)))]
        if suffix != ".json":
            found += [t.encode() for t in _catalogue(suffix)]
        return found

    return corpus


@functools.cache
def _catalogue(suffix: str) -> list[str]:
    """Rules of the catalogue, in the format of the suffix where it can say them."""
    from gedialect.patterns.catalogue import all_rules
    from gedialect.patterns.formats.pdl_export import dump_pdl
    from gedialect.patterns.formats.text_printer import print_rules

    found: list[str] = []
    for rule in all_rules():
        with contextlib.suppress(GeError):
            text = print_rules([rule]) if suffix == ".rules" else dump_pdl([rule])
            if suffix == ".rules" or "pdl.pattern" in text:
                found.append(text)
    return found


def _json_mutate(data: bytes, rng: Random, corpus: Corpus) -> bytes:
    if rng.random() < 0.3:
        return _token_mutate(data, rng, corpus)
    try:
        whole: object = json.loads(data)
        return json.dumps(change.mutate_json(whole, rng)).encode()
    except (ValueError, RecursionError, TypeError):
        return _token_mutate(data, rng, corpus)


_GRAPH = """\
func.func @main(%x: tensor<4x8xf32> {ge.name = "x"}, %y: tensor<4x8xf32> {ge.name = "y"})
    -> (tensor<4x8xf32> {ge.name = "y"}) {
  %c = ge.constant #ge.splat<2.0> : tensor<f32>
  %0 = ge.add(%x, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ge.mul(%0, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = ge.relu(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
"""


def _rules_run(path: str, out: str, number: int) -> None:
    """ge-opt --rules on a small graph."""
    from gedialect.cli import ge_opt

    model = path + ".model.mlir"
    with open(model, "w", encoding="utf-8") as file:
        file.write(_GRAPH)
    more = (["--dump-rules"], ["--dump-pdl"], [], [])[number % 4]
    ge_opt.command(
        [model, "--rules", path, "-o", os.path.join(out, "out.mlir"), "--reproducer", path + ".failed", *more]
    )


def _switch_corpus(rng: Random, limit: int) -> list[bytes]:
    from gedialect.switches import GE_PASSES

    names = sorted(GE_PASSES)
    lines = "\n".join(f"{n}:{rng.choice(('on', 'off'))}  # one" for n in _sample(rng, names, 8))
    whole = {"Switch": {"GraphFusion": {"ALL": "off", names[0]: "on"}, "UBFusion": {names[-1]: "off"}}}
    return [lines.encode(), json.dumps(whole, indent=1).encode(), b"layer_norm_add_gelu:off\nconv2d_scale:off\n"]


def _switches_run(path: str, out: str, number: int) -> None:
    """ge-opt -O2 --fusion-switch-file on a small graph."""
    from gedialect.cli import ge_opt

    model = path + ".model.mlir"
    with open(model, "w", encoding="utf-8") as file:
        file.write(_GRAPH)
    options = ["--fusion-switch-file", path, f"-O{number % 3}", "--reproducer", path + ".failed"]
    ge_opt.command([model, "-o", os.path.join(out, "out.mlir"), *options])


def _npz_corpus(rng: Random, limit: int) -> list[bytes]:
    ones = np.ones((4, 8), np.float32)
    cases: list[dict[str, Any]] = [
        {"x": ones, "y": ones},
        {"in:x": ones, "in:y": ones.T.copy().T, "out:y": ones},
        {"x": ones.astype(np.float16), "y": np.array(["a", "b"])},
        {"x": np.zeros((), [("a", "<f4"), ("b", "<i8", 2)]), "y": np.zeros(0)},
    ]
    found: list[bytes] = []
    for case in cases:
        for save in (np.savez, np.savez_compressed):
            out = io.BytesIO()
            save(out, **cast("Any", case))
            found.append(out.getvalue())
    return found


def _npz_mutate(data: bytes, rng: Random, corpus: Corpus) -> bytes:
    """Members are changed with right checksums: the header as text, now and then the data."""
    if rng.random() < 0.3:
        return change.mutate_bytes(data, rng, corpus)
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            members = [(i.filename, old.read(i)) for i in old.infolist()]
            at = rng.randrange(len(members))
            for i, (name, content) in enumerate(members):
                if i == at:
                    name, content = _member(name, content, rng)
                new.writestr(name, content, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    except Exception:  # zipfile raises nearly every type on damaged bytes
        return change.mutate_bytes(data, rng, corpus)
    return out.getvalue()


def _member(name: str, content: bytes, rng: Random) -> tuple[str, bytes]:
    if rng.random() < 0.2:
        return change.mutate_text(name, rng, ["in:x.npy", "out:y.npy", "../z.npy", "x"]) or "x", content
    if rng.random() < 0.3 or len(content) < 12:
        return name, change.mutate_bytes(content, rng, ())
    size = int.from_bytes(content[8:10], "little")
    header = content[10 : 10 + size].decode("latin-1")
    header = change.mutate_text(header, rng, [header, "'|O'", "'<c16'", "(1, 4611686018427387904)", "'M8[s]'"])
    raw = header.encode("latin-1", "replace")[:65535]
    return name, content[:8] + len(raw).to_bytes(2, "little") + raw + content[10 + size :]


def _npz_run(path: str, out: str, number: int) -> None:
    """ge-run of a small graph, the interpreter; now and then with --check npz."""
    from gedialect.cli import ge_run

    model = path + ".model.mlir"
    with open(model, "w", encoding="utf-8") as file:
        file.write(_GRAPH)
    check = ["--check", "npz"] if number & 1 else []
    ge_run.command([model, "--inputs", path, "--outputs", os.path.join(out, "out.npz"), *check])


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        Target("onnx", ".onnx", _onnx_corpus, _onnx_mutate, _onnx_run),
        Target("text", ".mlir", lambda rng, limit: [t.encode() for t in _texts(rng, limit)], _text_mutate, _text_run),
        Target("om", ".om", _om_corpus, _om_mutate, _om_run),
        Target("rules", ".rules", _rule_corpus(".rules"), _token_mutate, _rules_run),
        Target("json", ".json", _rule_corpus(".json"), _json_mutate, _rules_run),
        Target("pdl", ".pdl.mlir", _rule_corpus(".pdl.mlir"), _token_mutate, _rules_run),
        Target("switches", ".cfg", _switch_corpus, _json_mutate, _switches_run),
        Target("npz", ".npz", _npz_corpus, _npz_mutate, _npz_run),
    )
}
