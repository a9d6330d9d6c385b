"""Distances of variants from their originals: in words, in structure, and in the vectors of a sentence encoder.

A flip rate should be read with these: rewordings that change more flip more.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..answers.table import Answers, Array
from ..errors import BadInput, Unmeasurable, shorten
from ..frames import with_texts
from ..grammar.parsing import parser
from ..grammar.tree_distance import (
    Constituents,
    LabelledTree,
    dependency_tree,
    read_brackets,
    syntactic_distance,
    without_spaces,
)
from ..language_models.encoder import SentenceEncoder, load
from ..language_models.encoder_hf import load_regressor
from ..problem import RESERVED, TASKS
from ..registry import metrics
from ..storage import tables
from ..words.distance import jaccard, lexical_distance, refuse_fuzzy, token_overlap
from .metric import Metric, divide
from .shift import divergence, flipped_and_kept, unit_of

#: The fields of the built-in tasks, in the order in which their values are added up.
_KNOWN = ("premise", "hypothesis", "update", "obs1", "obs2", "hyp1", "hyp2")
Compare = Callable[[str, str], float]
#: The text of the original, and that of the variant.
Pair = tuple[str, str]
CompareAll = Callable[[Sequence[Pair]], Sequence[float]]


@metrics("jaccard.v1")
def jaccard_metric(fields: str = "", suite: Path = Path()) -> Any:
    """Shared words over all words of original and variant, averaged over variants (PaRTE keeps up to 0.75).

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    return averaged(each(jaccard), fields, suite)


@metrics("lexical_distance.v1")
def lexical_distance_metric(fields: str = "", suite: Path = Path()) -> Any:
    """Edits between the words of original and variant in any order, averaged over variants (`lex` in ParaNLU).

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    return averaged(each(lexical_distance), fields, suite)


@metrics("token_overlap.v1")
def token_overlap_metric(fuzzy: float = 1.0, fields: str = "", suite: Path = Path()) -> Any:
    """Share of the original's words that the variant has, too (at least `fuzzy` alike), averaged over variants.

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    refuse_fuzzy(fuzzy)
    return averaged(each(partial(token_overlap, fuzzy=fuzzy)), fields, suite)


@metrics("syntactic_distance.v1", language="en", extra="spacy", example='syntactic_distance(pipeline="")')
def syntactic_distance_metric(
    pipeline: str = "", level: int = 3, fields: str = "", suite: Path = Path(), trees: Path = Path()
) -> Any:
    """Edits between the parse trees of original and variant over the nodes of both, averaged over variants.

    `trees` is a file of constituency trees in brackets, which ParaNLU compares: a .txt with a line for each text, whose
    words say which it is; or a table of `text` and `tree`. Without it, `pipeline` is the spaCy pipeline that parses,
    and dependency trees with the words' functions as labels stand in: such numbers compare with each other, not with
    the paper's. `level` is how far down trees are compared (0: all of them). `fields` names the text columns, with
    commas between; `suite` a table of id and texts, for answers without them.
    """
    if level < 0:
        raise BadInput(f"found {level}", where="syntactic_distance", field="level", fix="give 1 or more, or 0 for all")
    if trees != Path():
        if pipeline:
            fix = "leave one out: the pipeline would parse what the file has trees of"
            raise BadInput("both are given", where="syntactic_distance", field="trees", fix=fix)
        return averaged(_compare_trees(partial(find_trees, read_trees(trees), trees, level or -1)), fields, suite)
    parse = parser(pipeline)

    def trees_of(texts: Sequence[str]) -> Iterator[LabelledTree]:
        return (dependency_tree(nodes, level or -1) for nodes in parse(texts))

    return averaged(_compare_trees(trees_of), fields, suite, identity=parse.identity)


