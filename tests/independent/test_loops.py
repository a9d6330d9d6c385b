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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import loops
import polars as pl
import pytest
from loops import Answers, Bucket, Number
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app

pytestmark = pytest.mark.filterwarnings("ignore")

TABLES = 200
#: The tables of the fast suite.
FAST = 10
#: Metrics that need a model or a program of their own, and so have no loop here.
EXEMPT = {
    "embedding_distance": "needs an encoder",
    "embedding_jsd": "needs an encoder",
    "learned_similarity": "needs a regressor",
    "syntactic_distance": "needs a parser",
    "python": "calls a function of the user's",
}
#: The ends of the scale of what is no share.
BOUNDS = {"sigma": (0.0, 0.5), "vap": (0.0, 0.25), "fleiss_kappa": (-1.0, 1.0), "pvap_distinct": (0.0, 2.0)}
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
#: Ways to write a label that mean the same.
SPELLINGS: list[Callable[[str], str]] = [str, str.upper, str.title, " {} ".format, lambda one: one.replace(" ", "_")]


def seeds(fast: int, whole: int) -> list[Any]:
    """Seeds from 0: the first ones for the fast suite, all of them for the slow one."""
    return [*range(fast), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(fast, whole))]


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
    #: The labels of the table that these rows are a part of.
    known: list[str] = field(default_factory=list)
    #: How often the same was asked again, by way.
    again: dict[str, int] = field(default_factory=dict)
    #: Whether it says what the labels had of the probability.
    mass: bool = False

    def frame(self) -> pl.DataFrame:
        """As a user has it."""
        columns: dict[str, list[Any]] = {}
        names = [
            "bucket",
            "variant",
            "pred",
            "gold",
            "model",
            "cluster",
            "contrast",
            "control",
            "premise",
            "hypothesis",
        ]
        for name in names:
            values = [row.get(name) for row in self.rows]
            if any(value is not None for value in values):
                columns[name] = values
        repeats = [(way, number) for way, count in self.again.items() for number in range(1, count + 1)]
        for way, number in repeats:
            columns[f"again:{way}:{number}"] = [row["again"][way][number - 1] for row in self.rows]
        if self.mass:
            columns["label_mass"] = [None if row["mass"] is None else float(row["mass"]) for row in self.rows]
        draw = random.Random(f"frame {self.seed}")
        if self.probabilities:
            for label in draw.sample(self.labels, len(self.labels)):
                columns[f"p:{label}"] = [float(row["p"][label]) for row in self.rows]
            if draw.random() < 0.3:  # labels are spelled as in the columns p:
                columns["pred"] = [draw.choice(SPELLINGS)(pred) for pred in columns["pred"]]
        return pl.DataFrame(columns)

    def answers(self, model: str) -> Answers:
        """As the loops have it."""
        return loops.collect([row for row in self.rows if row["model"] == model], self.seen())

    def seen(self) -> list[str]:
        """The labels: those of the columns p:, else those that occur anywhere in the table."""
        if self.probabilities or self.known:
            return self.known or self.labels
        found = {row[name] for row in self.rows for name in ("gold", "pred") if row.get(name) is not None}
        return [label for label in self.labels if label in found]


def make_table(seed: int) -> Table:
    """Draw a table; everything about it hangs on the seed."""
    draw = random.Random(f"table {seed}")
    table = _draw_table(draw, seed)
    _make_unreadable(table)
    _ask_again(table)
    _weigh_labels(table)
    table.specs = choose_metrics(table, draw)
    return table


def _make_unreadable(table: Table) -> None:
    """Of some tables without probabilities, answers that could not be read: a label of their own."""
    draw = random.Random(f"unreadable {table.seed}")
    if table.probabilities or draw.random() < 0.5:
        return
    table.labels = [*table.labels, "unreadable"]
    for row in table.rows:
        row["pred"] = "unreadable" if draw.random() < 0.15 else row["pred"]


def _ask_again(table: Table) -> None:
    """Of some tables, answers to the same, asked again; some cells are empty, but none of a model's first row."""
    draw = random.Random(f"again {table.seed}")
    table.again = draw.choice([{}, {"usual": 1}, {"usual": 2, "cold": 1}, {"cold": 2}, {"usual": 3, "cold": 2}])
    labels, habit = table.seen(), draw.choice([0.6, 0.9, 1.0])
    begun = set()
    for row in table.rows:
        whole = row["model"] not in begun and not row.get("contrast") and not row.get("control")
        begun |= {row["model"]} if whole else set()
        row["again"] = {
            way: [_repeat(draw, row["pred"], labels, habit, whole) for _ in range(count)]
            for way, count in table.again.items()
        }


