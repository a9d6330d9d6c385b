"""A suite as files for other harnesses: a task of Inspect, one of lm-eval, a config of promptfoo, a data set folder."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from .._version import __version__
from ..datasets.suite import SuiteName, open_suite
from ..errors import BadInput
from ..frames import kept
from ..models.templates import Template, read_template
from ..problem import Task
from ..storage.files import disk_errors, refuse_overwriting

ASSETS = Path(__file__).parent.parent / "assets" / "suite"
#: What each file of the folder is made from.
_FILES = {
    "inspect_task.py": "inspect_task.py.txt",
    "lm_eval.yaml": "lm_eval.yaml.txt",
    "promptfooconfig.yaml": "promptfooconfig.yaml.txt",
    "README.md": "README.md.txt",
}
#: Rows that are written at a time.
_PIECE = 10_000
_NAME = re.compile(r"[a-z][a-z0-9_]*")
#: Columns that a suite has under another name, or that are of no use elsewhere.
_OWN = ("id", "of", "label")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write_suite(
    suite: SuiteName, out: str | Path, *, name: str = "otherwords", template: str = "", task: str | Task = ""
) -> dict[str, int]:
    """Write the buckets of a run folder, or of another suite, for other harnesses; count problems and variants.

    The folder must be new or empty. `template` is the prompt template, as for language models. Variants that a check
    dropped are left out. `score` reads the logs of these harnesses without further options.
    """
    folder = Path(out)
    if not _NAME.fullmatch(name):
        raise BadInput(f"found {name!r}", field="name", fix="use small letters, digits and _, as in my_suite")
    opened = open_suite(suite, task)
    _refuse_used(folder, *opened.names)
    chosen = _without_shots(read_template(template, opened.task))
    table = kept(opened.table().lazy()).collect()
    _refuse_unlabelled(table, opened.name)
    counts = {"problems": table["of"].null_count(), "variants": table["of"].count()}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(folder), tempfile.TemporaryDirectory(dir=folder.parent, prefix=".otherwords-") as draft:
        _write_files(Path(draft) / "suite", table, chosen, name, counts)
        if folder.exists():
            folder.rmdir()
        shutil.move(Path(draft) / "suite", folder)
    return counts


def _refuse_used(folder: Path, *inputs: str) -> None:
    refuse_overwriting(folder, *inputs)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput("already exists", where=str(folder), fix="give a new or empty folder")


def _without_shots(template: Template) -> Template:
    if template.shots.count:
        message = f"the template {template.name} shows solved problems first, which these harnesses do themselves"
        raise BadInput(message, where=template.where, field="shots", fix="use a template without shots")
    return template


def _refuse_unlabelled(table: pl.DataFrame, where: str) -> None:
    if not table.height:
        raise BadInput("no rows are left", where=where, fix="give a suite with problems that no check dropped")
    if table["label"].null_count():
        row = table["id"].filter(table["label"].is_null())[0]
        fix = "harnesses score by right answers: give every problem a label"
        raise BadInput(f"{row!r} has no label", where=where, field="label", fix=fix)


def _write_files(folder: Path, table: pl.DataFrame, template: Template, name: str, counts: dict[str, int]) -> None:
    (folder / "data").mkdir(parents=True)
    with (
        (folder / "data" / "test.jsonl").open("w", encoding="utf-8", newline="\n") as rows,
        (folder / "data" / "promptfoo.jsonl").open("w", encoding="utf-8", newline="\n") as tests,
    ):
        for row in suite_rows(table, template):
            rows.write(json.dumps(row, ensure_ascii=False) + "\n")
            tests.write(json.dumps(_promptfoo_test(row), ensure_ascii=False) + "\n")
    values = _values(table, template, name, counts)
    for target, asset in _FILES.items():
        text = (ASSETS / asset).read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        (folder / target).write_text(text, encoding="utf-8", newline="\n")


#: How promptfoo sees whether a reply is right: it begins with the right word, whatever the case.
_CHECK = "output.trim().toLowerCase().replace(/^[^\\p{L}\\p{N}]+/u, '').startsWith(context.vars.answer.toLowerCase())"


def _promptfoo_test(row: dict[str, Any]) -> dict[str, Any]:
    """A row as a test of promptfoo. A variable that is a list would be a test for each of its elements."""
    lists = {name: value for name, value in row.items() if isinstance(value, list)}
    given = {name: value for name, value in row.items() if name not in lists}
    return {"vars": given, "metadata": lists, "assert": [{"type": "javascript", "value": _CHECK}]}


def suite_rows(table: pl.DataFrame, template: Template) -> Iterator[dict[str, Any]]:
    """The rows of a suite as harnesses read them: names, texts, the question, and the words that answer it."""
    task, words = template.task, template.words
    extra = [name for name in table.columns if name not in (*_OWN, *task.fields) and not name.startswith("check:")]
    extra = [name for name in extra if not table[name].dtype.is_nested()]
    for piece in table.iter_slices(_PIECE):
        for row in piece.iter_rows(named=True):
            texts = {name: row[name] or "" for name in task.fields}
            yield {
                "id": row["id"],
                "bucket": row["of"] or row["id"],
                "variant": row["id"] if row["of"] else "",
                **texts,
                "label": row["label"],
                **{name: row[name] for name in extra if row[name] is not None},
                "prompt": template.request(texts, chat=False).text,
                "choices": list(words.values()),
                "labels": list(words),
                "answer": words[row["label"]],
            }


def _values(table: pl.DataFrame, template: Template, name: str, counts: dict[str, int]) -> dict[str, str]:
    """What stands in the places of the files."""
    made = table["how"].drop_nulls().cast(pl.String).value_counts(sort=True) if "how" in table.columns else None
    listed = [f"- `{how}`: {count:,}" for how, count in made.iter_rows()] if made is not None else []
    more = {"cluster": "problems that are not independent share it", "how": "what made the wording"}
    there = [f"| `{column}` | {text} |" for column, text in more.items() if column in table.columns]
    return {
        "NAME": name,
        "DELIMITER": json.dumps(template.before_answer),
        "SIZE": next((text for most, text in _SIZES if table.height < most), "n>1M"),
        "PROBLEMS": f"{counts['problems']:,}",
        "VARIANTS": f"{counts['variants']:,}",
        "VERSION": __version__,
        "FIELDS": ", ".join(f"`{one}`" for one in template.task.fields),
        "LABELS": ", ".join(f"`{one}`" for one in template.task.labels),
        "MORE": "\n".join(there) + "\n" if there else "",
        "HOW": "\n".join(listed) or "- as they are in the data",
    }
