"""Answers tables of any origin, opened under one set of names, and aligned: what all models answered is compared."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from ..errors import BadInput, caller_level, list_names
from ..frames import free_columns
from ..harnesses.logs import find_harness, read_any, with_buckets
from ..harnesses.samples import LogOptions
from ..problem import AGAIN, TASKS, UNREADABLE, label_key
from ..storage import tables
from ..storage.in_memory import texts_by_text
from ..storage.run_folder import RunFolder
from .groups import of_model, split, with_model
from .reading import answered, check_columns, label_names, read, refuse_problems, with_unreadable
from .roles import Role, split_roles
from .suspicions import warn_misspelled, warn_suspicious
from .table import (
    WHOLE_TABLE,
    Answers,
    Location,
    cluster_text,
    is_original,
    label_spellings,
    label_texts,
    respelled,
    with_decimals,
)

#: An answers table, or the file or run folder that holds one.
TableOrPath = pl.DataFrame | str | Path
#: What foreign tables call their columns: one mapping for all, and others for single ones by name; or one for each.
Columns = Mapping[str, str | int | Mapping[str, str]] | Sequence[Mapping[str, str]]
#: The columns of an answers table that have a meaning, besides `p:<label>`.
COLUMNS = ("bucket", "variant", "gold", "pred", "model", "cluster", "contrast", "control")
_BUCKET, _VARIANT = "\0bucket", "\0variant"  # no column of the user's is called so
_TEXTS = tuple(dict.fromkeys(name for task in TASKS.values() for name in task.fields))


@dataclass(frozen=True)
class ModelTable:
    """The answers of one model: what it is called in a comparison, its rows, and where they come from."""

    name: str
    frame: pl.DataFrame
    place: Location

    def read(self, labels: Sequence[str] = ()) -> Answers:
        """Check and code the answers; errors name rows as the user counts them."""
        return read(self.frame, labels, self.place)

    def by_role(self, labels: Sequence[str] = ()) -> dict[Role, ModelTable]:
        """The model's rewordings, contrasts and controls, each checked; a role without rows is left out."""
        roles = {
            role: ModelTable(self.name, frame, place) for role, frame, place in split_roles(self.frame, self.place)
        }
        for table in roles.values():
            table.read(labels)
        return roles


@dataclass(frozen=True)
class Names:
    """What columns and labels are called in foreign tables.

    `columns` maps the names used here to the tables' (`pred` -> `prediction`), of all tables or of one under its name,
    `labels` the tables' labels to others (`0` -> `entailment`); `known` are the labels of the task, where one is named.
    `logs` says how logs of other harnesses are read, and which rows of any table are wordings of one problem.
    """

    columns: Columns = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    logs: LogOptions = field(default_factory=LogOptions)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", texts_by_text(self.labels, "labels"))
        common, own = self._common_and_own()
        mapped = [name for one in (common, *own.values()) for name in one]
        if unknown := [name for name in mapped if name not in COLUMNS and not name.startswith(("p:", AGAIN))]:
            fix = f"an answers table has {', '.join(COLUMNS)}, p:LABEL and again:WAY:NUMBER"
            raise BadInput(f"cannot map {', '.join(map(repr, unknown))}", where="--field", fix=fix)
        if any(label_key(label) == UNREADABLE for label in self.labels):
            message = f"{UNREADABLE} stands for an answer that could not be read, and means no label"
            raise BadInput(message, where="--label", fix="leave it as it is: it is never right")
        known = {label_key(label) for label in (*self.known, *([UNREADABLE] if self.known else []))}
        if unknown := [label for label in self.labels.values() if known and label_key(label) not in known]:
            message = f"cannot map to {', '.join(map(repr, unknown))}"
            raise BadInput(message, where="--label", fix=f"the task has {', '.join(self.known)}")

    def _common_and_own(self) -> tuple[dict[str, str], dict[str | int, Mapping[str, str]]]:
        """The mapping for all tables, and those for single tables: by their names, or by their places."""
        if not isinstance(self.columns, Mapping):
            return {}, {place: texts_by_text(one, "columns") for place, one in enumerate(self.columns)}
        common = {name: str(column) for name, column in self.columns.items() if not isinstance(column, Mapping)}
        return common, {name: own for name, own in self.columns.items() if isinstance(own, Mapping)}

    def columns_of(self, tables: Sequence[str]) -> list[dict[str, str]]:
        """What the columns of each of these tables are called; its own mapping goes before the one for all."""
        common, own = self._common_and_own()
        if not isinstance(self.columns, Mapping) and len(own) != len(tables):
            message = f"columns of {len(own)} tables, but there are {len(tables)}"
            raise BadInput(message, where="--field", fix="give a mapping for each table, {} where none is needed")
        if unknown := [name for name in own if isinstance(name, str) and name not in tables]:
            fix = (
                f"the tables are called {', '.join(filter(None, tables))}" if any(tables) else "give a list of mappings"
            )
            raise BadInput(f"no table is called {unknown[0]!r}", where="--field", fix=fix)
        return [{**common, **own.get(place, {}), **own.get(name, {})} for place, name in enumerate(tables)]


