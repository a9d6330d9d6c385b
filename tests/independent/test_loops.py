"""The package and independent loops agree on random tables: every metric, its counts and its interval.

`loops` was written from the definitions alone. Here are the tables: small and odd ones, with problems without variants,
ties, clusters, several models, contrasts, controls, labels of all kinds, and without gold labels or originals.
"""

from __future__ import annotations

import inspect
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import loops
import otherwords as ow
import polars as pl
import pytest
from loops import Answers, Bucket, Number
from typer.testing import CliRunner

from otherwords.cli.app import app

pytestmark = pytest.mark.filterwarnings("ignore")

TABLES = 200
CHUNKS = 8
#: Metrics that need a model or a program of their own, and so have no loop here.
EXEMPT = {
    "embedding_distance": "needs an encoder",
    "embedding_jsd": "needs an encoder",
    "syntactic_distance": "needs a parser",
    "python": "calls a function of the user's",
}
LABELS = [
    ["entailment", "neutral", "contradiction"],
    ["entailment", "neutral", "contradiction"],
    ["entailment", "not_entailed"],
    ["yes", "no"],
    ["0", "1", "2"],
    ["0", "00", "A.", "b c"],
    ["x>y", "été", "'q'", "N"],
]
NLI = LABELS[0]


@dataclass
class Table:
    """A random table: its rows, its labels, and the metrics to score it with (options by name)."""

    seed: int
    rows: list[dict[str, Any]]
    labels: list[str]
    probabilities: bool
    gold: bool
    originals: bool
    texts: bool
    models: list[str]
    specs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def frame(self) -> pl.DataFrame:
        """As a user has it."""
        columns: dict[str, list[Any]] = {}
        names = ["bucket", "variant", "pred", "gold", "model", "cluster", "contrast", "control", "premise", "hypothesis"]
        for name in names:
            values = [row.get(name) for row in self.rows]
            if any(value is not None for value in values):
                columns[name] = values
        if self.probabilities:
            for label in self.labels:
                columns[f"p:{label}"] = [float(row["p"][label]) for row in self.rows]
        return pl.DataFrame(columns)

    def answers(self, model: str) -> Answers:
        """As the loops have it."""
        return loops.collect([row for row in self.rows if row["model"] == model], self.seen(model))

    def seen(self, model: str = "") -> list[str]:
        """The labels that occur in the table: contrasts and controls enter no other metric, nor do their labels."""
        if self.probabilities:
            return self.labels
        rows = [row for row in self.rows if not model or row["model"] == model]
        rows = [row for row in rows if not row.get("contrast") and not row.get("control")]
        found = {row[name] for row in rows for name in ("gold", "pred") if row.get(name) is not None}
        return [label for label in self.labels if label in found]


def make_table(seed: int) -> Table:
    """Draw a table in which all models know the same labels; everything about it hangs on the seed."""
    draw = random.Random(f"table {seed}")
    table = _draw_table(draw, seed)
    while len({tuple(table.answers(model).labels) for model in table.models}) > 1:
        table = _draw_table(draw, seed)
    table.specs = choose_metrics(table, draw)
    return table


def _draw_table(draw: random.Random, seed: int) -> Table:
    labels = draw.choice(LABELS)
    table = Table(
        seed=seed,
        rows=[],
        labels=labels,
        probabilities=draw.random() < 0.6,
        gold=draw.random() < 0.9,
        originals=draw.random() < 0.9,
        texts=draw.random() < 0.25,
        models=[f"m{i}" for i in range(draw.choice([1] * 7 + [2, 3]))],
    )
    problems = draw.choice([1, 2, 3, 5, 8, 13, 20, 30, 40])
    most = draw.choice([1, 2, 3, 5, 8])
    shape = _shape(draw, table, problems, most)
    for model in table.models:
        habit = draw.choice([0.3, 0.7, 0.9, 0.98, 1.0])
        for row in shape:
            table.rows.append({**row, "model": model, **_answer(draw, table, row, habit)})
    if draw.random() < 0.3:
        draw.shuffle(table.rows)
    _hide(table)
    return table