def _weigh_labels(table: Table) -> None:
    """Of some tables, what the labels had of the probability; some servers did not return it, but all with one."""
    draw = random.Random(f"mass {table.seed}")
    table.mass = draw.random() < 0.5
    begun = set()
    for row in table.rows:
        whole = row["model"] not in begun and not row.get("contrast") and not row.get("control")
        begun |= {row["model"]} if whole else set()
        row["mass"] = Fraction(draw.randint(0, 100), 100) if whole or draw.random() < 0.7 else None


def _repeat(draw: random.Random, pred: str, labels: Sequence[str], habit: float, whole: bool) -> str | None:
    given = pred if draw.random() < habit else draw.choice(labels)
    return None if draw.random() < 0.1 and not whole else given


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
    full = draw.random() < 0.8
    controls = draw.choice([[], [], ["identity"], ["identity", "scramble"]]) if table.originals else []
    rows: list[dict[str, Any]] = []
    for i in range(problems):
        variants = draw.randint(0, most) if i else most  # the first has some
        if not table.originals:
            variants = max(variants, 1)
        name = f"b{i}"
        common = {"bucket": name, "gold": draw.choice(table.labels), "theta": draw.choice([0.0, 0.5, 0.9, 1.0])}
        if clusters and (full or draw.random() < 0.8):  # without one, a problem is a cluster of its own
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


TEXT = "a man the dog sleeps runs slept Dogs, men on in grass! it's red-brown table run"
WORDS = TEXT.split(" ")


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
        "accuracy_worst": {"k": draw.choice([1, 2, 5, 20])},
        "flip_worst": {"k": draw.choice([1, 2, 5, 20])},
        "r_r_worst": {"k": draw.choice([1, 2, 5, 20])},
        "ks": {"bins": draw.choice([100, 10, 7])},
        "ks_split": {"bins": draw.choice([100, 10, 7])},
    }
    ways = [way for way, count in table.again.items() if way == "usual" or count > 1]
    way = random.Random(f"way {table.seed}").choice(["", *ways])
    options |= {"repeat_flips": {"way": way}, "flip_rate_net": {"way": way}}
    for name in ("jsd_pairs", "jsd_means", "ks", "ks_split", "ks_labels", "sigma"):
        options.setdefault(name, {})["only_right"] = table.gold and draw.random() < 0.4
    for name in ("jsd_pairs", "jsd_means"):
        options[name]["base"] = draw.choice(["2", "e"])
    allowed = [name for name in LOOPS if name in metrics() and _allows(table, name, merge, options.get(name, {}))]
    return {name: options.get(name, {}) for name in allowed}


PROBABILITIES = ("flips_by_margin", "jsd_pairs", "jsd_means", "ks", "ks_split", "ks_labels", "sigma")
TEXTS = ("jaccard", "token_overlap", "lexical_distance")
CONTRASTS = ("sensitivity", "contrast_accuracy", "contrast_consistency")
REPEATS = ("repeat_flips", "flip_rate_net", "way_flips")
ACROSS = ("snr", "hard_cases", "never_right", "template_flips")
#: These models have no templates: what compares them has a test of its own.
APART = ("template_flips",)
TESTSET = ("accuracy_corrected", "p_c_corrected", "p_c_distinct_corrected", "coverage", "accuracy_testset")


def _allows(table: Table, name: str, merge: str, options: Mapping[str, Any]) -> bool:
    """The table has what the metric needs."""
    needs = metrics()[name]
    if name == "majority_vote" and not options["original"]:
        needs = "gold labels"
    if (
        name in APART
        or name in TESTSET
        or (name in REPEATS and not table.again)
        or (name == "label_mass" and not table.mass)
        or (name == "way_flips" and "cold" not in table.again)
    ):
        return False
    if name in TEXTS and not table.texts:
        return False
    if name == "flip_directions" and len(table.seen()) < 2:
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
    """The scores of the package, with bins by their number."""
    scores = ow.score(table.frame(), [spell(*spec) for spec in table.specs.items()], replicates=2)
    bins = table.specs.get("flips_by_margin", {}).get("bins", 0)
    return {(name, score.model, score.group): score for name, score in zip(numbered(scores, bins), scores, strict=True)}


