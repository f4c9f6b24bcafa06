"""Faults that hostile files had found: each is an error with a code now, at once, and takes no memory."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gedialect
from gedialect import api
from gedialect.cli import ge_import, ge_opt
from gedialect.errors import GeError, UsageError
from gedialect.frontends.onnx import import_model
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.verifier import verify
from gedialect.ir.weights import SEARCH_VARIABLE, may_name
from gedialect.patterns.formats import load_rules


def fails(text: str, code: str, *words: str) -> GeError:
    start = time.process_time()
    with pytest.raises(GeError) as caught:
        verify(parse_module(GeContext(), text))
    assert time.process_time() - start < 5
    assert caught.value.code == code, caught.value
    for word in words:
        assert word in str(caught.value)
    return caught.value


# ---------------------------------------------------------------- text
@pytest.mark.parametrize("end", ["", "§", "\0", '"'])
def test_blanks_before_what_is_no_token(end: str):
    fails("func.func @main() {" + "\n \n" * 200 + end, "GE1101")
    fails("func.func @main() {" + "\n // \n" * 200 + end, "GE1101")


@pytest.mark.parametrize(
    "literal",
    ["dense<(1.0, 2.0, 3.0)>", "dense<[(1.0, 2.0], [1.0]>", "dense<(1.0)>", "dense<(>"],
)
def test_malformed_complex_numbers(literal: str):
    fails(f'"test.op"() {{a = {literal} : tensor<1xcomplex<f32>>}} : () -> ()', "GE1101")


@pytest.mark.parametrize("width", ["16777216", "99999999999", "9" * 5000])
@pytest.mark.parametrize(
    "form",
    [
        "func.func private @f(i{})",
        "func.func private @f(tensor<2xsi{}>)",
        "func.func private @f() attributes {{a = 1 : ui{}}}",
    ],
)
def test_integer_types_of_any_width(width: str, form: str):
    fails(form.format(width), "GE1101", "at most 16777215 bits")


def test_integer_types_as_wide_as_in_mlir():
    parse_module(GeContext(), "func.func private @f(i16777215)")


def test_bytes_of_half_an_element():
    fails(
        'func.func @main() {\n%c = ge.constant dense<"0x00000000FF"> : tensor<1xf32>\nfunc.return\n}',
        "GE1101",
        "5 bytes",
    )


CONV = """func.func @main(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {{
  %y = ge.conv2d(%x, %w) {{strides = {strides}, pads = {pads}, dilations = {dilations}, groups = {groups},
    data_format = "{format}"}} : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x6x6xf32>
  func.return
}}"""
GOOD = {"strides": "[1, 1]", "pads": "[0, 0, 0, 0]", "dilations": "[1, 1]", "groups": "1", "format": "NCHW"}


def test_the_convolution_itself():
    verify(parse_module(GeContext(), CONV.format(**GOOD)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"strides": "[0, 1]"}, {"strides": "[-1, 1]"}, {"strides": "[]"}, {"dilations": "[0, 1]"}, {"groups": "0"},
        {"dilations": "[-1, 1]"}, {"pads": "[0.5, 0.5, 0.5, 0.5]"}, {"pads": "[0]"}, {"format": "XXXX"},
        {"strides": "[9223372036854775807, 1]"}, {"format": ""}, {"groups": "true"}, {"groups": '"1"'},
    ],
)  # fmt: skip
def test_attributes_that_make_no_sense(wrong: dict[str, str]):
    if wrong == {"groups": "true"}:  # as good as 1
        verify(parse_module(GeContext(), CONV.format(**GOOD | wrong)))
    else:
        fails(CONV.format(**GOOD | wrong), "GE1104")


def test_lists_of_strings():
    text = """func.func @main(%x: !ge.text) -> !ge.text {
      %y = ge.text_normalize(%x) {action = "LOWER", case_sensitive = true, stopwords = WORDS} : (!ge.text) -> !ge.text
      func.return %y : !ge.text
    }"""
    for words in ("[]", '["a"]', '["a", "b"]'):
        module = parse_module(GeContext(), text.replace("WORDS", words))
        verify(module)
        assert str(parse_module(GeContext(), str(module))) == str(module)
    fails(text.replace("WORDS", '["a", 1]'), "GE1101", "strings and numbers")
    fails(text.replace("WORDS", '[1, "a"]'), "GE1101", "strings and numbers")
    fails(text.replace("WORDS", "[1]"), "GE1104")


TWO_BLOCKS = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
^next(%y: tensor<4xf32>):
  func.return %y : tensor<4xf32>
}
"""


def test_functions_of_several_blocks(tmp_path: Path):
    """Passes leave them alone, and they are no graph."""
    path, out = tmp_path / "a.mlir", tmp_path / "out.mlir"
    path.write_text(TWO_BLOCKS + "func.func private @declared(tensor<4xf32>)\n")
    passes = "integer-products,expand-ops,group-kernels,convert-precision,fold-constants,infer-shapes,fold-control"
    assert ge_opt.main([str(path), "-p", passes, "-o", str(out)]) == 0
    with pytest.raises(GeError) as caught:
        gedialect.compile(str(path))
    assert caught.value.code == "GE1109"


@pytest.mark.parametrize("size", ["?", "0"])
def test_groups_written_by_hand(size: str, tmp_path: Path):
    t = f"tensor<{size}x4xf32>"
    path = tmp_path / "a.mlir"
    path.write_text(
        f"func.func @main(%x: {t}) -> {t} {{\n%f = ge.fusion(%a = %x : {t}) -> ({t}) {{\n"
        f"%r = ge.relu(%a) : ({t}) -> {t}\nge.yield %r : {t}\n}}\nfunc.return %f : {t}\n}}"
    )
    with pytest.raises(GeError) as caught:
        ge_opt.command([str(path), "-p", "select-kernels", "--reproducer", str(tmp_path / "r.mlir")])
    assert caught.value.code == "GE1206"


@pytest.mark.parametrize(
    ("op", "attrs", "code"),
    [
        ("cumsum", {"axis": 7, "exclusive": False, "reverse": False}, "GE1005"),
        ("cumsum", {"axis": "x", "exclusive": False, "reverse": False}, "GE1005"),
        ("tile", {"multiples": (1 << 40,)}, "GE1905"),
    ],
)  # fmt: skip
def test_values_an_op_fails_on(op: str, attrs: dict[str, object], code: str):
    """What an OM or a text says of an op may be anything."""
    from gedialect.dialects.ge import op_class
    from gedialect.dialects.ge.base import Attrs

    x = np.ones(64, np.float32)
    operands = [x, None] if op == "tile" else [x]
    with pytest.raises(GeError) as caught:
        op_class(op).evaluated(Attrs(attrs), *operands)
    assert caught.value.code == code
    assert f"ge.{op}" in str(caught.value)


# ---------------------------------------------------------------- rules
def test_pdl_that_reads_what_comes_later(tmp_path: Path):
    path = tmp_path / "a.pdl.mlir"
    path.write_text("""pdl.pattern @p : benefit(1) {
      %t = pdl.type
      %r = pdl.result 0 of %o
      %o = pdl.operation "ge.relu" (%x : !pdl.value) -> (%t : !pdl.type)
      %x = pdl.operand
      pdl.rewrite %o { pdl.replace %o with (%x : !pdl.value) }
    }""")
    with pytest.raises(GeError) as caught:
        load_rules(path)
    assert caught.value.code == "GE1115"
    assert "defined later" in str(caught.value)


# ---------------------------------------------------------------- ONNX
def model(nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize(
    ("op", "attribute", "value"),
    [
        ("Constant", "value", "text"), ("Constant", "value", 3), ("Constant", "value_floats", [1]),
        ("Constant", "value_int", 1.5), ("ConstantOfShape", "value", "text"), ("Cast", "to", "FLOAT"),
        ("Cast", "to", [1]), ("LpNormalization", "p", "two"), ("LpNormalization", "p", [2.0]),
    ],
)  # fmt: skip
def test_attributes_of_another_kind(op: str, attribute: str, value: object):
    node = helper.make_node(op, [] if op == "Constant" else ["x"], ["y"], **{attribute: value})
    with pytest.raises(GeError) as caught:
        import_model(model([node]))
    assert caught.value.code == "GE1005"
    assert attribute in str(caught.value)


@pytest.mark.parametrize("recurrent", [{"activations": [1.0]}, {"activation_alpha": ["a"]}, {"activations": "Tanh"}])
def test_attributes_of_recurrent_ops_of_another_kind(recurrent: dict[str, object]):
    weights = [helper.make_tensor(n, 1, s, np.zeros(s, np.float32)) for n, s in (("w", [1, 4, 2]), ("r", [1, 4, 4]))]
    node = helper.make_node("RNN", ["x", "w", "r"], ["y"], hidden_size=4, **recurrent)
    x = helper.make_tensor_value_info("x", 1, [3, 1, 2])
    graph = helper.make_graph([node], "g", [x], [helper.make_tensor_value_info("y", 1, None)], weights)
    with pytest.raises(GeError) as caught:
        import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert caught.value.code == "GE1005"


def test_names_that_are_no_text(tmp_path: Path):
    """protobuf reads them, and fails where a name is first asked for."""
    data = model([helper.make_node("Relu", ["x"], ["y"], name="NAMENAME")]).SerializeToString()
    for place in (b"NAMENAME", b"Relu"):
        path = tmp_path / "m.onnx"
        path.write_bytes(data.replace(place, b"\xff" * len(place)))
        with pytest.raises(GeError) as caught:
            ge_import.command([str(path), "-o", str(tmp_path / "out.mlir")])
        assert caught.value.code == "GE1003"
        assert "UTF-8" in str(caught.value)
        assert str(path) in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


# ---------------------------------------------------------------- OM
def relu(dtype: str = "f32") -> api.Executable:
    t = f"tensor<4x{dtype}>"
    text = f'func.func @main(%x: {t} {{ge.name = "x"}}) -> ({t} {{ge.name = "y"}}) {{\n'
    op = "ge.relu(%x)" if dtype == "f32" else "ge.identity(%x)"
    return api.compile_module(parse_module(GeContext(), text + f"%y = {op} : ({t}) -> {t}\nfunc.return %y : {t}\n}}"))


@pytest.mark.parametrize("dtype", ["f32", "f8E4M3FN"])
def test_a_loaded_file_can_be_written_again(dtype: str, tmp_path: Path):
    """Also with an element type that GE has no number for."""
    relu(dtype).save(tmp_path / "a.om")
    api.load(tmp_path / "a.om").save(tmp_path / "b.om")
    assert (tmp_path / "a.om").read_bytes() == (tmp_path / "b.om").read_bytes()


def test_types_of_inputs_that_disagree(tmp_path: Path):
    from dataclasses import replace

    from gedialect.binary.om import read_om, write_om
    from gedialect.ir import dtypes

    relu().save(tmp_path / "a.om")
    for other in (dtypes.I32, None):
        om = read_om(tmp_path / "a.om")
        om.inputs[0] = replace(om.inputs[0], dtype=other)
        write_om(om, tmp_path / "b.om")
        with pytest.raises(GeError) as caught:
            api.load(tmp_path / "b.om")
        assert caught.value.code == "GE1309"


@pytest.mark.parametrize("path", [None, 3, [], "", "a\0b", object()])
def test_no_path(path: object, tmp_path: Path):
    for call in (
        lambda: gedialect.load(path),  # type: ignore[arg-type]
        lambda: relu().save(path),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="is the name of a file") as caught:
            call()
        assert caught.value.code == "GE1001"


# ---------------------------------------------------------------- weights
WEIGHT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %w = ge.constant #ge.weight<"{}", 0, 8> : tensor<2xf32>
  %y = ge.add(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}}"""


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """a/secret, a/m.onnx, text/w, text/deep/w; the current folder is elsewhere."""
    for name in ("a/secret", "a/m.onnx", "text/w", "text/deep/w", "cwd/here"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(np.ones(2, np.float32).tobytes())
    (tmp_path / "text" / "link").symlink_to(tmp_path / "a" / "secret")
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.delenv(SEARCH_VARIABLE, raising=False)
    return tmp_path


def attempt(folders: Path, name: str) -> str | None:
    """None if the text may read the file, by both ways that read texts; else the code."""
    path = folders / "text" / "t.mlir"
    path.write_text(WEIGHT.format(name.format(folders)))
    codes: list[str | None] = []
    for read in (
        lambda: api.import_source(path),
        lambda: ge_opt.command([str(path), "-o", str(folders / "out.mlir"), "-p", "fold-constants"]),
    ):
        try:
            read()
            codes.append(None)
        except GeError as error:
            codes.append(error.code if SEARCH_VARIABLE in str(error) else str(error))
    assert codes[0] == codes[1]
    return codes[0]


@pytest.mark.parametrize("name", ["w", "deep/w", "./w", "deep/../w", "{}/text/w", "here", "{}/a/m.onnx", "../a/m.onnx"])
def test_weights_a_text_may_name(folders: Path, name: str):
    assert attempt(folders, name) is None
    module = api.import_source(folders / "text" / "t.mlir")
    np.testing.assert_array_equal(
        gedialect.compile(module).run([np.zeros(2, np.float32)])["result0"], np.ones(2, np.float32)
    )


@pytest.mark.parametrize("name", ["../a/secret", "{}/a/secret", "/etc/passwd", "deep/../../a/secret", "link"])
def test_weights_a_text_may_not_name(folders: Path, name: str):
    assert attempt(folders, name) == "GE1019"


def test_more_folders_are_trusted_by_name(folders: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(SEARCH_VARIABLE, f"{folders}/nowhere:{folders}/a")
    assert attempt(folders, "{}/a/secret") is None
    assert attempt(folders, "link") is None
    assert attempt(folders, "/etc/passwd") == "GE1019"
    assert may_name("a\0b", str(folders))  # there is no such file


def test_ge_import_writes_only_what_can_be_read_again(folders: Path):
    """External data with a name that does not look like weights, and the text in another folder."""
    tensor = TensorProto(name="w", data_type=1, dims=[512], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="secret")
    m = model([helper.make_node("Gather", ["w", "i"], ["y"])])
    m.graph.initializer.extend([tensor, helper.make_tensor("i", 7, [4], [0, 1, 2, 3])])
    (folders / "a" / "secret").write_bytes(bytes(2048))
    (folders / "a" / "e.onnx").write_bytes(m.SerializeToString())
    with pytest.raises(GeError) as caught:
        ge_import.command([str(folders / "a" / "e.onnx"), "-o", str(folders / "text" / "e.mlir")])
    assert caught.value.code == "GE1019"
    assert not (folders / "text" / "e.mlir").exists()
    assert ge_import.main([str(folders / "a" / "e.onnx"), "-o", str(folders / "a" / "e.mlir")]) == 0
    api.import_source(folders / "a" / "e.mlir")


# ---------------------------------------------------------------- memory
HUGE = """func.func @main(%x: tensor<4xf32> {ge.name = "x"}) -> (TYPE {ge.name = "y"}) {
  %c = ge.constant #ge.splat<1.5> : TYPE
  func.return %c : TYPE
}"""


def limited(*command: str) -> subprocess.CompletedProcess[str]:
    """A command with 4 GB of address space."""
    code = "import resource, sys, importlib; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); "
    code += "sys.exit(importlib.import_module('gedialect.cli.' + sys.argv[1]).main(sys.argv[2:]))"
    return subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_constant_the_memory_does_not_hold_compiles(level: str, tmp_path: Path):
    """8 GB of one value: in the file it is one number, and only running it needs the memory."""
    path, om, given = tmp_path / "a.mlir", tmp_path / "a.om", tmp_path / "x.npz"
    path.write_text(HUGE.replace("TYPE", "tensor<32768x65536xf32>"))
    np.savez(given, x=np.zeros(4, np.float32))
    done = limited("ge_compile", str(path), "-o", str(om), level)
    assert done.returncode == 0, done.stderr
    assert om.stat().st_size < 1 << 16
    done = limited("ge_run", str(om), "--inputs", str(given), "--outputs", str(tmp_path / "y.npz"))
    assert done.returncode == 1
    assert "error GE1905: out of memory: a run needs 8589934592 bytes" in done.stderr
    assert not (tmp_path / "y.npz").exists()


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize(
    "type_", ["tensor<700x300xf32>", "tensor<300000xf16>", "tensor<400000xi64>", "tensor<2000000xi1>"]
)
def test_a_large_constant_result_is_made_in_the_run(level: str, type_: str, tmp_path: Path):
    value = "1" if "xi" in type_ else "1.5"
    text = HUGE.replace("TYPE", type_).replace("1.5", value)
    executable = api.compile_module(parse_module(GeContext(), text), api.Settings(level))
    executable.save(tmp_path / "a.om")
    assert (tmp_path / "a.om").stat().st_size < 1 << 16
    got = executable.run([np.zeros(4, np.float32)])["y"]
    assert (got == float(value)).all()


def test_the_interpreter_says_what_needs_the_memory():
    from gedialect.interpreter import run

    t = "tensor<2097152x2097152xf32>"
    text = f"func.func @main(%x: tensor<1xf32>) -> {t} {{\n%c = ge.constant #ge.splat<1.5> : {t}\n"
    text += f"%y = ge.add(%c, %x) : ({t}, tensor<1xf32>) -> {t}\nfunc.return %y : {t}\n}}"
    with pytest.raises(GeError) as caught:
        run(parse_module(GeContext(), text), [np.zeros(1, np.float32)])
    assert caught.value.code == "GE1905"
    assert "ge.add" in str(caught.value)


# ---------------------------------------------------------------- small models that stand for much
def i64(name: str, *values: int) -> TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def refused(nodes: list[onnx.NodeProto], weights: list[TensorProto], code: str) -> None:
    m = model(nodes)
    m.graph.initializer.extend(weights)
    start = time.process_time()
    with pytest.raises(GeError) as caught:
        import_model(m)
    assert caught.value.code == code
    assert time.process_time() - start < 2


def test_functions_that_call_each_other_eight_times():
    """2 kB that stand for 8 ** 12 nodes."""
    functions: list[onnx.FunctionProto] = []
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    for i in range(13):
        names = ["x", *(f"a{j}" for j in range(7)), "y"]
        op, domain = (f"F{i + 1}", "d") if i < 12 else ("Relu", "")
        calls = [helper.make_node(op, [a], [b], domain=domain) for a, b in itertools.pairwise(names)]
        functions.append(helper.make_function("d", f"F{i}", ["x"], ["y"], calls, opsets))
    m = model([helper.make_node("F0", ["x"], ["y"], domain="d")])
    del m.opset_import[:]
    m.opset_import.extend(opsets)
    m.functions.extend(functions)
    with pytest.raises(GeError) as caught:
        import_model(m)
    assert caught.value.code == "GE1008"
    assert "more than 65536 nodes" in str(caught.value)


def test_constants_that_a_node_stands_for():
    eye = [helper.make_node("ConstantOfShape", ["s"], ["z"]), helper.make_node("EyeLike", ["z"], ["y"])]
    refused(eye, [i64("s", 1 << 18, 1 << 18)], "GE1009")
    numbers = [helper.make_tensor(n, 1, [], [v]) for n, v in (("e", 0.0), ("f", 4000.0))]
    mel = [helper.make_node("MelWeightMatrix", ["a", "b", "c", "e", "f"], ["y"])]
    scalars = [helper.make_tensor(n, 7, [], [v]) for n, v in (("a", 1 << 20), ("b", 1 << 20), ("c", 8000))]
    refused(mel, [*scalars, *numbers], "GE1009")


@pytest.mark.parametrize(
    ("nodes", "weights"),
    [
        ([helper.make_node("Range", ["a", "b", "c"], ["r"]), helper.make_node("ReduceMax", ["r"], ["y"])],
         [helper.make_tensor(n, 1, [], [v]) for n, v in (("a", 0.0), ("b", 1e9), ("c", 1.0))]),
        ([helper.make_node("Resize", ["x", "", "s"], ["y"])], [helper.make_tensor("s", 1, [1], [1e9])]),
        ([helper.make_node("ConstantOfShape", ["s"], ["z"]), helper.make_node("Neg", ["z"], ["y"])], [i64("s", 1 << 31)]),
    ],
)  # fmt: skip
def test_what_is_large_is_made_in_the_run(nodes: list[onnx.NodeProto], weights: list[TensorProto], tmp_path: Path):
    """A file of 300 bytes compiles without gigabytes."""
    m = model(nodes)
    m.graph.initializer.extend(weights)
    del m.graph.output[0].type.tensor_type.shape.dim[:]
    m.graph.output[0].type.tensor_type.ClearField("shape")
    (tmp_path / "m.onnx").write_bytes(m.SerializeToString())
    for level in ("-O0", "-O2"):
        done = limited("ge_compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.om"), level)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "m.om").stat().st_size < 1 << 16


def test_a_concat_of_thousands():
    """No kernel has thousands of arguments; working out their order would take minutes."""
    m = model([helper.make_node("Concat", ["x"] * 3000, ["y"], axis=0)])
    m.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 12000
    start = time.process_time()
    executable = gedialect.compile(m)
    assert time.process_time() - start < 10
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(executable.run([x])["y"], np.tile(x, 3000))


def test_numbers_of_thousands_of_digits(tmp_path: Path):
    number = "9" * 6000
    (tmp_path / "a.json").write_text(f'{{"Rules": [{number}]}}')
    with pytest.raises(GeError) as caught:
        load_rules(tmp_path / "a.json")
    assert caught.value.code == "GE1115"
    from gedialect.switches import read_switch_file

    (tmp_path / "a.cfg").write_text(f'{{"Switch": {{"GraphFusion": {{"a": {number}}}}}}}')
    with pytest.raises(GeError) as caught:
        read_switch_file(str(tmp_path / "a.cfg"))
    assert caught.value.code == "GE1018"


def test_constants_of_another_kind_stay_operands():
    """Complex numbers where sizes are due."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<?x?xf32> {
      %s = ge.constant dense<(2.0, 0.0)> : tensor<2xcomplex<f32>>
      %y = ge.reshape(%x, %s) : (tensor<4xf32>, tensor<2xcomplex<f32>>) -> tensor<?x?xf32>
      func.return %y : tensor<?x?xf32>
    }"""
    from gedialect.transforms.fold_constants import FoldConstants

    module = parse_module(GeContext(), text)
    FoldConstants().apply(GeContext(), module)
    assert "ge.reshape(%x, %s)" in str(module)


@pytest.mark.parametrize(
    ("op", "attrs", "shape"),
    [
        ("LRN", {"size": 0}, (1, 3, 4, 4)),
        ("LpNormalization", {"p": 0}, (2, 3)),
        ("LpPool", {"p": 0, "kernel_shape": [2, 2]}, (1, 3, 4, 4)),
        ("LpPool", {"kernel_shape": [2, 2], "strides": [0, 1]}, (1, 3, 4, 4)),
    ],
)
def test_attributes_that_make_no_sense_are_the_node_s_fault(op: str, attrs: dict[str, Any], shape: tuple[int, ...]):

    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], name="n", **attrs)],
        "g",
        [helper.make_tensor_value_info("x", 1, shape)],
        [onnx.ValueInfoProto(name="y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    with pytest.raises(GeError, match="node n") as caught:
        api.compile(model)
    assert caught.value.code == "GE1005"
