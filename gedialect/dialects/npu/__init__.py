"""The npu dialect: kernels that move tiles and drive the pipes of a core."""

from xdsl.ir import Dialect

from .instructions import OPS, InstrOp
from .ops import AllocOp, CubeOp, ForOp, FunctionOp, KernelOp, VectorOp, ViewOp
from .types import ArgsAttr, GmType, LinearAttr, LinearForm, StridesAttr, Tile, TileType

NPU = Dialect(
    "npu",
    [KernelOp, VectorOp, CubeOp, ForOp, AllocOp, ViewOp, *OPS.values()],
    [TileType, GmType, LinearAttr, StridesAttr, ArgsAttr],
)

__all__ = [
    "NPU",
    "OPS",
    "AllocOp",
    "ArgsAttr",
    "CubeOp",
    "ForOp",
    "FunctionOp",
    "GmType",
    "InstrOp",
    "KernelOp",
    "LinearAttr",
    "LinearForm",
    "StridesAttr",
    "Tile",
    "TileType",
    "VectorOp",
    "ViewOp",
]