def _rename(table: pl.DataFrame, columns: Mapping[str, str], where: str, name: str = "") -> pl.DataFrame:
    """Give the columns of a table the names used here; one in the way is kept as `input_<name>`."""
    if odd := [column for column in table.columns if "\0" in column]:
        raise BadInput("found a NUL character in the name of a column", where=where, field=odd[0], fix="rename it")
    if absent := [known for known, column in columns.items() if column not in table.columns]:
        fix = f"available: {list_names(table.columns)}"
        if name:
            fix += f"; map one of this table alone with --field {name}:{absent[0]}=COLUMN"
            fix += f" (in Python columns={{{name!r}: {{{absent[0]!r}: COLUMN}}}})"
        raise BadInput(f"no column {columns[absent[0]]!r}", where=where, field=absent[0], fix=fix)
    mapped = [table[column].alias(known) for known, column in columns.items()]
    others = table.drop(set(columns.values()))
    free = free_columns(dict.fromkeys(others.columns), columns) if columns else {}
    taken = {known: new for known, new in zip(others.columns, free, strict=False) if known in columns}
    return others.rename(taken).with_columns(mapped) if mapped else table


NO_NAMES = Names()


def open_tables(
    sources: Sequence[TableOrPath],
    names: Names = NO_NAMES,
    models: Sequence[str] = (),
    *,
    rejects_allowed: bool = False,
) -> list[tuple[pl.DataFrame, Location]]:
    """Read answers tables, with columns and labels under the names used here, and the same spelling in all.

    `models` names the model of each table that has no such column.
    """
    opened = []
    called = list(models) or model_names(sources)
    for source, name, columns, model in zip(
        sources, called, names.columns_of(called), models or [""] * len(sources), strict=True
    ):
        alone = name if len(sources) > 1 else ""  # a mapping that it lacks may be for the others
        table, where = _read(source, columns, alone, replace(names.logs, labels=names.known, errors=rejects_allowed))
        check_columns(table, where, alone)
        if model and "model" not in table.columns and table.height:
            table = table.with_columns(pl.lit(model).alias("model"))
        table = with_decimals(_with_empty_variants(with_model(table, where.table, rejects_allowed)))
        opened.append(answered(table, where))
    warn_misspelled([table for table, _ in opened], names.labels)
    spellings = label_spellings([table for table, _ in opened], names.known, names.labels)
    return [(respelled(table, spellings, place), place) for table, place in opened]


def _with_empty_variants(table: pl.DataFrame) -> pl.DataFrame:
    """The table with nothing where the name of a variant is blank: these are originals."""
    if table["variant"].dtype not in (pl.String, pl.Categorical, pl.Enum):
        return table
    blank = table["variant"].cast(pl.String).str.contains(r"^\s+$").fill_null(False)
    if not blank.any():
        return table
    return table.with_columns(pl.when(~blank).then(pl.col("variant").cast(pl.String)).alias("variant"))


