import io
import mmap
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gedialect.binary import kernel_store, om
from gedialect.binary.om import OmFile, from_bytes, read_om, to_bytes, write_om
from gedialect.binary.protos.ge import ModelDef
from gedialect.binary.weights import Span
from gedialect.errors import GeError
from gedialect.runtime.loader import load_om

Make = Callable[[], OmFile]


def parts_of(data: bytes) -> list[tuple[int, int, int]]:
    """(type, offset in file, size), read independently of the reader."""
    count, _ = struct.unpack_from("<II", data, 256)
    base = 264 + 24 * count
    entries = [struct.unpack_from("<IIQQ", data, 264 + 24 * i) for i in range(count)]
    return [(kind, base + offset, size) for kind, _, offset, size in entries]


def test_header_and_table(sample: Make):
    data = to_bytes(sample())
    assert data[:4] == b"IMOD"
    assert struct.unpack_from("<II", data, 4) == (256, 0x20000000)
    assert data[84:92] == b"sample\0\0"
    assert struct.unpack_from("<I", data, 156) == (1,)
    assert struct.unpack_from("<Q", data, 184) == (len(data) - 256,)
    assert struct.unpack_from("<I", data, 76) == (0,)
    assert data[194:256] == bytes(62)
    parts = parts_of(data)
    assert [kind for kind, _, _ in parts] == [8, 0, 1, 3, 2]
    ends = [start + size for _, start, size in parts]
    assert ends[:-1] == [start for _, start, _ in parts[1:]]
    assert ends[-1] == len(data)
    counts_of_the_loader = {base + extra for base in (1, 3, 4, 5) for extra in range(4)}
    assert len(parts) in counts_of_the_loader


def test_nothing_optional_leaves_three_partitions():
    data = to_bytes(OmFile("m", ModelDef()))
    assert [kind for kind, _, _ in parts_of(data)] == [8, 0, 2]


def test_same_input_same_bytes_and_round_trip(sample: Make, tmp_path: Path):
    path = tmp_path / "m.om"
    data = to_bytes(sample())
    assert write_om(sample(), path) == len(data)
    assert path.read_bytes() == data == to_bytes(sample())
    again = read_om(path)
    assert to_bytes(again) == data
    assert again.kernels == sample().kernels
    assert (again.inputs, again.outputs) == (sample().inputs, sample().outputs)
    assert [p.name for p in tmp_path.iterdir()] == ["m.om"]


def test_weights_stay_mapped(sample: Make, tmp_path: Path):
    write_om(sample(), tmp_path / "m.om")
    view = read_om(tmp_path / "m.om").weights.view(0, 64)
    assert isinstance(view.obj, mmap.mmap)
    assert view.cast("f").tolist() == [float(i) for i in range(16)]


def test_other_partitions_survive(sample: Make):
    file = sample()
    file.extra = {12: b"tiling", 4: b"aicpu"}
    data = to_bytes(file)
    assert [kind for kind, _, _ in parts_of(data)] == [12, 8, 0, 1, 3, 4, 2]
    assert to_bytes(from_bytes(data)) == data


def test_long_names_are_cut_at_a_character(sample: Make):
    file = sample()
    file.name = "ä" * 40
    data = to_bytes(file)
    assert data[84:116] == ("ä" * 15).encode() + bytes(2)


def test_large_weights_are_streamed(tmp_path: Path):
    """A sparse file of 5 GB as weights: offsets beyond 32 bits, memory stays small (only header and table checked)."""
    big = tmp_path / "big.bin"
    with open(big, "wb") as file:
        file.truncate(5 << 30)
    om_file = OmFile("m", ModelDef())
    om_file.weights.add(Span(str(big), 0, 5 << 30))
    written: list[int] = []

    class Sink:
        head = b""

        def write(self, data: bytes) -> int:
            if len(self.head) < 512:
                self.head += bytes(data[:512])
            written.append(memoryview(data).nbytes)
            if sum(written) > 1 << 24:
                raise InterruptedError
            return written[-1]

    sink = Sink()
    with pytest.raises(InterruptedError):
        om.write_stream(om_file, sink)  # type: ignore[arg-type]
    assert max(written) <= 1 << 20
    parts = parts_of(sink.head)
    assert parts[2][0] == 1
    assert parts[2][2] == (5 << 30) + 512
    assert parts[3][1] == parts[2][1] + parts[2][2]


def test_cannot_write(sample: Make, tmp_path: Path):
    (tmp_path / "dir.om").mkdir()
    for path in (tmp_path / "none" / "m.om", tmp_path / "dir.om"):
        with pytest.raises(GeError) as error:
            write_om(sample(), path)
        assert error.value.code == "GE1012"
        assert error.value.where == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["dir.om"]


def test_failure_leaves_the_old_file(sample: Make, tmp_path: Path):
    path = tmp_path / "m.om"
    path.write_bytes(b"old")
    gone = tmp_path / "gone.bin"
    gone.write_bytes(bytes(9000))
    bad = sample()
    bad.weights.add(Span(str(gone), 0, 9000))
    gone.unlink()
    with pytest.raises(GeError) as error:
        write_om(bad, path)
    assert error.value.code == "GE1002"
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 1


