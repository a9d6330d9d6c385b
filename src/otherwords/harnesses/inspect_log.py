"""Logs of Inspect: `.eval`, which is a zip file of JSON, and `.json`.

A `.eval` file has a summary of every sample in one member, which is all that scores need; the samples themselves, with
their messages and events, are opened only for the texts.
"""

from __future__ import annotations

import io
import json
import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from ..errors import BadInput, MissingExtra, shorten
from ..problem import AGAIN, label_key
from .samples import (
    LETTERS,
    RIGHT,
    WRONG,
    ByteStream,
    JsonReader,
    LoggedAnswer,
    LogOptions,
    as_table,
    as_text,
    name_of,
    named_columns,
    named_labels,
    part_of,
    translated,
)

_STORED, _DEFLATED, _ZSTD = 0, 8, 93
#: Signatures of a zip file: the entry of a member in its directory, the directory's end, and that of a large one.
_ENTRY, _END, _END64 = b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06"
_FULL = 0xFFFFFFFF
#: Bytes that are decompressed at a time.
_CHUNK = 1 << 20
#: Epochs that nobody asks for.
_MOST_EPOCHS = 1_000_000
#: The values by which scorers say that an answer is right, or wrong.
_RIGHT, _WRONG = ("C", 1, True), ("I", 0, False)
_RETRY = "run the evaluation to its end (inspect eval-retry)"
#: For samples that are missing, and for a file that is damaged, of which nothing can be used.
_FIX, _DAMAGED = f"{_RETRY}, or use what it has with --skip-bad (rejected=FILE)", f"copy the log again, or {_RETRY}"


def read_inspect(path: Path, options: LogOptions) -> pl.DataFrame:
    """The answers of an Inspect log."""
    where, log = str(path), _Log(str(path), options)
    if path.suffix != ".eval":
        with path.open("rb") as file:
            reader = JsonReader(file, where)
            return _whole(as_table(log.samples(reader.elements(["samples"], log.keep)), where, options), log)
    with path.open("rb") as file, closing(_mapped(file, where)) as content:
        members = {one.name: one for one in _members(content, where)}
        log.start(members, content)
        if hasattr(content, "madvise"):  # the directory has been read, and need not stay in memory
            content.madvise(mmap.MADV_DONTNEED)
        given = _sample_files(members, content, where) if options.texts else _summaries(members, content, where)
        return _whole(as_table(log.samples(given), where, options), log)