def _read(
    source: TableOrPath, columns: Mapping[str, str], name: str, logs: LogOptions
) -> tuple[pl.DataFrame, Location]:
    if isinstance(source, pl.DataFrame):
        named = with_buckets(source, logs.bucket_from, "the answers")
        return _rename(named, columns, "the answers", name), Location()
    path = Path(source)
    if find_harness(path) or (path.suffix == ".json" and path.is_file()):
        log = read_any(path, logs, columns)
        return _rename(log, columns, str(source), name), Location(str(source), samples=((0, log["id"]),))
    if path.suffix.lower() == ".txt" and path.is_file():  # as SNLI and MultiNLI are released
        with path.open(encoding="utf-8", errors="replace") as file:
            refuse_problems(file.readline().rstrip("\n").split("\t"), str(source))
    texts = [column for known, column in columns.items() if not known.startswith("p:")]
    table = with_buckets(tables.read(source, texts), logs.bucket_from, str(source))
    return _rename(table, columns, str(source), name), Location(str(source))


def model_names(sources: Sequence[TableOrPath]) -> list[str]:
    """Models named after their files, with the folder where two files have the same name; "" for tables in memory."""
    paths = [None if isinstance(source, pl.DataFrame) else Path(source) for source in sources]
    stems = [path.stem for path in paths if path]
    return [
        "" if path is None else path.stem if stems.count(path.stem) == 1 else path.with_suffix("").as_posix()
        for path in paths
    ]