def _shape(draw: random.Random, table: Table, problems: int, most: int) -> list[dict[str, Any]]:
    """The rows that every model answers: problems with variants, controls, and contrasts."""
    clusters = draw.choice([0, 0, 1 + problems // 3, problems])
    controls = draw.choice([[], [], ["identity"], ["identity", "scramble"]]) if table.originals else []
    rows: list[dict[str, Any]] = []
    for i in range(problems):
        variants = draw.randint(0, most) if i else most  # the first has some
        if not table.originals:
            variants = max(variants, 1)
        name = f"b{i}"
        common = {"bucket": name, "gold": draw.choice(table.labels), "theta": draw.choice([0.0, 0.5, 0.9, 1.0])}
        if clusters:
            common["cluster"] = f"c{draw.randrange(clusters)}"
        texts = _texts(draw, None) if table.texts else {}
        if table.originals:
            rows.append({**common, "variant": None, **texts})
        for j in range(variants):
            rows.append({**common, "variant": f"{name}-{j}", **(_texts(draw, texts) if table.texts else {})})
        for control in controls:
            if i == 0 or draw.random() < 0.4:
                extra = _texts(draw, texts) if table.texts else {}
                rows.append({**common, "variant": f"{name}-{control}", "control": control, **extra})
    return rows + (_contrasts(draw, table) if table.originals and table.gold else [])


def _contrasts(draw: random.Random, table: Table) -> list[dict[str, Any]]:
    rows = []
    for suite in draw.choice([[], [], ["mine"], ["mine", "yours"]]):
        for i in range(draw.randint(1, 6)):
            name = f"{suite}{i}"
            gold = draw.choice(table.labels)
            common = {"bucket": name, "contrast": suite, "theta": draw.choice([0.5, 0.9])}
            texts = _texts(draw, None) if table.texts else {}
            rows.append({**common, "variant": None, "gold": gold, **texts})
            for j in range(draw.randint(1, 3)):
                other = draw.choice([label for label in table.labels if label != gold] + ([gold] if j else []))
                extra = _texts(draw, texts) if table.texts else {}
                rows.append({**common, "variant": f"{name}-{j}", "gold": other, **extra})
    return rows


def _answer(draw: random.Random, table: Table, row: Mapping[str, Any], habit: float) -> dict[str, Any]:
    """An answer, right as often as the problem and the model allow, with the highest probability where there are."""
    good = draw.random() < (row["theta"] + habit) / 2
    pred = row["gold"] if good else draw.choice(table.labels)
    if not table.probabilities:
        return {"pred": pred}
    units = draw.choice([2, 4, 10, 10, 100])
    parts = [0] * len(table.labels)
    for _ in range(units):
        parts[draw.randrange(len(parts))] += 1
    top = parts.index(max(parts))
    place = table.labels.index(pred)
    parts[top], parts[place] = parts[place], parts[top]
    return {"pred": pred, "p": {label: Fraction(n, units) for label, n in zip(table.labels, parts, strict=True)}}


WORDS = "a man the dog sleeps runs slept Dogs, men on in grass! it's red-brown table run".split()


def _texts(draw: random.Random, original: Mapping[str, str] | None) -> dict[str, str]:
    """A premise and a hypothesis, or those of a variant, in which one or both have other words."""
    if original is None:
        return {name: " ".join(draw.choices(WORDS, k=draw.randint(1, 6))) for name in ("premise", "hypothesis")}
    changed = dict(original)
    for name in draw.choice([["premise"], ["hypothesis"], ["premise", "hypothesis"]]):
        words = original[name].split()
        words[draw.randrange(len(words))] = draw.choice(WORDS)
        if draw.random() < 0.3:
            words.append(draw.choice(WORDS))
        changed[name] = " ".join(words)
    return changed


def _hide(table: Table) -> None:
    for row in table.rows:
        del row["theta"]
        if not table.gold:
            row["gold"] = None


# Which metrics a table allows, and with which options


def choose_metrics(table: Table, draw: random.Random) -> dict[str, dict[str, Any]]:
    """Every metric that the table allows, each with one choice of its options."""
    merge = draw.choice(["+".join(draw.sample(table.labels, 2)), "+".join(table.labels)])
    if len(table.seen()) < len(table.labels) or table.labels == NLI:
        merge = "neutral+contradiction" if table.labels == NLI else ""
    by = draw.choice(["argmax", "probability"]) if table.probabilities else "argmax"
    opposite = "" if table.labels == NLI or len(table.labels) == 2 else "<->".join(table.labels[:2])
    k, of = draw.randint(1, 5), draw.choice([0, 0, 1, 2, 3])
    options: dict[str, dict[str, Any]] = {
        "pa": {"at": draw.choice([0.9, 0.5, 0.7, 0.6, 1.0, 0.29]), "of": of},
        "pa_curve": {"step": draw.choice([0.05, 0.25, 0.1, 0.2]), "of": of},
        "pa_drop": {"at": draw.choice([0.9, 0.5, 0.75]), "of": of},
        "matching_threshold": {"of": of},
        "majority_vote": {"original": draw.random() < 0.7 and table.originals},
        "vote_gain": {"original": draw.random() < 0.7},
        "vap": {"weights": draw.choice(["buckets", "answers"])},
        "pvap": {"weights": draw.choice(["buckets", "answers"])},
        "flips_by_margin": {"bins": draw.choice([1, 2, 3, 5, 10])},
        "flip_rate_merged": {"merge": merge, "by": by},
        "accuracy_merged": {"merge": merge, "by": by},
        "flips_lost_by_merging": {"merge": merge},
        "r_s": {"opposite": opposite},
        "r_s_without_neutral": {"opposite": opposite},
        "r_s_at": {"k": k, "opposite": opposite},
        "r_s_without_neutral_at": {"k": k, "opposite": opposite},
        "r_r_at": {"k": k},
        "too_few_variants": {"k": draw.randint(1, 6)},
        "hard_cases": {"every": draw.random() < 0.5},
        "ks": {"bins": draw.choice([100, 10, 7])},
    }
    for name in ("jsd_pairs", "jsd_means", "ks", "sigma"):
        options.setdefault(name, {})["only_right"] = table.gold and draw.random() < 0.4
    for name in ("jsd_pairs", "jsd_means"):
        options[name]["base"] = draw.choice(["2", "e"])
    allowed = [name for name in LOOPS if name in metrics() and _allows(table, name, merge, options.get(name, {}))]
    return {name: options.get(name, {}) for name in allowed}


PROBABILITIES = ("flips_by_margin", "jsd_pairs", "jsd_means", "ks", "sigma")
TEXTS = ("jaccard", "token_overlap", "lexical_distance")
CONTRASTS = ("sensitivity", "contrast_accuracy", "contrast_consistency")
ACROSS = ("snr", "hard_cases", "never_right")
TESTSET = ("accuracy_corrected", "p_c_corrected", "p_c_distinct_corrected", "coverage", "accuracy_testset")


def _allows(table: Table, name: str, merge: str, options: Mapping[str, Any]) -> bool:
    """The table has what the metric needs."""
    needs = metrics()[name]
    if name == "majority_vote" and not options["original"]:
        needs = "gold labels"
    if name in TESTSET:
        return False
    if name in TEXTS and not table.texts:
        return False
    if name in PROBABILITIES and not table.probabilities:
        return False
    if name in CONTRASTS:
        return any(row.get("contrast") for row in table.rows)
    if name == "control_flips" and not any(row.get("control") for row in table.rows):
        return False
    if "opposite" in inspect.signature(LOOPS[name]).parameters and not loops.opposites(
        table.seen(), options.get("opposite", "")
    ):
        return False
    if options.get("opposite") and not set(options["opposite"].split("<->")) <= set(table.seen()):
        return False
    if "merge" in options and (not merge or not set(merge.split("+")) <= set(table.seen())):
        return False
    return (table.gold or "gold" not in needs) and (table.originals or "originals" not in needs)


@cache
def metrics() -> dict[str, str]:
    """The registered metrics and what each needs, from the command line's listing."""
    listing = CliRunner().invoke(app, ["list", "metrics", "--json"]).stdout
    return {row["name"].partition(".")[0]: row["needs"] for row in json.loads(listing)}


#: Loops by the metric's name; a loop of a metric that is not registered waits for it.
LOOPS: dict[str, Callable[..., dict[str, Number]]] = {
    name: loop for name, loop in vars(loops).items() if callable(loop) and name in metrics()
}


# What is expected, and what the package gives


Key = tuple[str, str, str | None]


def expected(table: Table) -> dict[Key, Number]:
    """The numbers of the loops, by metric, model and group."""
    every = {model: table.answers(model) for model in table.models}
    found: dict[Key, Number] = {}
    for name, options in table.specs.items():
        loop = LOOPS[name]
        if name in ACROSS:
            _add(found, name, ACROSS_MODEL, None, loop(list(every.values()), **options))
            continue
        for model, answers in every.items():
            for group, data in _groups(name, answers):
                extra = {"fields": ["premise", "hypothesis"]} if name in TEXTS else {}
                _add(found, name, model, group, loop(data, **options, **extra))
    return found


#: Whose score a number over all models is.
ACROSS_MODEL = "(all)"


def _add(found: dict[Key, Number], name: str, model: str, group: str | None, numbers: Mapping[str, Number]) -> None:
    for part, number in numbers.items():
        found[f"{name}:{part}" if part else name, model, group] = number


def _groups(name: str, data: Answers) -> list[tuple[str | None, Answers]]:
    """All data; contrasts by suite, too, where there are several; several controls only one by one."""
    if name in CONTRASTS:
        suites = _apart(data.contrasts, "contrast")
        parts = [(f"contrast={one}", Answers([], data.labels, contrasts=suites[one])) for one in suites]
        return [(None, data), *(parts if len(parts) > 1 else [])]
    if name == "control_flips":
        kinds = _apart(data.controls, "control")
        if len(kinds) > 1:
            return [(f"control={one}", Answers([], data.labels, controls=kinds[one])) for one in kinds]
    return [(None, data)]


def _apart(buckets: Sequence[Bucket], column: str) -> dict[str, list[Bucket]]:
    found: dict[str, list[Bucket]] = {}
    for bucket in buckets:
        for name in sorted({row[column] for row in bucket.variants}):
            rows = [row for row in bucket.variants if row[column] == name]
            found.setdefault(name, []).append(Bucket(bucket.name, bucket.cluster, bucket.original, rows))
    return found


def spell(name: str, options: Mapping[str, Any]) -> str:
    """A metric with its options, as a user writes it."""
    if not options:
        return name
    return f"{name}({', '.join(f'{key}={json.dumps(value, ensure_ascii=False)}' for key, value in options.items())})"


def given(table: Table) -> dict[Key, ow.Score]:
    """The scores of the package, in the same order of parts."""
    names = [spell(name, options) for name, options in table.specs.items()]
    found: dict[Key, ow.Score] = {}
    bins = 0
    for score in ow.score(table.frame(), names, replicates=2):
        metric = score.metric
        if metric.startswith("flips_by_margin:"):  # bins in their order
            metric = f"flips_by_margin:{bins}"
            bins = (bins + 1) % table.specs["flips_by_margin"]["bins"]
        assert (metric, score.model, score.group) not in found
        found[metric, score.model, score.group] = score
    return found


@cache
def scored(seed: int) -> tuple[dict[Key, ow.Score], dict[Key, Number]]:
    table = make_table(seed)
    return given(table), expected(table)


def chunk(number: int) -> range:
    return range(number, TABLES, CHUNKS)


def near(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    if one is None or other is None:
        return one is None and other is None
    return abs(float(one) - float(other)) <= tolerance


def test_no_metric_is_forgotten() -> None:
    missing = set(metrics()) - set(LOOPS) - set(EXEMPT)
    assert not missing, f"write a loop from its definition for {sorted(missing)}"
    assert set(EXEMPT) <= set(metrics())


def test_every_metric_is_measured_on_many_tables() -> None:
    counts = Counter(name for seed in range(TABLES) for name in make_table(seed).specs)
    few = {name: counts[name] for name in LOOPS if name not in TESTSET and counts[name] < 20}
    assert not few


@pytest.mark.parametrize("number", range(CHUNKS))
def test_values_and_counts_are_those_of_the_loops(number: int) -> None:
    wrong = []
    for seed in chunk(number):
        scores, numbers = scored(seed)
        assert set(scores) == set(numbers), seed
        for key, number in numbers.items():
            score = scores[key]
            found = (score.n_units, score.n_answers)
            if not near(score.value, number.value) or found != (number.units, number.answers):
                wrong.append((seed, key, score.value, number.value, found, (number.units, number.answers)))
    assert not wrong, wrong[:20]