def numbered(results: Sequence[Any], bins: int) -> list[str]:
    """The metrics' names; bins have their number instead of their ends, as in the loops."""
    names = []
    seen = 0
    for one in results:
        if one.metric.startswith("flips_by_margin:"):
            names.append(f"flips_by_margin:{seen % bins}")
            seen += 1
        else:
            names.append(one.metric)
    return names


def near(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    if one is None or other is None:
        return one is None and other is None
    return abs(float(one) - float(other)) <= tolerance


def ends_agree(found: Any, ends: tuple[float, float] | None, tolerance: float = 1e-9) -> bool:
    low, high = ends or (None, None)
    return near(found.low, low, tolerance) and near(found.high, high, tolerance)


def is_share(number: Number) -> bool:
    """A ratio of sums of what is right or wrong: METHODS 7.1 is about these above all."""
    return number.combine is loops.divide


def is_constant(table: Table, metric: str) -> bool:
    """The labels allow one value only, which has no interval."""
    merge = table.specs[metric].get("merge")
    all_merged = bool(merge) and set(table.seen()) <= set(merge.split("+")) and metric != "flips_lost_by_merging"
    return all_merged or (metric == "flip_wrong_to_wrong" and len(table.seen()) <= 2)


def problems_with(score: ow.Score, number: Number, metric: str, constant: bool) -> list[str]:
    """What a score and its loop do not agree on."""
    wrong = []
    if not near(score.value, number.value):
        wrong.append(f"value {score.value}, loop {number.value}")
    if (score.n_units, score.n_answers) != (number.units, number.answers):
        wrong.append(f"counts {score.n_units}, {score.n_answers}, loop {number.units}, {number.answers}")
    if number.weights:
        evidence = (len(number.weights), loops.kish(number.weights.values()))
        if score.n_clusters != evidence[0] or not near(score.n_effective, evidence[1], 1e-6):
            wrong.append(f"clusters {score.n_clusters}, {score.n_effective}, loop {evidence}")
    if not constant:
        wrong += problems_with_interval(score, number, metric)
    elif score.interval or score.low is not None:
        wrong.append(f"interval {score.interval} of what is constant")
    return wrong


def problems_with_interval(score: ow.Score, number: Number, metric: str) -> list[str]:
    """Shares must have the interval of METHODS 7.1, differences that of 7.2; others, where they have one, the same."""
    closed = is_share(number) or number.sides or number.noisy is not None or metric in LINEARISED
    number.bounds = BOUNDS.get(metric, (0.0, 1.0))
    if not closed and score.interval != "wilson":
        return []
    if undrawn(score):
        return []
    ends = loops.interval(number)
    if (score.interval in ("wilson", "mover", "net")) != (ends is not None):
        return [f"interval {score.interval!r} ({score.note}), loop {ends}"]
    exact = is_share(number) or number.sides or number.noisy is not None
    if not ends_agree(score, ends, 1e-9 if exact else 1e-6):
        return [f"ends {score.low}, {score.high} ({score.interval}), loop {ends}"]
    return []


def undrawn(found: Any) -> bool:
    """No interval, because replicates, of which there are only a few here, had no value, or few clusters decide it."""
    return found.note.startswith(("no value in", "too few clusters"))


#: Functions of several sums that must have the linearised interval.
LINEARISED = {"accuracy_worst", "flip_worst", "r_r_worst"}


def test_no_metric_is_forgotten() -> None:
    missing = set(metrics()) - set(LOOPS) - set(EXEMPT)
    assert not missing, f"write a loop from its definition for {sorted(missing)}"
    assert set(EXEMPT) <= set(metrics())


def test_every_metric_is_measured_on_many_tables() -> None:
    counts = Counter(name for seed in range(TABLES) for name in make_table(seed).specs)
    few = {name: counts[name] for name in LOOPS if name not in (*TESTSET, *APART) and counts[name] < 30}
    assert not few


@pytest.mark.parametrize(
    "seeds",
    [
        *(range(start, start + 10) for start in range(0, FAST, 10)),
        *(pytest.param(range(start, start + 10), marks=pytest.mark.slow) for start in range(FAST, TABLES, 10)),
    ],
    ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}",
)
def test_values_counts_and_intervals_are_those_of_the_loops(seeds: range) -> None:
    wrong = []
    for seed in seeds:
        table = make_table(seed)
        scores, numbers = given(table), expected(table)
        assert set(scores) == set(numbers), seed
        for key, number in numbers.items():
            name = key[0].partition(":")[0]
            found = problems_with(scores[key], number, name, is_constant(table, name))
            wrong += [f"table {seed}: {spell(name, table.specs[name])} {key}: {problem}" for problem in found]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_arrays_are_measured_like_tables(seed: int) -> None:
    table = make_table(1000 + seed)
    table.models = table.models[:1]
    table.rows = [
        row for row in table.rows if row["model"] == "m0" and not row.get("contrast") and not row.get("control")
    ]
    other = (*ACROSS, *TEXTS, *CONTRASTS, "control_flips")
    names = [name for name, options in table.specs.items() if name not in other and _labels_are_there(table, options)]
    columns: dict[str, Any] = {name: [row.get(name) for row in table.rows] for name in ("bucket", "variant", "pred")}
    if table.gold:
        columns["gold"] = [row["gold"] for row in table.rows]
    if any(row.get("cluster") for row in table.rows):
        columns["cluster"] = [row.get("cluster") for row in table.rows]
    if table.probabilities:
        columns["p"] = {label: [float(row["p"][label]) for row in table.rows] for label in table.labels}
    if table.again:
        times = {way: range(count) for way, count in table.again.items()}
        columns["again"] = {way: [[row["again"][way][i] for row in table.rows] for i in n] for way, n in times.items()}
    if table.mass:
        columns["label_mass"] = [None if row["mass"] is None else float(row["mass"]) for row in table.rows]
    data = table.answers("m0")
    for name in random.Random(seed).sample(names, min(8, len(names))):
        numbers = LOOPS[name](data, **table.specs[name])
        part, number = list(numbers.items())[-1]
        if name == "flips_by_margin":  # named after its ends
            continue
        if number.value is None:
            with pytest.raises(ow.OtherwordsError):
                ow.measure(spell(name, table.specs[name]), **columns, part=part)
            continue
        score = ow.measure(spell(name, table.specs[name]), **columns, part=part, replicates=2)
        assert not problems_with(score, number, name, is_constant(table, name)), (name, part)