def _compare_trees(trees_of: Callable[[Sequence[str]], Iterable[LabelledTree]]) -> CompareAll:
    def compare(pairs: Sequence[Pair]) -> list[float]:
        # White space is no structure, and should not mislead a parser.
        pairs = [(" ".join(one.split()), " ".join(other.split())) for one, other in pairs]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair if pair[0] != pair[1]))
        trees = dict(zip(texts, trees_of(texts), strict=True))
        return [0.0 if one == other else syntactic_distance(trees[one], trees[other]) for one, other in pairs]

    return compare


def read_trees(path: Path) -> dict[str, Constituents]:
    """The trees of a file in brackets, by the words of their text without spaces."""
    if path.suffix == ".txt":
        lines = enumerate(_lines(path), 1)
        return {one.words: one for number, line in lines if (one := _tree(line, f"{path}:{number}"))}
    table = tables.read(path, ["text", "tree"])
    if missing := [name for name in ("text", "tree") if name not in table.columns]:
        fix = f"give a .txt with a line of trees for each text, or a table of both; found {', '.join(table.columns)}"
        raise BadInput("no such column", where=str(path), field=missing[0], fix=fix)
    rows = enumerate(table.select("text", "tree").rows(), 1)
    found = {without_spaces(str(text)): _tree(str(tree), f"{path}, row {number}") for number, (text, tree) in rows}
    return {text: one for text, one in found.items() if one}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(path), field="trees", fix="give a text in UTF-8") from None


def _tree(brackets: str, where: str) -> Constituents | None:
    try:
        return read_brackets(brackets) if brackets.strip() else None
    except ValueError as error:
        fix = "write the trees of a text as (ROOT (S (NP (DT The) (NN dog)) ...)), all of them on one line"
        raise BadInput(str(error), where=where, fix=fix) from None


def find_trees(known: Mapping[str, Constituents], path: Path, level: int, texts: Sequence[str]) -> list[LabelledTree]:
    """The trees of texts down to a level; a text without one is refused."""
    keys = [without_spaces(text) for text in texts]
    if lacking := sorted(text for text, key in zip(texts, keys, strict=True) if key not in known):
        more = f" (of {len(lacking):,} texts)" if len(lacking) > 1 else ""
        fix = f"parse all originals and variants; the file has {len(known):,} texts"
        raise Unmeasurable(f"no tree of {shorten(lacking[0])}{more}", where=str(path), fix=fix)
    return [known[key].down_to(level) for key in keys]


# An encoder is named by the user, since none comes with the package; its own signature is signed, not a path.
@metrics("embedding_distance.v1", unsigned=("encoder",), extra="hf")
def embedding_distance(encoder: str, fields: str = "", suite: Path = Path()) -> Any:
    """Cosine distance between the sentence vectors of original and variant, averaged over variants: 0 to 2.

    `encoder` makes the vectors, as hf:NAME. `fields` names the text columns, with commas between; `suite` a table of
    id and texts, for answers without them.
    """
    model = load(encoder)
    return averaged(_distances(model), fields, suite, share=False, identity=model.signature, bounds=(0, 2))


@metrics("learned_similarity.v1", unsigned=("regressor", "device"), extra="hf")
def learned_similarity(
    regressor: str, max_length: int = 256, device: str = "auto", fields: str = "", suite: Path = Path()
) -> Any:
    """What a model trained to rate paraphrases gives original and variant, averaged over variants (`sem` in ParaNLU).

    `regressor` is any classifier of the Hugging Face ecosystem with one output, as hf:NAME or hf:FOLDER, which reads
    the original and then the variant: a BLEURT, or one trained on rated pairs. Its scale is its own. `max_length` is in
    tokens, of both texts; `device` is auto (cuda where there is one), cpu or cuda:N. `fields` names the text columns,
    with commas between; `suite` a table of id and texts, for answers without them.
    """
    rate = load_regressor(regressor, max_length, device)
    return averaged(rate, fields, suite, share=False, identity=rate.identity, bounds=(-math.inf, math.inf))