class _Log:
    """What a log says of itself, and its samples."""

    def __init__(self, where: str, options: LogOptions):
        self.where, self.options = where, options
        self.header: dict[str, Any] = {}
        self._model = "model"

    def keep(self, key: str, value: Any) -> None:
        """Keep what stands beside the samples of a .json log."""
        self.header[key] = value

    def start(self, members: Mapping[str, ZipMember], content: mmap.mmap) -> None:
        """Read what a .eval log says of itself: at its end, or at its start if it has no end."""
        name = next((one for one in ("header.json", "_journal/start.json") if one in members), "")
        if not name:
            raise BadInput("is not an Inspect log", where=self.where, fix="give a file that `inspect eval` wrote")
        self.header = {**part_of({name: _loaded(members[name], content, f"{self.where}, {name}")}, name, self.where)}

    @property
    def about(self) -> Mapping[str, Any]:
        """What was to be evaluated."""
        if found := part_of(self.header, "eval", self.where):
            return found
        raise BadInput("does not say what was evaluated", where=self.where, field="eval", fix=_DAMAGED)

    def samples(self, given: Iterator[Any]) -> Iterator[LoggedAnswer]:
        """The samples of the log; one that has no id or no score is refused by its name."""
        for number, one in enumerate(given, 1):
            if number == 1:
                self._refuse_unfinished()
                self._model = as_text(self.about.get("model")) or "model"
            place = f"{self.where}, sample {number}"
            if not isinstance(one, dict) or "id" not in one:
                raise BadInput(f"found {shorten(one)} instead of a sample with an id", where=place)
            yield self._sample(one, name_of(one["id"], place))

    def _refuse_unfinished(self) -> None:
        status = self.header.get("status", "not finished")
        if status != "success" and not self.options.errors:
            error = part_of(self.header, "error", self.where).get("message", "")
            because = f": {shorten(error)}" if error else ""
            raise BadInput(
                f"the evaluation is {status}, so samples may be missing{because}", where=self.where, fix=_FIX
            )

    def _sample(self, one: Mapping[str, Any], name: str) -> LoggedAnswer:
        place, metadata = f"{self.where}, sample {name!r}", one.get("metadata")
        epoch = one.get("epoch", 1)
        if isinstance(epoch, bool) or not isinstance(epoch, int) or not 0 < epoch < _MOST_EPOCHS:
            raise BadInput(f"found {shorten(epoch)}", where=place, field="epoch", fix="epochs are numbered from 1")
        error = one.get("error")
        error = error.get("message", "") or "no message" if isinstance(error, dict) else error
        score = None if error else self._score(one, place)
        labels = named_labels(metadata)
        targets = [text for text in _texts(one.get("target"), place, "target") if text.strip()]
        answer = None if score is None else _answer(score.get("answer"), place)
        if answer and label_key(answer) in map(label_key, targets):
            answer = targets[0]
        letters = _by_letter(one.get("choices"))
        chosen = letters.get(targets[0]) if targets else None, letters.get((answer or "").strip())
        return LoggedAnswer(
            name,
            self._model,
            translated(targets[0], labels) if targets else None,
            translated(answer, labels),
            epoch,
            _grade(score),
            f"ended with an error: {shorten(error)}" if error else "",
            _text_of(one.get("input")),
            named_columns(metadata),
            tuple(labels.values() or letters.values()),
            (None, None) if labels else chosen,
        )

    def _score(self, one: Mapping[str, Any], place: str) -> Mapping[str, Any] | None:
        scores, wanted = one.get("scores") or {}, self.options.scorer
        if not isinstance(scores, dict) or not all(isinstance(score, dict) for score in scores.values()):
            raise BadInput(f"found {shorten(scores)}", where=place, field="scores")
        if wanted and scores and wanted not in scores:
            fix = f"available: {', '.join(scores)}"
            raise BadInput(f"has no scorer {wanted!r}", where=place, field="scorer", fix=fix)
        if len(scores) > 1 and not wanted:
            fix = f"choose one with --scorer NAME: {', '.join(scores)}"
            raise BadInput(f"has {len(scores)} scores", where=place, fix=fix)
        return scores.get(wanted or next(iter(scores), ""))


def _whole(table: pl.DataFrame, log: _Log) -> pl.DataFrame:
    """The table, after a check that it has all samples that were to be asked, in all epochs."""
    given = part_of(log.about, "dataset", log.where).get("sample_ids") or ()
    total = part_of(log.header, "results", log.where).get("total_samples")
    if not isinstance(given, list | tuple):
        raise BadInput(f"found {shorten(given)}", where=log.where, field="sample_ids", fix=_DAMAGED)
    if log.options.errors or not given or not isinstance(total, int):
        return table
    epochs, rest = divmod(total, len(given))
    if rest or not epochs:  # some were left out on purpose
        return table
    there = pl.sum_horizontal(pl.lit(1), pl.col(f"^{AGAIN}.*$").is_not_null()).alias("there")
    counted = table.select("id", there if epochs > 1 else pl.lit(1).alias("there"))
    asked = pl.DataFrame({"id": [str(one) for one in given]})
    known = asked.join(counted, on="id", how="left", maintain_order="left").with_columns(pl.col("there").fill_null(0))
    lacking = known.filter(pl.col("there") < epochs)
    if lacking.height:
        name, found = lacking.row(0)
        message = f"lacks {epochs - found} of its {epochs} epochs: the log" if found else "is not in the log, which"
        message = f"{message} has {known['there'].sum():,} of {total:,} samples"
        raise BadInput(message, where=f"{log.where}, sample {name!r}", fix=_FIX)
    return table


