"""Columns to group by that are looked up in a file: what another model answers, and what is known of the models.

`answers:FILE` says whether another model answers the original right. ParaNLU divides its buckets so by a model that saw
the target alone (section 7): where that one is right, an artifact is likely. `family:FILE.toml` says which family each
model belongs to, or what else the file knows of it.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import polars as pl

from ..errors import BadInput, Unmeasurable
from ..storage import tables
from ..storage.files import read_toml
from .reading import answered, check_columns
from .table import Location, is_original, label_spellings, label_texts, respelled

#: How these columns begin.
ANSWERS, FAMILY = "answers:", "family:"
#: The key of a family map that is meant where none is named.
KEY = "family"


def is_looked_up(column: str) -> bool:
    """Whether a column to group by is looked up in a file."""
    return column.startswith((ANSWERS, FAMILY))


def look_up(answers: pl.DataFrame, column: str) -> pl.Series:
    """The values of such a column for the rows of an answers table; null where the file has none."""
    if column.startswith(FAMILY):
        models = answers["model"] if "model" in answers.columns else pl.repeat("model", answers.height, eager=True)
        family = families(column, models.unique().to_list())
        return models.cast(pl.String).replace_strict(family, default=None, return_dtype=pl.String).alias(column)
    known, buckets = right_or_wrong(column), answers["bucket"].cast(pl.String)
    if not set(buckets.unique()) & known.keys():
        fix = "give answers to the same problems: their buckets have the same names"
        raise BadInput("has none of the problems", where=column.removeprefix(ANSWERS), field="bucket", fix=fix)
    return buckets.replace_strict(known, default=None, return_dtype=pl.String).alias(column)


def check_files(columns: Iterable[str], models: Iterable[str] = ()) -> None:
    """Refuse files that cannot be used, before any work; `models` are those that a family map should know."""
    for column in filter(is_looked_up, columns):
        families(column, models) if column.startswith(FAMILY) else right_or_wrong(column)


def right_or_wrong(column: str) -> dict[str, str]:
    """Whether the model of `answers:FILE`, or `answers:FILE:MODEL`, answers each problem right."""
    path, model = _file_and_rest(column.removeprefix(ANSWERS))
    stamp = Path(path).stat().st_mtime_ns if Path(path).is_file() else 0
    return _right_or_wrong(path, model, stamp)


@lru_cache(maxsize=8)
def _right_or_wrong(path: str, model: str, _stamp: int) -> dict[str, str]:
    where = Location(path)
    table = tables.read(path)
    check_columns(table, where)
    table, _ = answered(table, where)
    names = [] if "model" not in table.columns else table["model"].cast(pl.String).unique().sort().to_list()
    if (model and model not in names) or (not model and len(names) > 1):
        found = f"no model {model!r}" if model else f"has {len(names)} models"
        fix = f"name one: {ANSWERS}{path}:{names[0]}; available: {', '.join(names)}" if names else "leave out the name"
        raise BadInput(found, where=path, field="model", fix=fix)
    own = table.filter(is_original(), *([pl.col("model").cast(pl.String) == model] if model else []))
    if own["gold"].null_count() or not own.height:
        what = "right answers" if own.height else "answers to originals"
        raise Unmeasurable(f"lacks {what}", where=path, field="gold", fix="let the model answer labelled problems")
    own = respelled(own, label_spellings([own]), where)
    right = label_texts(own["gold"]) == label_texts(own["pred"])
    return dict(zip(own["bucket"].cast(pl.String), ["right" if one else "wrong" for one in right], strict=True))


def families(column: str, models: Iterable[str]) -> dict[str, str]:
    """What a family map says of models: `family:FILE.toml`, or `family:FILE.toml:KEY` for another key than `family`.

    The file has a table for each model, by its name, or only its family: `[roberta-large]` with `family = "roberta"`
    and `size = "large"`, or `roberta-large = "roberta"`. A model that it does not know belongs to no group.
    """
    path, key = _file_and_rest(column.removeprefix(FAMILY))
    key = key or KEY
    if not Path(path).is_file():
        raise BadInput("no such file", where=path, fix=f"write {FAMILY}FILE.toml, or {FAMILY}FILE.toml:KEY")
    fix = 'write a table for each model: [NAME], and family = "..."'
    known: dict[str, str] = {}
    keys: set[str] = set()
    for model, about in read_toml(Path(path), "a family map", fix).items():
        values = about if isinstance(about, dict) else {KEY: about}
        keys |= values.keys()
        if any(isinstance(one, list | dict) for one in values.values()):
            raise BadInput("has a value that is a list or a table", where=path, field=model, fix=fix)
        if key in values and str(values[key]).strip():
            known[model] = str(values[key])
    if not known:
        found = f"available: {', '.join(sorted(keys))}" if keys else fix
        raise BadInput(f"no model has {key!r}", where=path, field=key, fix=found)
    names = list(models)
    if names and not set(names) & known.keys():
        raise BadInput(f"knows none of the models {', '.join(names)}", where=path, fix=f"it has {', '.join(known)}")
    return known


def relatives(column: str, models: Iterable[str]) -> list[tuple[str, str, str]]:
    """The models that a family map relates, as pairs: a model and its teacher, and the neighbours in size of a family.

    The map says it of each: `distilled_from = "roberta-large"`, and `family = "roberta"` with a number as `size`.
    """
    names, path = list(models), _file_and_rest(column.removeprefix(FAMILY))[0]
    family, size, teacher = (_known(f"{FAMILY}{path}:{key}", names) for key in (KEY, "size", "distilled_from"))
    pairs = [("distilled from", one, teacher[one]) for one in names if teacher.get(one) in names]
    for group in dict.fromkeys(family.get(one) for one in names if one in size):
        if group is None:
            continue
        own = sorted((_number(size[one], path, one), one) for one in names if family.get(one) == group and one in size)
        pairs += [("smaller than", small, large) for (a, small), (b, large) in pairwise(own) if a < b]
    if not pairs:
        fix = 'give models of the table distilled_from = "..." another, or family and size, two sizes of a family'
        raise BadInput("relates no two models", where=path, fix=f"{fix}; available: {', '.join(names)}")
    return pairs


def _known(column: str, models: list[str]) -> dict[str, str]:
    """What a map says under a key; nothing where no model has it."""
    try:
        return families(column, models)
    except BadInput as error:
        if error.message.startswith("no model has"):
            return {}
        raise


def _number(text: str, path: str, model: str) -> float:
    try:
        return float(text)
    except ValueError:
        fix = "give the number of parameters, as in size = 355"
        raise BadInput(f"found {text!r}", where=path, field=f"{model}.size", fix=fix) from None


def key_of(column: str) -> str:
    """What a family map's column is called in scores: the key.

    >>> key_of("family:models.toml"), key_of("family:models.toml:size")
    ('family', 'size')
    """
    return _file_and_rest(column.removeprefix(FAMILY))[1] or KEY


def _file_and_rest(text: str) -> tuple[str, str]:
    """A file, and what stands after it and a colon; a file that exists may have colons in its name."""
    path, _, rest = text.rpartition(":")
    if Path(text).exists() or not path or not ("." in path or Path(path).exists()):
        return text, ""
    return path, rest