def _labels_are_there(table: Table, options: Mapping[str, Any]) -> bool:
    """The labels that options name still occur without contrasts and controls."""
    named = [*options.get("merge", "").split("+"), *options.get("opposite", "").split("<->")]
    return set(filter(None, named)) <= set(table.seen())


# Two models


def make_pair(seed: int) -> Table:
    """Two models' answers, of which the second may lack some variants and some problems."""
    draw = random.Random(f"pair {seed}")
    table = make_table(2000 + seed)
    while len(table.models) < 2 or len({row["bucket"] for row in table.rows if _is_rewording(row)}) < 4:
        table = make_table(draw.randrange(10**6))
    table.rows = [row for row in table.rows if row["model"] in ("m0", "m1")]
    table.models = ["m0", "m1"]
    lost = {row["bucket"] for row in table.rows if draw.random() < 0.02} if seed % 3 == 0 else set()
    drop = 0.2 if seed % 3 == 1 else 0.0
    kept = []
    for row in table.rows:
        gone = row["bucket"] in lost or (row["variant"] is not None and draw.random() < drop)
        if row["model"] == "m0" or not gone:
            kept.append(row)
    table.rows = kept
    return table


def _is_rewording(row: Mapping[str, Any]) -> bool:
    return row["variant"] is not None and not row.get("contrast") and not row.get("control")


def shared_part(table: Table) -> Table:
    """The rows that both models answered."""
    both = Counter((row["bucket"], row["variant"]) for row in table.rows)
    rows = [row for row in table.rows if both[row["bucket"], row["variant"]] == 2]
    return replace(table, rows=rows, known=table.seen())


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_differences_and_their_intervals_are_those_of_the_loops(seed: int) -> None:
    table = make_pair(seed)
    shared = shared_part(table)
    table.specs = shared.specs = {
        name: options for name, options in table.specs.items() if name not in (*ACROSS, "flip_directions")
    }
    numbers = expected(shared)
    table.specs = {name: options for name, options in table.specs.items() if _can_compare(name, numbers)}
    if not table.specs:  # too few clusters for any
        return
    results = ow.compare(
        table.frame(), using=[spell(*spec) for spec in table.specs.items()], models=table.models, replicates=20
    )
    bins = table.specs.get("flips_by_margin", {}).get("bins", 0)
    wrong = []
    for i, (name, one) in enumerate(zip(numbered(results, bins), results, strict=True)):
        first, second = numbers[name, "m0", one.group], numbers[name, "m1", one.group]
        if is_constant(table, name.partition(":")[0]):
            continue
        wrong += [
            f"{name} {one.group}: {problem}"
            for problem in problems_with_difference(one, first, second, i % 8 == seed % 8)
        ]
    assert results
    assert not wrong, "\n".join(wrong[:20])