def _texts(given: Any, where: str, name: str) -> list[str]:
    """One text or several, of a field that may lack."""
    listed = given if isinstance(given, list) else [] if given is None else [given]
    texts = [text for one in listed if (text := as_text(one)) is not None]
    if len(texts) < len(listed):
        raise BadInput(f"found {shorten(given)}", where=where, field=name, fix="give a text, or a list of texts")
    return texts


def _answer(given: Any, where: str) -> str:
    """What a scorer took for the answer; "" where it found none."""
    if isinstance(given, list | dict):
        raise BadInput(
            f"found {shorten(given)}", where=where, field="answer", fix="choose another scorer: --scorer NAME"
        )
    return as_text(given) or ""


def _by_letter(choices: Any) -> dict[str, str]:
    """What the letters of a multiple choice stand for."""
    given = choices if isinstance(choices, list) else []
    return dict(zip(LETTERS, map(str, given), strict=False))


def _grade(score: Mapping[str, Any] | None) -> str | None:
    value = None if score is None else score.get("value")
    if isinstance(value, str | int | float):
        return RIGHT if value in _RIGHT else WRONG if value in _WRONG else None
    return None


def _text_of(given: Any) -> str | None:
    """The text of an input: as it is, or the messages of a chat one after the other."""
    if not isinstance(given, list):
        return as_text(given)
    contents = [one.get("content") for one in given if isinstance(one, dict)]
    return "\n\n".join(text for text in contents if isinstance(text, str))


# The zip file


class ZipMember(NamedTuple):
    """A member of a zip file: how it is compressed, its checksum, how long it is, and where."""

    name: str
    method: int
    checksum: int
    compressed: int
    size: int
    place: int


def _mapped(file: IO[bytes], where: str) -> mmap.mmap:
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError as error:
        raise BadInput("is empty", where=where, fix="give a file that `inspect eval` wrote") from error


def _members(content: mmap.mmap, where: str) -> Iterator[ZipMember]:
    """The members but for the samples, of which there may be a million: they are looked up again if needed."""
    for one in _directory(content, where):
        if not one.name.startswith("samples/"):
            yield one


def _directory(content: mmap.mmap, where: str) -> Iterator[ZipMember]:
    """All members, from the directory at the end; `zipfile` would keep half a kilobyte of each, and read no zstd."""
    end = content.rfind(_END)
    if end < 0 or len(content) < end + 22:
        raise BadInput("is not a zip file, or is truncated", where=where, fix=_DAMAGED)
    count, _, place = struct.unpack("<HII", content[end + 10 : end + 20])
    large = content.rfind(_END64, 0, end)
    if (place == _FULL or count == 0xFFFF) and large >= 0:
        count, _, place = struct.unpack("<QQQ", content[large + 32 : large + 56])
    for _ in range(count):
        entry = content[place : place + 46]
        if len(entry) < 46 or entry[:4] != _ENTRY:
            raise BadInput("its directory is damaged", where=where, fix=_DAMAGED)
        method = struct.unpack("<H", entry[10:12])[0]
        checksum, compressed, size, name, extra, comment = struct.unpack("<IIIHHH", entry[16:34])
        sizes = [size, compressed, struct.unpack("<I", entry[42:46])[0]]
        text = content[place + 46 : place + 46 + name].decode("utf-8", "replace")
        more = content[place + 46 + name : place + 46 + name + extra]
        size, compressed, start = _wide(sizes, more) if _FULL in sizes else sizes
        yield ZipMember(text, method, checksum, compressed, size, start)
        place += 46 + name + extra + comment


