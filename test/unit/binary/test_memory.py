import pytest

from gedialect.binary.memory import WEIGHT_BASE, WORKSPACE_BASE, Arg, Memory
from gedialect.errors import GeError

MEMORY = Memory(workspace=1024, inputs=[64, 0, 512], outputs=[10], weights=2048)


def test_addresses():
    assert MEMORY.address(Arg("workspace", 8, 8)) == WORKSPACE_BASE + 8
    assert MEMORY.address(Arg("input", 0, 64)) == WORKSPACE_BASE + 1536
    assert MEMORY.address(Arg("input", 0, 0, 1)) == WORKSPACE_BASE + 2048
    assert MEMORY.address(Arg("output", 2, 8)) == WORKSPACE_BASE + 3584 + 2
    assert MEMORY.address(Arg("weight", 512, 1)) == WEIGHT_BASE + 512
    assert MEMORY.feature_map == 4096


@pytest.mark.parametrize("region", ["input", "output", "weight", "workspace"])
def test_every_place_resolves_to_itself(region: str):
    count = {"input": 3, "output": 1}.get(region, 1)
    for index in range(count):
        size = MEMORY.size(region, index)  # type: ignore[arg-type]
        for offset in {0, size // 2, size}:
            arg = Arg(region, offset, size - offset, index, "out")  # type: ignore[arg-type]
            assert MEMORY.resolve(MEMORY.address(arg), arg.nbytes, "out") == arg


@pytest.mark.parametrize(
    ("address", "nbytes"),
    [
        (0, 1),
        (WORKSPACE_BASE - 1, 1),
        (WORKSPACE_BASE + 1024, 1),
        (WORKSPACE_BASE + 1000, 25),
        (WORKSPACE_BASE + 2048, 1),
        (WORKSPACE_BASE + 4096, 0),
        (WEIGHT_BASE + 2048, 1),
        ((1 << 64) - 1, (1 << 64) - 1),
    ],
)
def test_outside(address: int, nbytes: int):
    with pytest.raises(GeError) as error:
        MEMORY.resolve(address, nbytes)
    assert error.value.code == "GE1308"


def test_args_are_checked():
    for arg in (Arg("input", 0, 1, 3), Arg("input", 0, 65), Arg("workspace", -1, 1), Arg("output", 0, 1, -1)):
        with pytest.raises(GeError):
            MEMORY.address(arg)


def test_too_large():
    Memory(59 << 30, [], [], 1 << 40).check()
    with pytest.raises(GeError) as error:
        Memory(60 << 30, [], [], 0).check()
    assert error.value.code == "GE1310"