def stack(opened: Sequence[tuple[pl.DataFrame, Location]]) -> tuple[pl.DataFrame, Location]:
    """Several tables as one; its rows are still named as the user counts them, table by table."""
    if len(opened) == 1:
        return opened[0]
    rows, files, samples = [np.empty(0, dtype=np.int64)], [], []
    for table, place in opened:
        files.append((int(rows[-1].max(initial=-1)) + 1, place.table))
        samples += [(files[-1][0], names) for _, names in place.samples]
        rows.append(files[-1][0] + (np.arange(table.height) if place.rows is None else place.rows))
    as_text = _named_apart([_with_text_names(table) for table, _ in opened])
    where = " and ".join(place.table for _, place in opened)
    try:
        whole = pl.concat(as_text, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        message = f"cannot be read together: {str(error).splitlines()[0]}"
        raise BadInput(message, where=where, fix="give the tables columns of the same kinds") from error
    return whole, Location(where, rows=np.concatenate(rows), files=tuple(files), samples=tuple(samples))


def _named_apart(opened: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Number the models that several tables call the same, as `two_models` does, where both answer one question.

    Tables with answers of one model to different questions are parts of one.
    """
    asked = ["model", "bucket", "variant"]
    known = [table.select(pl.col(asked).fill_null("")).with_columns(pl.lit(number).alias("table"))
             for number, table in enumerate(opened, 1)]  # fmt: skip
    again = pl.concat(known).group_by(asked).agg(pl.col("table").n_unique()).filter(pl.col("table") > 1)
    names = again["model"].unique().sort().to_list()
    if not names:
        return opened
    message = f"several tables have answers of {', '.join(names)} to the same questions"
    warnings.warn(f"{message}: taken as different models, numbered by table", stacklevel=caller_level())
    given, shared = pl.col("model"), pl.col("model").is_in(names)
    return [
        table.with_columns(pl.when(shared).then(pl.concat_str(given, pl.lit(f" ({number})"))).otherwise(given))
        for number, table in enumerate(opened, 1)
    ]


def _with_text_names(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose names and labels are text, so that they fit those of any other."""
    named = [pl.col(name).cast(pl.String) for name in COLUMNS if name in table.columns and name not in ("gold", "pred")]
    return table.with_columns(*named, *(label_texts(table[name]) for name in ("gold", "pred") if name in table.columns))


def load(*answers: TableOrPath, names: Names = NO_NAMES) -> list[ModelTable]:
    """Read answers tables, model by model; a file without a model column names its model after itself."""
    return [one for table in _load_each(answers, names) for one in table]


def _load_each(answers: Sequence[TableOrPath], names: Names) -> list[list[ModelTable]]:
    loaded = []
    for (table, place), source in zip(open_tables(answers, names, model_names(answers)), answers, strict=True):
        warn_suspicious(table, place, names.known or labels_of_run(source))
        models = table["model"].unique(maintain_order=True).to_list()
        loaded.append([ModelTable(name, *of_model(table, place, name)) for name in models])
    return loaded


def is_run(source: TableOrPath) -> bool:
    """Whether this is a run folder."""
    return not isinstance(source, pl.DataFrame) and (Path(source) / "manifest.json").is_file()


def labels_of_run(source: TableOrPath) -> tuple[str, ...]:
    """The labels of the task of a run folder; none of another source."""
    if isinstance(source, pl.DataFrame) or not is_run(source):
        return ()
    return tuple(RunFolder(source).manifest.get("task", {}).get("labels", ()))


def two_models(
    answers: TableOrPath, other: TableOrPath | None, models: Sequence[str], names: Names = NO_NAMES
) -> tuple[ModelTable, ModelTable]:
    """Find the two models to compare; models with the same name are numbered."""
    tables = [table for table in (answers, other) if table is not None]
    given = [{one.name: one for one in table} for table in _load_each(tables, names)]
    # A run has its models in the order of the study; the order of the rows of another table says nothing.
    known = [list(one) if is_run(table) else sorted(one) for table, one in zip(tables, given, strict=True)]
    listed = " and ".join(", ".join(names) for names in known)
    if other is None and len(known[0]) < 2:
        raise BadInput(f"needs answers of two models; found {listed}", fix="give a second table")
    wanted = list(models)
    if not wanted:
        wanted = known[0] if other is None else [names[0] for names in known if len(names) == 1]
    sources = given * 2 if other is None else given
    if len(wanted) != 2 or any(name not in source for name, source in zip(wanted, sources, strict=True)):
        fix = "choose two: --model NAME --model NAME"
        named = f"{' and '.join(models)} cannot be compared" if models else "needs two models"
        raise BadInput(f"{named}: the answers are of {listed}", fix=fix)
    first, second = (source[name] for name, source in zip(wanted, sources, strict=True))
    if first.name == second.name:
        if other is None:
            raise BadInput(f"{first.name} cannot be compared with itself", fix=f"choose two of {listed}")
        return replace(first, name=f"{first.name} (1)"), replace(second, name=f"{second.name} (2)")
    return first, second


def two_groups(
    answers: pl.DataFrame, column: str, labels: Sequence[str], matched: bool
) -> list[tuple[str, str, list[Answers]]]:
    """All pairs of groups of a column in one model's answers; matched: on the buckets with variants in both."""
    groups = {str(value): _with_variants(group) for value, group in split(answers, column)}
    groups = {value: group for value, group in groups.items() if group.height}
    if len(groups) < 2:
        fix = "name a column that has at least two groups"
        raise BadInput(f"{column} has only {len(groups)} group with variants", fix=fix)
    pairs = []
    for first, second in combinations(groups, 2):
        pair = [groups[first], groups[second]]
        if matched:
            pair = [a.join(b.select("bucket").unique(), on="bucket", how="semi").sort("bucket", "variant")
                    for a, b in (pair, pair[::-1])]  # fmt: skip
        if all(group.height for group in pair):
            pairs.append((f"{column}={first}", f"{column}={second}", [read(group, labels) for group in pair]))
    if not pairs:
        fix = "compare the groups without matching"
        raise BadInput(f"no bucket has variants in two groups of {column}", fix=fix)
    return pairs


def _with_variants(part: pl.DataFrame) -> pl.DataFrame:
    """Buckets that have at least one variant in the group."""
    return part.filter((~is_original()).any().over("bucket"))


def align(
    tables: Sequence[pl.DataFrame],
    labels: Sequence[str] = (),
    where: Location = WHOLE_TABLE,
    about: str | None = None,
) -> list[Answers]:
    """Reduce the tables to the answers that all models have, in one order, and read them.

    Each must have been read alone before. A variant that some model did not answer is left out of all, with a warning:
    rates of models that were asked different variants cannot be compared. The right answers must be the same, and the
    texts where the tables have them.
    """
    spellings = label_spellings(tables, labels)
    keyed = [_keyed(respelled(table, spellings, where)) for table in tables]
    shared = keyed[0].select(_BUCKET, _VARIANT)
    for other in keyed[1:]:
        shared = shared.join(other.select(_BUCKET, _VARIANT), on=[_BUCKET, _VARIANT], how="semi")
    if shared.height == 0:
        fix = "models are compared on the same buckets and variants: their ids must match"
        raise BadInput("no variant has answers of all models", where=about or where.table, fix=fix)
    cut = [table.join(shared, on=[_BUCKET, _VARIANT], how="semi").sort(_BUCKET, _VARIANT) for table in keyed]
    _warn_left_out(keyed, cut, about)
    for other in cut[1:]:
        _check_same(cut[0], other)
    answered = [one.select(label_texts(one["gold"]), label_texts(one["pred"]), f"^p:.*|{AGAIN}.*$") for one in cut]
    names = tuple(labels) or label_names(pl.concat(answered, how="diagonal_relaxed"))
    names = with_unreadable(names, *cut)
    return [read(one.drop(_BUCKET, _VARIANT), names, where) for one in _with_shared_clusters(cut)]


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("bucket").cast(pl.String).alias(_BUCKET), pl.col("variant").cast(pl.String).fill_null("").alias(_VARIANT)
    )


def _warn_left_out(tables: Sequence[pl.DataFrame], cut: Sequence[pl.DataFrame], about: str | None) -> None:
    lost = [
        f"{before.height - after.height} of {before.height} by {before['model'][0]}"
        for before, after in zip(tables, cut, strict=True)
        if after.height < before.height
    ]
    if lost:
        message = f"compared on the {cut[0].height} answers that all models have; left out: {', '.join(lost)}"
        message = f"{about}: {message}" if about else message
        reason = "a suite that a model filters itself is reduced to the variants that all models accept"
        warnings.warn(f"{message}. ({reason})", stacklevel=caller_level())


def _check_same(first: pl.DataFrame, other: pl.DataFrame) -> None:
    """Refuse two models that were asked different questions: another right answer or another text under the same id."""
    texts = [name for name in _TEXTS if name in first.columns and name in other.columns]
    for name in ("gold", *texts):
        one, two = ((label_texts(t[name]) if name == "gold" else t[name].cast(pl.String)) for t in (first, other))
        differ = (one != two).fill_null(False)
        if differ.any():
            row = int(differ.arg_true()[0])
            message = f"{one[row]!r} for {first['model'][0]}, {two[row]!r} for {other['model'][0]}"
            bucket, variant = first["bucket"][row], first["variant"][row]
            place = (
                f"the original of bucket {bucket}" if variant in (None, "") else f"bucket {bucket}, variant {variant}"
            )
            fix = "compare models on the same problems and variants"
            if name == "gold" and (meaning := _same_label(one, two, row)):
                found, label = meaning
                fix += f"; if {found} means {label}, say so: --label {found}={label}"
                fix += f" (in Python labels={{{found!r}: {label!r}}})"
            raise BadInput(message, where=place, field=name, fix=fix)


def _same_label(one: pl.Series, other: pl.Series, row: int) -> tuple[str, str] | None:
    """The labels of a row in two tables, a number first, if they may be two names of one: neither table has both."""
    pair = one[row], other[row]
    if pair[1] in set(one) or pair[0] in set(other):
        return None
    return pair if pair[0].isdigit() and not pair[1].isdigit() else pair[::-1]


def _with_shared_clusters(cut: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """Give all tables the clusters of the one that names most of them."""
    cut = [one.with_columns(cluster_text()) if "cluster" in one.columns else one for one in cut]
    original = cut[0][_BUCKET].is_first_distinct()  # a bucket belongs where its original belongs, which comes first
    clustered = [one for one in cut if "cluster" in one.columns and one["cluster"].filter(original).count()]
    if not clustered:
        return cut
    best = min(clustered, key=lambda one: one["cluster"].filter(original).null_count())
    for one in clustered:
        pairs = pl.DataFrame({"a": best["cluster"], "b": one["cluster"]}).filter(original).drop_nulls()
        if pairs.n_unique() != pairs["a"].n_unique() or pairs.n_unique() != pairs["b"].n_unique():
            first, other = best["model"][0], one["model"][0]
            warnings.warn(
                f"{first} and {other} have different clusters; using those of {first}", stacklevel=caller_level()
            )
    return [one.with_columns(best["cluster"].alias("cluster")) for one in cut]
