"""Which harness a file is from, its answers as a table, and which of its samples are wordings of one problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, list_names, shorten
from ..storage import tables
from .inspect_log import read_inspect
from .lm_eval_samples import read_lm_eval
from .other_outputs import SCENARIO_STATE, read_helm, read_promptfoo
from .samples import INPUT, LogOptions

#: Bytes at the beginning of a file by which its format is recognised.
_START = 1 << 16
_READERS: dict[str, Callable[[Path, LogOptions], pl.DataFrame]] = {
    "inspect": read_inspect,
    "lm-eval": read_lm_eval,
    "promptfoo": read_promptfoo,
    "helm": read_helm,
}
#: What a top-level key of a JSON file says of the harness that wrote it.
_KEYS = {"request_states": "helm", "evalId": "promptfoo", "shareableUrl": "promptfoo", "eval": "inspect"}
_NO_COLUMNS: Mapping[str, str] = {}
_FIX = "use a pattern with (?P<bucket>...), a file with the columns id and bucket, or the name of a column"


def find_harness(source: str | Path) -> str:
    """The harness that wrote this log: inspect, lm-eval, promptfoo or helm; "" if none did."""
    path = Path(source)
    if path.is_dir():
        if (path / SCENARIO_STATE).is_file():
            return "helm"
        return "lm-eval" if any(path.glob("samples_*.jsonl")) else ""
    if not path.is_file():
        return ""
    if path.suffix == ".eval":
        return "inspect"
    if path.suffix not in (".json", ".jsonl"):
        return ""
    with path.open("rb") as file:
        return _by_start(file.read(_START), path.suffix)


def _by_start(start: bytes, suffix: str) -> str:
    """The harness of a file that begins so."""
    if suffix == ".jsonl":
        line = start.partition(b"\n")[0]
        if b'"doc_id"' in line and b'"filtered_resps"' in line:
            return "lm-eval"
        return "promptfoo" if b'"testCase"' in line and b'"promptIdx"' in line else ""
    keys = re.findall(rb'^\s*\{\s*"(\w+)"|[,{]\s*"(\w+)"\s*:', start)
    found = [_KEYS[name] for pair in keys for name in (one.decode() for one in pair if one) if name in _KEYS]
    return found[0] if found else ""


def read_log(
    source: str | Path,
    bucket_from: str = "",
    *,
    scorer: str = "",
    graded: bool = False,
    texts: bool = False,
    labels: tuple[str, ...] = (),
) -> pl.DataFrame:
    """The answers table of a log of Inspect, lm-evaluation-harness, promptfoo or HELM.

    Which samples are wordings of one problem is said by `bucket_from`, or by metadata called `bucket` and `variant`.
    Further epochs are repeats, in columns `again:usual:N`. See `LogOptions` for the rest.
    """
    return read_any(source, LogOptions(bucket_from, scorer, graded, texts=texts, labels=labels))


def read_any(source: str | Path, options: LogOptions, columns: Mapping[str, str] = _NO_COLUMNS) -> pl.DataFrame:
    """The answers table of a log; what `columns` name is renamed by the caller."""
    harness, path = find_harness(source), Path(source)
    if not harness:
        fix = "give a .eval or .json log of Inspect, samples_*.jsonl of lm-eval, JSON of promptfoo or a folder of HELM"
        raise BadInput("is not a log of a known harness", where=str(source), fix=fix)
    table = with_buckets(_READERS[harness](path, options), options.bucket_from, str(source))
    if "bucket" not in table.columns and "bucket" not in columns:
        shown = shorten(table["id"][0])
        fix = (
            f"say which samples are wordings of the same problem: --bucket-from HOW (bucket_from), where HOW is {_HOW}"
        )
        raise BadInput(f"samples such as {shown} do not name their bucket", where=str(source), fix=fix)
    if "variant" not in table.columns and "variant" not in columns:
        table = table.with_columns(pl.col("id").alias("variant"))
    return _ordered(table)


_HOW = r"a pattern of ids such as '(?P<bucket>.+)#(?P<variant>.*)', a file with id and bucket, or a column"


def with_buckets(table: pl.DataFrame, bucket_from: str, where: str) -> pl.DataFrame:
    """The table with columns `bucket` and `variant`: by a pattern of ids, a file that names them, or another column."""
    if not bucket_from:
        return table
    if "(?P<" in bucket_from:
        return _by_pattern(table, bucket_from, where)
    if Path(bucket_from).suffix in tables.FORMATS:
        return _by_file(table, bucket_from, where)
    if bucket_from not in table.columns:
        fix = f"{_FIX}: {', '.join(table.columns)}"
        raise BadInput(f"no column {bucket_from!r}", where=where, field="bucket_from", fix=fix)
    return table.with_columns(pl.col(bucket_from).alias("bucket"))


def _by_pattern(table: pl.DataFrame, pattern: str, where: str) -> pl.DataFrame:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise BadInput(f"is not a regular expression: {error}", where=pattern, field="bucket_from", fix=_FIX) from None
    if "bucket" not in compiled.groupindex:
        raise BadInput("has no group called bucket", where=pattern, field="bucket_from", fix=_FIX)
    _refuse_without_ids(table, where)
    buckets, variants = [], []
    for name in table["id"].to_list():
        found = compiled.fullmatch(str(name))
        if not found:
            fix = "write a pattern that every id matches as a whole"
            raise BadInput(f"does not match {pattern}", where=f"{where}, sample {name!r}", field="id", fix=fix)
        groups: dict[str, Any] = found.groupdict()
        buckets.append(groups["bucket"])
        variants.append(groups.get("variant") or "" if "variant" in groups else name)
    return table.with_columns(pl.Series("bucket", buckets, pl.String), pl.Series("variant", variants, pl.String))


def _by_file(table: pl.DataFrame, file: str, where: str) -> pl.DataFrame:
    named = tables.read(file)
    if lacking := [name for name in ("id", "bucket") if name not in named.columns]:
        fix = "give a table with id, bucket and variant, which is empty for the original"
        raise BadInput(f"has no column {lacking[0]}", where=file, field=lacking[0], fix=fix)
    _refuse_without_ids(table, where)
    names = ["id", "bucket", *(["variant"] if "variant" in named.columns else [])]
    named = named.select(pl.col(names).cast(pl.String)).with_columns(pl.col(names[2:]).fill_null(""))
    if named["id"].is_duplicated().any():
        name = named["id"].filter(named["id"].is_duplicated())[0]
        raise BadInput(f"names {name!r} twice", where=file, field="id", fix="give each id one bucket")
    joined = table.drop(names[1:], strict=False).join(named, on="id", how="left", maintain_order="left")
    unnamed = joined.filter(pl.col("bucket").is_null())
    if unnamed.height:
        place = f"{where}, sample {unnamed['id'][0]!r}"
        raise BadInput(f"is not in {file}", where=place, field="id", fix="name the bucket of each")
    return joined


def _refuse_without_ids(table: pl.DataFrame, where: str) -> None:
    if "id" not in table.columns:
        fix = f"available: {list_names(table.columns)}"
        raise BadInput("no such column", where=where, field="id", fix=fix)


def _ordered(table: pl.DataFrame) -> pl.DataFrame:
    """The columns of an answers table first."""
    first = [name for name in ("model", "bucket", "variant", "gold", "pred") if name in table.columns]
    rest = [name for name in table.columns if name not in (*first, "id", INPUT)]
    return table.select(*first, "id", *([INPUT] if INPUT in table.columns else []), *rest)
