"""Kernels that treat an axis as a whole, and kernels that write by index; sanitizer on."""

from __future__ import annotations

import numpy as np
import pytest

from gedialect.testing.agree import check_levels


def function(inputs: dict[str, str], op: str, results: list[str]) -> str:
    """``op`` (with attributes) of all inputs."""
    args = ", ".join(f'%{n}: tensor<{t}> {{ge.name = "{n}"}}' for n, t in inputs.items())
    names = ", ".join(f"%{n}" for n in inputs)
    types = ", ".join(f"tensor<{t}>" for t in inputs.values())
    outs = ", ".join(f"tensor<{t}>" for t in results)
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    name, _, attrs = op.partition(" ")
    return f"""func.func @main({args}) -> ({outs}) {{
      {values} = {name}({names}) {attrs} : ({types}) -> ({outs})
      func.return {values} : {outs} }}"""


@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
@pytest.mark.parametrize("last", ["true", "false"])
@pytest.mark.parametrize(("axis", "result"), [(0, "1x40x6"), (1, "3x1x6"), (-1, "3x40x1")])
def test_positions_of_extremes(op: str, last: str, axis: int, result: str) -> None:
    attrs = f"{{dimension = {axis}, keep_dims = true, select_last_index = {last}}}"
    for dtype in ("f32", "f16", "i32"):
        check_levels(function({"x": f"3x40x6x{dtype}"}, f"ge.{op} {attrs}", [f"{result}xi64"]), ("O0", "O2"))