def _wide(sizes: list[int], extra: bytes) -> list[int]:
    """Numbers that do not fit into 32 bits stand in the extra field with the number 1, in this order."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack("<HH", extra[at : at + 4])
        if kind == 1:
            wide = iter(struct.unpack(f"<{length // 8}Q", extra[at + 4 : at + 4 + length // 8 * 8]))
            return [next(wide, one) if one == _FULL else one for one in sizes]
        at += 4 + length
    return sizes


class _Content:
    """The content of a member, decompressed while it is read; at its end, the checksum must be right."""

    def __init__(self, one: ZipMember, content: mmap.mmap, where: str):
        self._one, self._where, self._checksum = one, where, 0
        self._stream = _open(one, content, where)

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes; b"" at the end."""
        try:
            chunk = self._stream.read(size)
        except (zlib.error, _zstd_error()) as error:
            raise BadInput(f"cannot be decompressed: {error}", where=self._where, fix=_DAMAGED) from error
        self._checksum = zlib.crc32(chunk, self._checksum)
        if (not chunk or size < 0) and self._checksum != self._one.checksum:
            raise BadInput("is damaged: its checksum differs", where=self._where, fix=_DAMAGED)
        return chunk


class _Inflated:
    """A deflated member, of which a piece is in memory at a time."""

    def __init__(self, content: mmap.mmap, place: int, length: int):
        self._content, self._place, self._end = content, place, place + length
        self._decoder = zlib.decompressobj(-15)

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes; b"" at the end."""
        if size < 0:
            return b"".join(iter(lambda: self.read(_CHUNK), b""))
        while not self._decoder.eof:
            packed = self._decoder.unconsumed_tail or self._content[self._place : min(self._end, self._place + _CHUNK)]
            self._place += 0 if self._decoder.unconsumed_tail else len(packed)
            if chunk := self._decoder.decompress(packed, size):
                return chunk
            if not packed:
                raise zlib.error("it ends too early")
        return b""


def _open(one: ZipMember, content: mmap.mmap, where: str) -> ByteStream:
    """The content of a member, decompressed while it is read."""
    head = content[one.place : one.place + 30]
    if len(head) < 30:
        raise BadInput("is cut off", where=where, fix=_DAMAGED)
    name, extra = struct.unpack("<HH", head[26:])
    begin = one.place + 30 + name + extra
    if one.method == _DEFLATED:
        return _Inflated(content, begin, one.compressed)
    raw = content[begin : begin + one.compressed]
    if one.method == _ZSTD:
        try:
            import zstandard
        except ImportError:
            raise MissingExtra("a log of Inspect that is compressed with zstd", "inspect") from None
        return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    if one.method == _STORED:
        return io.BytesIO(raw)
    raise BadInput(f"is compressed by method {one.method}", where=where, fix="use a .json log")


def _loaded(one: ZipMember, content: mmap.mmap, where: str) -> Any:
    try:
        return json.loads(_Content(one, content, where).read())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"broken JSON: {error}", where=where, fix=_DAMAGED) from error


def _summaries(members: Mapping[str, ZipMember], content: mmap.mmap, where: str) -> Iterator[Any]:
    """The summaries of all samples: together where the log was finished, else by parts."""
    parts = [one for name, one in members.items() if name.startswith("_journal/summaries/")]
    for one in [members["summaries.json"]] if "summaries.json" in members else sorted(parts):
        place = f"{where}, {one.name}"
        yield from JsonReader(_Content(one, content, place), place).elements((), lambda *_: None)


def _sample_files(members: Mapping[str, ZipMember], content: mmap.mmap, where: str) -> Iterator[Any]:
    """All samples, from the members of their own; of two with one name, the last counts."""
    last = {one.name: one.place for one in _directory(content, where) if one.name.startswith("samples/")}
    for one in _directory(content, where):
        if last.get(one.name) == one.place:
            yield _loaded(one, content, f"{where}, {one.name}")


def _zstd_error() -> type[Exception]:
    try:
        import zstandard
    except ImportError:
        return zlib.error
    return zstandard.ZstdError
