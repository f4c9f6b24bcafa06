"""Random ge graphs with views, multiple uses, unread results, constants and several outputs."""

from __future__ import annotations

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from gedialect.dialects.ge.builder import GeBuilder
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import Spec, spec_of, tensor_type


def module_of(inputs: list[Spec], build) -> ModuleOp:
    """A module whose @main takes ``inputs`` and returns what ``build(builder, *arguments)`` lists."""
    block = Block(arg_types=[tensor_type(s) for s in inputs])
    outputs = build(GeBuilder(block), *block.args)
    block.add_op(ReturnOp(*outputs))
    function = FuncOp("main", ([a.type for a in block.args], [v.type for v in outputs]), Region(block))
    return ModuleOp([function])


@st.composite
def graphs(draw, max_ops: int = 30) -> ModuleOp:
    """Graphs of f32 tensors of 24 to 3000 elements; always valid."""
    pick = lambda items: items[draw(st.integers(0, len(items) - 1))]  # noqa: E731
    shapes = [(2, 12), (4, 60), (10, 300), (24,)]

    def build(b: GeBuilder, *args):
        values = list(args)
        values.append(b.splat(0.5, F32, pick(shapes)))
        for _ in range(draw(st.integers(1, max_ops))):
            x = pick(values[-8:])
            shape = spec_of(x.type).shape
            match draw(st.integers(0, 6)):
                case 0:
                    values.append(b.exp(x))
                case 1:
                    same = [v for v in values if spec_of(v.type).shape == shape]
                    values.append(b.add(x, pick(same)))
                case 2:
                    flat = spec_of(x.type).size
                    values.append(
                        b.reshape(x, shape=pick([[flat], [1, flat], [2, flat // 2] if flat % 2 == 0 else [flat, 1]]))
                    )
                case 3 if shape[0] % 2 == 0:
                    values.extend(b.split(x, split_dim=0, size_splits=[shape[0] // 2] * 2))
                case 4:
                    values.append(b.concat([x, x], concat_dim=0) if spec_of(x.type).size < 20000 else b.exp(x))
                case 5:
                    values.append(b.splat(0.25, F32, shape))
                case _:
                    values.append(b.transpose(x, perm=list(reversed(range(len(shape))))))
        return [pick(values[-10:]) for _ in range(draw(st.integers(1, 4)))]

    return module_of([Spec(F32, pick(shapes)) for _ in range(draw(st.integers(1, 3)))], build)