def _can_compare(name: str, numbers: Mapping[Key, Number]) -> bool:
    """Both models have a value and two clusters for each part of the metric."""
    mine = [number for key, number in numbers.items() if key[0].partition(":")[0] == name]
    return all(number.value is not None and len(_clusters(number)) >= 2 for number in mine)


def _clusters(number: Number) -> set[str]:
    if number.sides:
        return _clusters(number.sides[0]) | _clusters(number.sides[1])
    return set(number.weights)


def problems_with_difference(one: Any, first: Number, second: Number, level: bool) -> list[str]:
    """What a difference and its loops do not agree on; `level` also finds the level at which it leaves out 0."""
    wrong = []
    if not near(one.value, first.value) or not near(one.other_value, second.value):
        wrong.append(f"values {one.value}, {one.other_value}, loop {first.value}, {second.value}")
    if not near(one.difference, first.value - second.value):
        wrong.append(f"difference {one.difference}, loop {first.value - second.value}")
    counts = (min(first.units, second.units), min(first.answers, second.answers))
    if (one.n_units, one.n_answers) != counts:
        wrong.append(f"counts {one.n_units}, {one.n_answers}, loop {counts}")
    linearised = one.metric in LINEARISED
    first.bounds = second.bounds = BOUNDS.get(one.metric.partition("(")[0].partition(":")[0], (0.0, 1.0))
    closed = is_share(first) or first.sides or first.noisy is not None or linearised
    if closed and not undrawn(one):
        ends = None if same(first, second) else loops.difference_interval(first, second)
        if not ends_agree(one, ends, 1e-5 if linearised else 1e-9):
            wrong.append(f"ends {one.low}, {one.high} ({one.note}), loop {ends}")
        elif ends is None:
            wrong += [f"p_interval {one.p_interval} without an interval"] if one.p_interval is not None else []
        elif level and not near(one.p_interval, loops.difference_level(first, second), 1e-5 if linearised else 1e-6):
            wrong.append(f"p_interval {one.p_interval}, loop {loops.difference_level(first, second)}")
    if one.p != max(p for p in (one.p_swap, one.p_interval) if p is not None):
        wrong.append(f"p {one.p}, of {one.p_swap} and {one.p_interval}")
    return wrong


def same(first: Number, second: Number) -> bool:
    """Nothing tells the two apart: every cluster adds the same to both."""
    if first.sides and second.sides:
        return all(same(one, other) for one, other in zip(first.sides, second.sides, strict=True))
    return first.totals == second.totals


@pytest.mark.parametrize("seed", range(4))
def test_groups_of_other_problems_are_compared_as_in_the_loops(seed: int) -> None:
    """Variants, and with them their problems, drawn into two groups that share no cluster: two samples."""
    draw = random.Random(f"groups {seed}")
    names = ("accuracy_original", "accuracy_variants", "accuracy_drop", "flip_rate", "p_c", "pa", "r_r")
    while True:
        table = make_table(draw.randrange(10**6))
        kept = [
            row for row in table.rows if row["model"] == "m0" and not row.get("contrast") and not row.get("control")
        ]
        full = {row["bucket"] for row in kept if row["variant"] is not None}
        kept = [row for row in kept if row["bucket"] in full]
        table = replace(table, rows=kept, models=["m0"], known=table.seen())
        if not table.gold or not table.originals:
            continue
        side = {bucket.cluster: draw.choice("ab") for bucket in table.answers("m0").buckets}
        group_of = {bucket.name: side[bucket.cluster] for bucket in table.answers("m0").buckets}
        parts = [replace(table, rows=[row for row in kept if group_of[row["bucket"]] == one]) for one in "ab"]
        if min(len({row["bucket"] for row in one.rows if _is_rewording(row)}) for one in parts) < 4:
            continue
        first, second = ({name: LOOPS[name](one.answers("m0"))[""] for name in names} for one in parts)
        if all(number.value is not None for number in (*first.values(), *second.values())):
            break
    frame = table.frame().with_columns(pl.col("bucket").replace_strict(group_of).alias("side"))
    results = ow.compare_groups(frame, "side", list(names), replicates=20)
    assert len(results) == len(names)
    for one in results:
        pair = first[one.metric], second[one.metric]
        assert near(one.difference, pair[0].value - pair[1].value), one.metric
        ends = loops.difference_interval(*pair, paired=False)
        assert ends_agree(one, ends), (one.metric, one.low, one.high, one.note, ends)
        if ends is not None:
            assert near(one.p_interval, loops.difference_level(*pair, paired=False), 1e-6), one.metric