@pytest.mark.parametrize(("axis", "result"), [(0, "2x50x6"), (1, "3x2x6"), (-1, "3x50x2")])
@pytest.mark.parametrize("largest", ["true", "false"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i64"])
def test_topk(axis: int, result: str, largest: str, dtype: str) -> None:
    op = f"ge.topk {{k = 2, dim = {axis}, largest = {largest}, sorted = true}}"
    check_levels(function({"x": f"3x50x6x{dtype}"}, op, [f"{result}x{dtype}", f"{result}xi64"]), ("O0", "O2"))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("exclusive", "reverse"), [("false", "false"), ("true", "false"), ("true", "true")])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i64"])
def test_running_sums(axis: int, exclusive: str, reverse: str, dtype: str) -> None:
    op = f"ge.cumsum {{axis = {axis}, exclusive = {exclusive}, reverse = {reverse}}}"
    check_levels(function({"x": f"5x70x3x{dtype}"}, op, [f"5x70x3x{dtype}"]), ("O0", "O2"))


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("axis", [0, -1])
def test_hardmax(axis: int, dtype: str) -> None:
    check_levels(function({"x": f"3x40x6x{dtype}"}, f"ge.hardmax {{axis = {axis}}}", [f"3x40x6x{dtype}"]), ("O0", "O2"))


@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize(("dim", "index"), [(0, "9x5x7"), (1, "4x3x7"), (2, "4x5x1"), (1, "2x9x6")])
def test_elements_by_index(dim: int, index: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    shape = [int(d) for d in index.split("x")]
    n = (4, 5, 7)[dim]
    inputs = {
        "x": rng.normal(size=(4, 5, 7)).astype(np.float32),
        "i": rng.integers(-n, n, shape).astype(np.int32 if kind == "i32" else np.int64),
    }
    text = function({"x": "4x5x7xf32", "i": f"{index}x{kind}"}, f"ge.gather_elements {{dim = {dim}}}", [f"{index}xf32"])
    check_levels(text, ("O0", "O2"), inputs=inputs)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize(("axis", "index"), [(0, "9x5x7"), (1, "4x3x7"), (2, "4x5x2")])
def test_scattered_elements(axis: int, index: str, reduction: str) -> None:
    rng = np.random.default_rng(2)
    shape = [int(d) for d in index.split("x")]
    n = (4, 5, 7)[axis]
    inputs = {
        "x": rng.normal(size=(4, 5, 7)).astype(np.float32),
        "i": rng.integers(-n, n, shape),
        "u": rng.normal(size=shape).astype(np.float32),
    }
    types = {"x": "4x5x7xf32", "i": f"{index}xi64", "u": f"{index}xf32"}
    op = f'ge.scatter_elements {{axis = {axis}, reduction = "{reduction}"}}'
    check_levels(function(types, op, ["4x5x7xf32"]), ("O0", "O2"), inputs=inputs)


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize(("depth", "updates"), [(1, "6x5x700"), (2, "6x700"), (3, "6")])
def test_scattered_rows(depth: int, updates: str, reduction: str) -> None:
    rng = np.random.default_rng(3)
    limits = np.array([4, 5, 700])[:depth]
    inputs = {
        "x": rng.normal(size=(4, 5, 700)).astype(np.float32),
        "i": rng.integers(-limits, limits, (6, depth)),
        "u": rng.normal(size=[int(d) for d in updates.split("x")]).astype(np.float32),
    }
    types = {"x": "4x5x700xf32", "i": f"6x{depth}xi64", "u": f"{updates}xf32"}
    op = f'ge.scatter_nd {{reduction = "{reduction}"}}'
    check_levels(function(types, op, ["4x5x700xf32"]), ("O0", "O2"), inputs=inputs)


@pytest.mark.parametrize(
    ("batch", "index", "result"), [(0, "6x2", "6x3x8"), (1, "4x6x1", "4x6x3x8"), (0, "2x3x3", "2x3x8")]
)
def test_gather_nd(batch: int, index: str, result: str) -> None:
    rng = np.random.default_rng(4)
    shape = [int(d) for d in index.split("x")]
    limits = np.array([4, 5, 3, 8])[batch : batch + shape[-1]]
    inputs = {"x": rng.normal(size=(4, 5, 3, 8)).astype(np.float32), "i": rng.integers(-limits, limits, shape)}
    text = function(
        {"x": "4x5x3x8xf32", "i": f"{index}xi64"}, f"ge.gather_nd {{batch_dims = {batch}}}", [f"{result}xf32"]
    )
    check_levels(text, ("O0", "O2"), inputs=inputs)


@pytest.mark.parametrize(
    ("axis", "batch", "index", "result"), [(1, 1, "4x6", "4x6x3x8"), (2, 1, "4x6", "4x5x6x8"), (3, 2, "4x5x2", "4x5x3x2"),
                                           (-1, 0, "2x2", "4x5x3x2x2")]
)  # fmt: skip
def test_gather_with_batches(axis: int, batch: int, index: str, result: str) -> None:
    rng = np.random.default_rng(5)
    shape = [int(d) for d in index.split("x")]
    n = (4, 5, 3, 8)[axis]
    for kind in ("i64", "i32"):
        given = rng.integers(-n, n, shape).astype(np.int32 if kind == "i32" else np.int64)
        inputs = {"x": rng.normal(size=(4, 5, 3, 8)).astype(np.float32), "i": given}
        op = f"ge.gather {{axis = {axis}, batch_dims = {batch}}}"
        check_levels(
            function({"x": "4x5x3x8xf32", "i": f"{index}x{kind}"}, op, [f"{result}xf32"]), ("O0", "O2"), inputs=inputs
        )


def test_tiles_that_a_search_proposes() -> None:
    # at O3 a tile may be larger than its axis: [1, 4] lines where there are 3
    op = "ge.cumsum {axis = 1, exclusive = false, reverse = false}"
    check_levels(function({"x": "5x2x3xf32"}, op, ["5x2x3xf32"]), ("O3",))


@pytest.mark.parametrize("last", ["false", "true"])
@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
def test_search_of_a_line_that_no_buffer_holds(op: str, last: str) -> None:
    """In pieces, the greatest first; equal values and NaN lie in several of them."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(5, 40000)).astype(np.float32), 1)
    x[0, [9, 17000, 39999]] = np.nan
    x[1, 39998] = np.nan
    x[2] = -np.inf
    check_levels(
        f"""func.func @main(%x: tensor<5x40000xf32> {{ge.name = "x"}}) -> tensor<5x1xi64> {{
          %y = ge.{op}(%x) {{dimension = 1, keep_dims = true, select_last_index = {last}}} : (tensor<5x40000xf32>) -> tensor<5x1xi64>
          func.return %y : tensor<5x1xi64> }}""",
        inputs={"x": x},
    )


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("largest", ["true", "false"])
def test_topk_of_a_line_that_no_buffer_holds(axis: int, largest: str) -> None:
    """The first of each piece, then the first of those: equal values stay in order."""
    rng = np.random.default_rng(1)
    shape, result = ((9000, 2), "7x2") if axis == 0 else ((2, 9000), "2x7")
    x = np.round(rng.normal(size=shape).astype(np.float32), 1)
    x.reshape(-1)[[5, 8000, 17999]] = np.nan
    text = "x".join(map(str, shape)) + "xf32"
    check_levels(
        f"""func.func @main(%x: tensor<{text}> {{ge.name = "x"}}) -> (tensor<{result}xf32>, tensor<{result}xi64>) {{
          %v, %i = ge.topk(%x) {{k = 7, dim = {axis}, largest = {largest}, sorted = true}}
            : (tensor<{text}>) -> (tensor<{result}xf32>, tensor<{result}xi64>)
          func.return %v, %i : tensor<{result}xf32>, tensor<{result}xi64> }}""",
        inputs={"x": x},
    )


@pytest.mark.parametrize("exclusive", ["true", "false"])
@pytest.mark.parametrize("reverse", ["true", "false"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
def test_running_sums_of_a_line_that_no_buffer_holds(exclusive: str, reverse: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    kind = {"f32": np.float32, "f16": np.float16, "i32": np.int32}[dtype]
    x = (rng.integers(-9, 10, (2, 40001)) if dtype == "i32" else rng.normal(size=(2, 40001)) * 0.01).astype(kind)
    check_levels(
        f"""func.func @main(%x: tensor<2x40001x{dtype}> {{ge.name = "x"}}) -> tensor<2x40001x{dtype}> {{
          %y = ge.cumsum(%x) {{axis = 1, exclusive = {exclusive}, reverse = {reverse}}}
            : (tensor<2x40001x{dtype}>) -> tensor<2x40001x{dtype}>
          func.return %y : tensor<2x40001x{dtype}> }}""",
        ("O0", "O2"),
        inputs={"x": x},
    )