def test_cannot_read(tmp_path: Path):
    (tmp_path / "empty.om").write_bytes(b"")
    for path, code in ((tmp_path / "none.om", "GE1002"), (tmp_path, "GE1002"), (tmp_path / "empty.om", "GE1301")):
        with pytest.raises(GeError) as error:
            read_om(path)
        assert error.value.code == code
        assert error.value.where == str(path)


def patched(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def damaged(data: bytes) -> Iterator[tuple[str, bytes, str, str]]:
    parts = {kind: (start, size) for kind, start, size in parts_of(data)}
    table = 264
    u32, u64 = (lambda v: struct.pack("<I", v)), (lambda v: struct.pack("<Q", v))
    kernels, inout, model = parts[3][0], parts[8][0], parts[0][0]
    yield "short", data[:100], "GE1301", "100 bytes"
    yield "magic", patched(data, 0, b"PICO"), "GE1301", "IMOD"
    yield "head size", patched(data, 4, u32(300)), "GE1302", "300"
    yield "version", patched(data, 8, u32(7)), "GE1302", "version"
    yield "encrypted", patched(data, 80, b"\1"), "GE1302", "encrypted"
    yield "flow model", patched(data, 82, b"\3"), "GE1302", "type 3"
    yield "sub-models", patched(data, 156, u32(4)), "GE1302", "4 sub-models"
    yield "cut", data[:-1], "GE1302", "states"
    yield "longer", data + b"x", "GE1302", "states"
    yield "longer, stated", patched(data + b"x", 184, u64(len(data) - 255)), "GE1303", "1 bytes after"
    yield "count 0", patched(data, 256, u32(0)), "GE1303", "0 partitions"
    yield "count huge", patched(data, 256, u32(0xFFFFFFFF)), "GE1303", "4294967295"
    yield "unknown type", patched(data, table, u32(31)), "GE1303", "unknown type"
    yield "same type", patched(data, table, u32(0)), "GE1303", "second of its type"
    yield "no model", patched(data, table + 24, u32(9)), "GE1303", "no MODEL_DEF"
    yield "overlap", patched(data, table + 32, u64(0)), "GE1303", "overlaps"
    yield "gap", patched(data, table + 32, u64(1 << 60)), "GE1303", "gap"
    yield "size", patched(data, table + 4 * 24 + 16, u64(1 << 63)), "GE1303", "are left"
    yield "model garbage", patched(data, model, b"\xff" * 8), "GE1305", "protobuf"
    yield "task garbage", patched(data, parts[2][0], b"\xff" * 8), "GE1307", "protobuf"
    yield "kernel magic", patched(data, kernels, b"\0"), "GE1306", "magic"
    yield "kernel length", patched(data, kernels + 8, u32(0xFFFFFFFF)), "GE1306", "are left"
    yield "kernel name", patched(data, kernels + 12, b"\xff"), "GE1306", "UTF-8"
    yield "in/out length", patched(data, inout + 4, u32(0xFFFFFFF)), "GE1304", "are left"
    yield "in/out count", patched(data, inout + 8, u32(0xFFFFFFF)), "GE1304", "cannot fit"
    yield "in/out name", patched(data, inout + 12 + 16, u32(0xFFFFFFF)), "GE1304", "do not fit"
    yield "in/out count less", patched(data, inout + 8, u32(0)), "GE1304", "after the last tensor"


def test_damage_is_named(sample: Make):
    data = to_bytes(sample())
    for what, bad, code, words in damaged(data):
        with pytest.raises(GeError) as error:
            from_bytes(bad)
        assert error.value.code == code, what
        assert words in str(error.value), what


def test_kernel_store_cut():
    kernels = {"a": b"12345", "b": b""}
    stored = store(kernels)
    assert kernel_store.read(memoryview(stored)) == kernels
    assert kernel_store.size(kernels) == len(stored)
    ends = {0, 12 + 1 + 5, len(stored)}
    for end in set(range(len(stored))) - ends:
        with pytest.raises(GeError) as error:
            kernel_store.read(memoryview(stored)[:end])
        assert error.value.code == "GE1306"
    with pytest.raises(GeError, match="second kernel of the name a"):
        kernel_store.read(memoryview(stored + stored))


def store(kernels: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    kernel_store.write(kernels, out)
    return out.getvalue()


def attempt(data: bytes) -> bool:
    """Whether the file loads; anything but a GeError of the OM range is a failure of the test."""
    try:
        load_om(from_bytes(data))
    except GeError as error:
        if not error.code.startswith("GE13"):
            raise
        return False
    return True


def test_truncations(sample: Make):
    data = to_bytes(sample())
    for end in range(0, len(data), 7):
        assert not attempt(data[:end])
        if end >= 264:  # with the length corrected, so that later checks see it
            attempt(patched(data[:end], 184, struct.pack("<Q", end - 256)))


def test_damaged_bytes(sample: Make):
    """Every outcome is a model or a GeError; the weights' bytes may be anything, headers and tables may not."""
    data = to_bytes(sample())
    rng = random.Random(1)
    outcomes = {True: 0, False: 0}
    for _ in range(4000):
        bad = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 3, 20))):
            at = rng.randrange(len(bad)) if rng.random() < 0.8 else rng.randrange(256, 400)
            bad[at] = rng.choice((0, 0xFF, bad[at] ^ (1 << rng.randrange(8))))
        outcomes[attempt(bytes(bad))] += 1
    assert min(outcomes.values()) > 100
