"""Logs of Inspect are read in seconds, sample by sample: the committed log, which Inspect wrote, many times over."""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from . import isolated

SAMPLE = Path(__file__).parents[1] / "tests" / "harnesses" / "samples" / "inspect.eval"
SIZES, TINY_SIZES = (100_008, 400_008), (240, 480)  # multiples of the 24 in the log
_ZSTD, _FULL = 93, 0xFFFFFFFF

_READ = """
import time
start, cpu = time.perf_counter(), time.process_time()
from otherwords.harnesses import read_log
table = read_log(sys.argv[1])
report(rows=table.height, wall=time.perf_counter() - start, cpu=time.process_time() - cpu, table=table.estimated_size())
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    sizes, found = TINY_SIZES if tiny else SIZES, []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "large.eval"
            write_log(log, size)
            found.append({**isolated.run(_READ, str(log)), "bytes": log.stat().st_size})
            assert found[-1]["rows"] == size // 2  # each sample has two epochs
    small, large = found
    detail = "; ".join(
        f"{size:,} samples ({one['bytes'] / 1e6:.0f} MB): {one['wall']:.1f} s (CPU {one['cpu']:.1f} s), peak "
        f"{one['peak_mb']:.0f} MB, of which the table {one['table'] / 1e6:.0f} MB"
        for size, one in zip(sizes, found, strict=True)
    )
    growth = (large["peak_mb"] - small["peak_mb"]) * 1e6 / (sizes[1] - sizes[0])
    claim = f"CPU time to read {sizes[0]:,} samples of an Inspect log, the start of Python included"
    return [
        {"claim": claim, "measured": small["cpu"], "unit": "s", "at_most": 10, "detail": detail},
        {
            "claim": "memory for each further sample",
            "measured": growth,
            "unit": "bytes",
            "at_most": 600,
            "detail": detail,
        },
    ]


def write_log(path: Path, size: int) -> None:
    """The committed log with its samples repeated under new names, laid out and compressed as Inspect does."""
    from otherwords.harnesses import inspect_log

    with SAMPLE.open("rb") as file, inspect_log._mapped(file, "sample") as content:
        members = {one.name: one for one in inspect_log._directory(content, "sample")}
        texts = {name: inspect_log._open(one, content, "sample").read() for name, one in members.items()}
    summaries = json.loads(texts["summaries.json"])
    header = json.loads(texts["header.json"])
    copies = size // len(summaries)
    names = header["eval"]["dataset"]["sample_ids"]  # Inspect names all samples in its header
    header["eval"]["dataset"] |= {"samples": copies * len(names)}
    header["eval"]["dataset"]["sample_ids"] = [f"{copy}-{name}" for copy in range(copies) for name in names]
    header["results"] |= {"total_samples": size, "completed_samples": size}
    with path.open("wb") as out:
        writer = _ZipWriter(out)
        packed = {name: zstandard.compress(text) for name, text in texts.items() if name.startswith("samples/")}
        for copy in range(copies):
            for name, text in packed.items():
                writer.add(name.replace("samples/p", f"samples/{copy}-p"), text, texts[name])
        whole = zstandard.ZstdCompressor().compressobj()
        parts = [whole.compress(b"[")]
        length, checksum = 1, zlib.crc32(b"[")
        for copy in range(copies):
            text = json.dumps([_renamed(one, copy) for one in summaries], separators=(",", ":"))[1:-1]
            piece = (("," if copy else "") + text).encode()
            length, checksum = length + len(piece), zlib.crc32(piece, checksum)
            parts.append(whole.compress(piece))
        parts += [whole.compress(b"]"), whole.flush()]
        writer.add_packed("summaries.json", b"".join(parts), length + 1, zlib.crc32(b"]", checksum))
        text = json.dumps(header).encode()
        writer.add("header.json", zstandard.compress(text), text)
        writer.close()


def _renamed(one: dict[str, Any], copy: int) -> dict[str, Any]:
    metadata = {**one["metadata"], "bucket": f"{copy}-{one['metadata']['bucket']}"}
    metadata["variant"] = f"{copy}-{metadata['variant']}" if metadata["variant"] else ""
    return {**one, "id": f"{copy}-{one['id']}", "metadata": {**metadata, "cluster": f"{copy}-{metadata['cluster']}"}}


class _ZipWriter:
    """Writes members that are compressed already; the directory is that of a large file (zip64)."""

    def __init__(self, out: BinaryIO):
        self._out, self._directory, self._count = out, bytearray(), 0

    def add(self, name: str, packed: bytes, text: bytes) -> None:
        self.add_packed(name, packed, len(text), zlib.crc32(text))

    def add_packed(self, name: str, packed: bytes, length: int, checksum: int) -> None:
        place, spelled = self._out.tell(), name.encode()
        common = struct.pack("<HHHHHIIIHH", 20, 0, _ZSTD, 0, 33, checksum, len(packed), length, len(spelled), 0)
        self._out.write(b"PK\x03\x04" + common + spelled + packed)
        wide = struct.pack("<HHQ", 1, 8, place)
        entry = struct.pack("<H", 20) + common[:-2] + struct.pack("<HHHHII", len(wide), 0, 0, 0, 0, _FULL)
        self._directory += b"PK\x01\x02" + entry + spelled + wide
        self._count += 1

    def close(self) -> None:
        place = self._out.tell()
        self._out.write(self._directory)
        end = self._out.tell()
        size = len(self._directory)
        self._out.write(
            b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 20, 20, 0, 0, self._count, self._count, size, place)
        )
        self._out.write(b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1))
        self._out.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, _FULL, _FULL, 0))