# A test set


@pytest.mark.parametrize("seed", seeds(5, 12))
def test_corrected_values_are_those_of_the_loops(seed: int, tmp_path: Path) -> None:
    draw = random.Random(f"test set {seed}")
    table = make_table(draw.randrange(10**6))
    while not (table.probabilities and table.gold and table.originals and len(table.models) == 1):
        table = make_table(draw.randrange(10**6))
    size = draw.choice([1, 5, 30])
    items = []
    for i in range(size):
        row = {"gold": draw.choice(table.labels), "theta": 0.8}
        items.append({"id": f"t{i}", "gold": row["gold"], **_answer(draw, table, row, 0.8)})
    columns = {name: [item[name] for item in items] for name in ("id", "gold", "pred")}
    columns |= {f"p:{label}": [float(item["p"][label]) for item in items] for label in table.labels}
    path = tmp_path / "testset.parquet"
    pl.DataFrame(columns).write_parquet(path)
    data = table.answers("m0")
    names = [name for name in TESTSET if name in metrics()]
    specs = {}
    for name in names:
        specs[name] = {"testset": str(path)}
        if name not in ("coverage", "accuracy_testset"):
            specs[name]["renormalise"] = draw.random() < 0.5
    for score in ow.score(table.frame(), [spell(*spec) for spec in specs.items()], replicates=2):
        loop, options = LOOPS[score.metric], {**specs[score.metric], "testset": items}
        number = (loop(**options) if score.metric == "accuracy_testset" else loop(data, **options))[""]
        assert near(score.value, number.value), (score.metric, score.value, number.value)
        assert score.value is None or (score.n_units, score.n_answers) == (number.units, number.answers), score.metric


# What being the original does


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_baselines_of_rates_are_those_of_the_loops(seed: int) -> None:
    draw = random.Random(f"baseline {seed}")
    table = make_table(draw.randrange(10**6))
    while not (table.gold and table.originals and len(table.models) == 1 and len(table.rows) > 10):
        table = make_table(draw.randrange(10**6))
    data = table.answers("m0")
    names = ("r_r", "flip_when_right", "flip_when_wrong")
    scores = {
        one.metric: one for one in ow.score(table.frame(), [f"{name}(baseline=true)" for name in names], replicates=2)
    }
    for name in names:
        plain, base = LOOPS[name](data)[""].value, loops.baseline(data, LOOPS[name]).value
        above = None if plain is None or base is None else plain - base
        for part, value in (("value", plain), ("baseline", base), ("above", above)):
            assert near(scores[f"{name}:{part}"].value, value), (name, part)
        if above is not None:
            first, second = LOOPS[name](data)[""], loops.baseline(data, LOOPS[name])
            numbers = {"value": first, "baseline": second, "above": loops.difference(first, second, 0, 0)}
            for part, number in numbers.items():
                assert not problems_with_interval(scores[f"{name}:{part}"], number, name), (name, part)


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_baselines_of_shifts_are_those_of_the_loops(seed: int) -> None:
    """One problem: with several, it matters which of their wordings take their turn together."""
    draw = random.Random(f"shift {seed}")
    table = make_table(draw.randrange(10**6))
    while not (table.probabilities and table.gold and table.originals and len(table.models) == 1):
        table = make_table(draw.randrange(10**6))
    rows = [row for row in table.rows if row["bucket"] == "b0" and not row.get("control")]
    table = replace(table, rows=rows)
    data = table.answers("m0")
    scores = {
        one.metric: one
        for one in ow.score(table.frame(), ["ks(baseline=true)", "jsd_means(baseline=true)"], replicates=2)
    }
    assert near(scores["ks:value"].value, loops.ks(data)[""].value)
    assert near(scores["ks:baseline"].value, loops.mean_over_turns(data, loops.ks, ""))
    for part, number in loops.jsd_means(data).items():
        assert near(scores[f"jsd_means:{part}"].value, number.value)
        assert near(scores[f"jsd_means:{part}_baseline"].value, loops.mean_over_turns(data, loops.jsd_means, part))