@metrics("embedding_jsd.v1", unsigned=("encoder",), extra="hf")
def embedding_jsd(
    encoder: str,
    fields: str = "",
    suite: Path = Path(),
    bins: int = 20,
    top: float = 0.4,
    base: str = "2",
    only_right: bool = False,
) -> Any:
    """Jensen-Shannon divergence between the cosine distances of variants that flipped and of those that did not.

    Near 0, what flips an answer is no farther from its original than what does not (Arakelyan et al. 2024, who found
    0.001 and do not say how they counted). The distances are counted in `bins` of equal width from 0 to `top`, those
    above in the last. With few flips in many bins, chance alone separates them: this describes, and has no interval.
    `encoder`, `fields` and `suite` are as in embedding_distance; `base` of the logarithm is 2 (bits) or e (nats);
    `only_right` looks at problems whose original is answered right, as the paper does.
    """
    _refuse_bins(bins, top)
    model, unit = load(encoder), unit_of(base)
    distance_of = by_variant(_distances(model), fields, suite)

    def statistics(answers: Answers) -> Array:
        place = np.minimum((distance_of(answers) / top * bins).astype(np.int64), bins - 1)
        sides = flipped_and_kept(answers, only_right)
        counts = answers.sum_by_bucket(*(side & (place == one) for side in sides for one in range(bins)))
        return np.column_stack([counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        sides = totals[..., :bins], totals[..., bins : 2 * bins]
        flipped, kept = (divide(side, side.sum(axis=-1, keepdims=True)) for side in sides)
        return divergence(flipped, kept) / unit

    # Drawn again, two histograms differ by chance as well: an interval would lie above the value.
    return Metric(
        statistics,
        combine,
        uses="both",
        share=False,
        interval=False,
        identity=model.signature,
        gold=only_right,
        blind=True,
    )


def _distances(model: SentenceEncoder) -> Any:
    """A function that gives the cosine distance of both texts of each pair; equal texts are not encoded."""

    def compare(pairs: Sequence[Pair]) -> list[float]:
        changed = [pair for pair in pairs if pair[0] != pair[1]]
        if empty := [pair for pair in changed if not all(text.strip() for text in pair)]:
            fix = "drop such variants, for example with the check `surface`"
            raise Unmeasurable(f"an empty text has no embedding: {shorten(empty[0])}", where=model.signature, fix=fix)
        distances = dict(zip(changed, (1 - model.cosines(changed)).tolist(), strict=True))
        return [distances.get(pair, 0.0) for pair in pairs]

    return compare


def _refuse_bins(bins: int, top: float) -> None:
    if bins < 2:
        raise BadInput(f"found {bins}", where="embedding_jsd", field="bins", fix="give 2 or more")
    if not 0 < top <= 2:
        fix = "give a distance above 0 and at most 2"
        raise BadInput(f"found {top!r}", where="embedding_jsd", field="top", fix=fix)


# What the metrics share


def averaged(compare: CompareAll, fields: str, suite: Path, **more: Any) -> Metric:
    """The mean over all variants of what `compare` finds between their texts and the original's; see `by_variant`."""
    values_of = by_variant(compare, fields, suite)

    def statistics(answers: Answers) -> Array:
        return np.column_stack([answers.add_by_bucket(values_of(answers), answers.is_variant), answers.n_variants])

    return Metric(statistics, compared=False, gold=False, blind=True, **more)


def by_variant(compare: CompareAll, fields: str, suite: Path) -> Callable[[Answers], Array]:
    """For every answer, the mean of a comparison with its original over their fields.

    `fields` names the text columns, with commas between, and all of them count; without it, those of the task's fields
    count that a variant changed, which in ParaNLU are both hypotheses of an a-NLI problem. The texts are columns of
    the answers, or else of the table `suite`, by the `id` of variant or original. Where no task is named, its fields
    are those of the built-in tasks that the table has.
    """
    named = tuple(name.strip() for name in fields.split(",") if name.strip())
    texts = cache(partial(tables.read, suite)) if suite != Path() else None  # once, not for every model and group
    known: dict[Pair, float] = {}

    def values_of(answers: Answers) -> Array:
        table = _texts(answers, named, texts() if texts else None)
        pairs = [_pairs(answers, table[name]) for name in table.columns]
        values = np.stack([_compared(pair, compare, known) for pair in pairs], axis=1)
        counts = np.stack([_differ(pair) for pair in pairs], axis=1)
        # All that is named counts, and a variant that changed nothing is as near as can be, not nowhere.
        counts |= bool(named) | ~counts.any(axis=1, keepdims=True)
        return np.asarray((values * counts).sum(axis=1) / counts.sum(axis=1))

    return values_of


def each(compare: Compare) -> CompareAll:
    """Compare the texts of one pair after the other."""
    return lambda pairs: [compare(*pair) for pair in pairs]


def _texts(answers: Answers, named: tuple[str, ...], suite: pl.DataFrame | None) -> pl.DataFrame:
    """The text fields of every answer, from its own table or by name from the suite's."""
    table = answers.frame if suite is None else suite
    wanted = named or tuple(name for name in answers.fields or _KNOWN if name in table.columns)
    if not wanted or (missing := [name for name in wanted if name not in table.columns]):
        raise _no_texts(answers, missing[0] if wanted else ", ".join(answers.fields or _KNOWN))
    others = [] if named or answers.fields else _other_texts(table, wanted)
    if suite is not None:
        table = with_texts(answers.frame, suite, [*wanted, *others], answers.model)
    table = table.select(pl.col([*wanted, *others]).cast(pl.String))
    for name in others:
        if (_differ(_pairs(answers, table[name])) & answers.is_variant).any():
            fix = f"give the task, or the text columns: fields={','.join((*wanted, name))}"
            raise Unmeasurable("variants change an undeclared column", where=answers.model, field=name, fix=fix)
    return table.select(pl.col(wanted).fill_null(""))


def _other_texts(table: pl.DataFrame, known: tuple[str, ...]) -> list[str]:
    """Columns that may be texts of a task of the user's own: a change in one of them must not be missed.

    There are none where the table has all fields of a built-in task.
    """
    if any(set(task.fields) - set(task.optional) <= set(known) for task in TASKS.values()):
        return []
    texts = (name for name, kind in table.schema.items() if kind == pl.String and ":" not in name)
    return [name for name in texts if name not in RESERVED and name not in known]


def _no_texts(answers: Answers, field: str) -> Unmeasurable:
    fix = "set fields= to the text columns, or suite= to a table with id and texts (such as a run's buckets folder)"
    return Unmeasurable("no texts", where=answers.model, field=field, fix=fix)


def _pairs(answers: Answers, text: pl.Series) -> pl.DataFrame:
    """The text of every answer's original, and its own."""
    return pl.DataFrame({"one": text.gather(answers.originals).gather(answers.bucket), "other": text})


def _differ(pairs: pl.DataFrame) -> Array:
    """Which pairs have two texts that differ."""
    return (pairs["one"] != pairs["other"]).fill_null(False).to_numpy()


def _compared(pairs: pl.DataFrame, compare: CompareAll, known: dict[Pair, float]) -> Array:
    """Compare texts; the same two are compared once, for all models and groups."""
    distinct = pairs.unique()
    rows = [(str(one), str(other)) for one, other in distinct.iter_rows()]
    new = [row for row in rows if row not in known]
    known.update(zip(new, compare(new) if new else (), strict=True))
    values = pl.Series("value", [known[row] for row in rows], dtype=pl.Float64)
    compared = pairs.join(distinct.with_columns(values), on=["one", "other"], how="left", maintain_order="left")
    return compared["value"].to_numpy()