@pytest.mark.parametrize("seed", range(4))
def test_hard_cases_by_runs_are_those_of_the_loops(seed: int) -> None:
    draw = random.Random(f"runs {seed}")
    table = make_table(draw.randrange(10**6))
    while not (table.gold and table.originals and len(table.models) == 3):
        table = make_table(draw.randrange(10**6))
    kind = {"m0": "one", "m1": "one", "m2": "other"}
    frame = table.frame().with_columns(pl.col("model").replace_strict(kind).alias("architecture"))
    [score] = ow.score(frame, ["hard_cases(runs_of=architecture)"])
    runs = {"one": [table.answers("m0"), table.answers("m1")], "other": [table.answers("m2")]}
    assert near(score.value, loops.hard_cases_over_runs(runs).value)


@pytest.mark.parametrize("seed", seeds(8, 30))
def test_flips_between_templates_are_those_of_the_loops(seed: int) -> None:
    draw = random.Random(f"templates {seed}")
    table = make_table(draw.randrange(10**6))
    while not (table.originals and len(table.models) == 3):
        table = make_table(draw.randrange(10**6))
    asked = pl.col("model").replace_strict({"m0": "m@a", "m1": "m@b", "m2": "other"})
    template = pl.col("model").replace_strict({"m0": "a", "m1": "b", "m2": None}, return_dtype=pl.String)
    [score] = ow.score(table.frame().with_columns(asked, template.alias("template")), ["template_flips"])
    assert near(score.value, loops.template_flips([table.answers("m0"), table.answers("m1")])[""].value)


@pytest.mark.parametrize("seed", range(4))
def test_averages_over_data_sets_are_those_of_the_loops(seed: int) -> None:
    draw = random.Random(f"average {seed}")
    sets = []
    while len(sets) < 3:
        table = make_table(draw.randrange(10**6))
        if table.labels == NLI and table.gold and table.originals and len(table.models) == 1:
            sets.append(table)
    rows, values = [], []
    for i, table in enumerate(sets):
        kept = [row for row in table.rows if not row.get("contrast") and not row.get("control")]
        data = loops.collect(kept, table.labels)
        values.append((loops.accuracy_variants(data)[""].value, len(data.buckets)))
        columns = ("variant", "gold", "pred")
        rows += [{"dataset": f"d{i}", "bucket": f"{i}-{row['bucket']}", **{c: row[c] for c in columns}} for row in kept]
    scores = ow.score(pl.DataFrame(rows), ["accuracy_variants"], average="dataset")
    [average] = [one for one in scores if one.group == "dataset=(average)"]
    assert near(average.value, loops.weighted_average(values))


# Across models


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_models_and_problems_are_crossed_as_in_the_loops(seed: int) -> None:
    draw = random.Random(f"crossed {seed}")
    models, problems, size = draw.choice([2, 3, 5]), draw.choice([4, 10, 25]), draw.choice([1, 2, 3])
    rows: list[dict[str, Any]] = []
    values: list[list[float]] = []
    for m in range(models):
        values.append([])
        for b in range(problems):
            common = {"model": f"m{m}", "bucket": f"b{b}", "gold": "yes"}
            rows.append({**common, "variant": None, "how": None, "pred": "yes"})
            means = []
            for how in ("one", "other"):
                good = [draw.random() < draw.choice([0.3, 0.9]) for _ in range(size)]
                means.append(sum(good) / size)
                answers = [{"variant": f"{how}{j}", "pred": "yes" if right else "no"} for j, right in enumerate(good)]
                rows += [{**common, "how": how, **answer} for answer in answers]
            values[-1].append(means[0] - means[1])
    results = ow.compare_groups(pl.DataFrame(rows), "how", ["accuracy_variants"], matched=True, replicates=20)
    [one] = [one for one in results if one.group == "(models)"]
    assert near(one.difference, loops.crossed(values).mean)
    assert near(one.p_crossed, loops.cochran_cox_p(loops.crossed(values)))
    assert ends_agree(one, loops.crossed_interval(loops.crossed(values)))
