"""The canary: a permuted label map is refused with advice that works; a weak model is only warned of."""

from __future__ import annotations

import itertools
import re
import warnings
from math import comb

import numpy as np
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, LabelOrder
from otherwords.models.answering import load, run_canary
from otherwords.models.cache import Cache
from otherwords.models.canary import assess_canary, canary_batch, questions, refuse_permuted
from otherwords.models.model import Answerer, Model
from otherwords.problem import TASKS, Task, parse_label_map

NLI, RTE = TASKS["nli"], TASKS["rte"]
RIGHT = {name: dict(questions(task)) for name, task in TASKS.items()}


def knows(
    task, columns=(), rename=None, wrong=0, as_labels=False, three=False, label_map=None, name="mine"
) -> Answerer:
    """A model that knows the canary's answers, save for the first `wrong`.

    `columns` are its labels as it names them; `rename` says how it really uses the task's (its permutation).
    """
    right = RIGHT["nli" if three else task.name]
    own = tuple(columns) or task.labels
    order = (NLI if three else task).labels

    def answer(given):
        rows = []
        for problem in given:
            text = tuple(problem.text.values())
            place = order.index(right[text])
            if list(right).index(text) < wrong:
                place = (place + 1) % len(order)
            meant = order[place]
            place = order.index((rename or {}).get(meant, meant))
            rows.append(
                own[place] if as_labels else [0.8 if i == place else 0.2 / (len(own) - 1) for i in range(len(own))]
            )
        return rows

    signature = f"{name}({columns}{rename}{wrong}{as_labels}{three}{label_map})"
    return Answerer(name, signature, Model(answer, labels=() if as_labels else tuple(columns)), task, label_map or {})


def run(model):
    with Cache() as cache:
        run_canary(model, cache)


def test_a_dozen_questions_per_task_evenly():
    for name, task in TASKS.items():
        asked = questions(task)
        assert len(asked) == 12
        assert len({text for text, _ in asked}) == 12
        counts = {label: [gold for _, gold in asked].count(label) for label in task.labels}
        assert set(counts.values()) == {12 // len(task.labels)} or name == "rte"
        assert len(canary_batch(task)) == 12
        assert all(text.strip() for one, _ in asked for text in one)


@pytest.mark.parametrize("name", TASKS)
def test_a_good_model_passes_in_silence(name):
    run(knows(TASKS[name]))
    run(knows(TASKS[name], wrong=1))


PERMUTATIONS = [order for order in itertools.permutations(NLI.labels) if order != NLI.labels]


@pytest.mark.parametrize("order", PERMUTATIONS, ids="-".join)
@pytest.mark.parametrize("columns", [(), ("LABEL_0", "LABEL_1", "LABEL_2"), ("contradiction", "neutral", "entailment")])
@pytest.mark.parametrize("wrong", [0, 1])
def test_permuted_labels_are_refused_and_the_advice_works(order, columns, wrong):
    rename = dict(zip(NLI.labels, order, strict=True))
    given_map = dict(zip(columns, NLI.labels, strict=True)) if columns and columns[0] == "LABEL_0" else {}
    if columns and not given_map:  # its config names columns in an order that is not that of its outputs
        given_map = dict(zip(columns, NLI.labels, strict=True))
    model = knows(NLI, columns, rename, wrong, label_map=given_map)
    with refuses(LabelOrder) as caught:
        run(model)
    assert caught.value.exit_code == 1
    found = re.search(
        r"(\d+) of 12 trivial questions right as they are, (\d+) if renamed; use --label-map (\S+), or",
        str(caught.value),
    )
    assert int(found[2]) == 12 - wrong
    advice = parse_label_map(found[3])
    followed = knows(NLI, columns, rename, wrong, label_map=advice)
    run(followed)
    right = [
        NLI.labels[pred] == gold
        for pred, (_, gold) in zip(followed(canary_batch(NLI)).pred, questions(NLI), strict=True)
    ]
    assert sum(right) == 12 - wrong


@pytest.mark.parametrize("name", ["rte", "a-nli", "d-nli"])
def test_two_labels_swapped(name):
    task = TASKS[name]
    rename = dict(zip(task.labels, task.labels[::-1], strict=True))
    with refuses(LabelOrder) as caught:
        run(knows(task, rename=rename))
    advice = parse_label_map(re.search(r"--label-map (\S+), or", str(caught.value))[1])
    assert advice == rename
    run(knows(task, rename=rename, label_map=advice))


@pytest.mark.parametrize("columns", [NLI.labels, ("e", "n", "c")])
def test_a_model_that_returns_labels_gets_advice_in_its_own_words(columns):
    """Advice in the task's words once could not be followed where the model has words of its own."""
    given_map = {} if columns is NLI.labels else dict(zip(columns, NLI.labels, strict=True))
    rename = {"entailment": "contradiction", "contradiction": "entailment", "neutral": "neutral"}
    with refuses(LabelOrder) as caught:
        run(knows(NLI, columns, rename, as_labels=True, label_map=given_map))
    advice = parse_label_map(re.search(r"--label-map (\S+), or", str(caught.value))[1])
    assert set(columns) <= set(advice)
    run(knows(NLI, columns, rename, as_labels=True, label_map=advice))


MERGED = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}


def test_three_labels_merged_to_two():
    """argmax over three, then merge, as the PaRTE paper does; the canary asks the same way."""
    model = knows(RTE, NLI.labels, three=True, label_map=MERGED)
    run(model)
    assert model.targets == ("entailed", "not-entailed", "not-entailed")
    with refuses(BadInput):
        run(knows(RTE, NLI.labels, three=True))


def test_three_labels_merged_the_wrong_way_round():
    wrong_way = {"entailment": "not-entailed", "neutral": "entailed", "contradiction": "entailed"}
    with refuses(LabelOrder) as caught:
        run(knows(RTE, NLI.labels, three=True, label_map=wrong_way))
    advice = parse_label_map(re.search(r"--label-map (\S+), or", str(caught.value))[1])
    assert advice == MERGED
    run(knows(RTE, NLI.labels, three=True, label_map=advice))


@pytest.mark.parametrize("answer", [*NLI.labels, "any"])
def test_a_weak_model_is_only_warned_of(answer):
    follows = "do not rely on its scores before you have looked at its answers and the names of its labels"
    why = f"(, because it answers {answer} to all of them \\(one answer to everything never flips\\))?"
    found = rf"scripted.* is weak: \d of 12 trivial questions right{why}; {follows}"
    with pytest.warns(UserWarning, match=found) as caught:
        run(load(f"scripted(otherwise={answer})", NLI))
    assert caught[0].filename == __file__  # the user's line, not one of the package


def test_a_model_between_weak_and_good_is_reported_once():
    with pytest.warns(UserWarning, match="is weak: 7 of 12"):
        run(knows(NLI, wrong=5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(knows(NLI, wrong=4))


def test_permuted_with_two_slips_is_refused_all_the_same():
    rename = {"entailment": "contradiction", "contradiction": "entailment", "neutral": "neutral"}
    with refuses(LabelOrder):
        run(knows(NLI, rename=rename, wrong=2))


def test_half_permuted_is_weak_not_refused():
    """Permuted and bad at it: no order clearly wins, so it is the user's business."""
    rename = {"entailment": "contradiction", "contradiction": "entailment", "neutral": "neutral"}
    with pytest.warns(UserWarning, match="is weak"):
        run(knows(NLI, rename=rename, wrong=3))


def test_guessing_is_hardly_ever_refused():
    """The claim in the docstring, counted out: two labels, twelve fair coins."""
    refused = sum(comb(12, right) for right in range(13) if 12 - right >= 11 and 12 - 2 * right >= 6)
    assert refused / 2**12 == pytest.approx(1 / 315, rel=0.001)
    at_least_ten = sum(comb(12, right) * 2 ** (12 - right) for right in (10, 11, 12)) / 3**12
    assert 5 * at_least_ten < 1 / 300  # three labels, each of the five other orders


def test_guessing_is_hardly_ever_refused_in_fact():
    chance = np.random.default_rng(1)
    gold = [label for _, label in questions(NLI)]
    times = 0
    for _ in range(2_000):
        plain, best, _ = assess_canary([NLI.labels[i] for i in chance.integers(0, 3, 12)], gold, NLI.labels)
        times += best >= 11 and best - plain >= 6
    assert times == 0


def test_assessing_prefers_the_order_given():
    assert assess_canary(["a", "b"], ["a", "b"], ["a", "b"]) == (2, 2, {"a": "a", "b": "b"})
    assert assess_canary(["a", "a"], ["a", "b"], ["a", "b"]) == (1, 1, {"a": "a", "b": "b"})


@pytest.mark.parametrize(
    "task",
    [
        Task("mine", ("premise", "hypothesis"), NLI.labels),
        Task("nli", ("first", "second", "third"), NLI.labels),
        Task("nli", ("premise", "hypothesis"), ("yes", "no")),
        Task("a-nli", ("text",), ("hyp1", "hyp2")),
    ],
)
def test_a_task_of_ones_own_has_no_canary(task):
    """Also where it has a name that is known: its questions would make no sense."""
    assert questions(task) == []
    with Cache() as cache:
        run_canary(load("scripted", task), cache)
        assert cache.info() == []


def test_the_order_of_labels_in_a_task_is_its_own_business():
    task = Task("nli", NLI.fields, NLI.labels[::-1])
    assert len(questions(task)) == 12
    refuse_permuted(load("scripted", task), [gold for _, gold in questions(task)])


def test_answering_runs_the_canary_unless_asked_not_to(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        "from otherwords.models.canary import questions\n"
        "from otherwords.problem import TASKS\n"
        "RIGHT = dict(questions(TASKS['nli']))\n"
        "SWAP = {'entailment': 'contradiction', 'contradiction': 'entailment', 'neutral': 'neutral'}\n"
        "def swapped(batch):\n"
        "    return [SWAP[RIGHT.get(tuple(p.text.values()), 'neutral')] for p in batch]\n"
    )
    frame, spec = ow.load("everyday").head(2), f"python:{path}:swapped"
    with refuses(LabelOrder):
        ow.answer(frame, spec)
    assert ow.answer(frame, spec, canary=False).height == 2
    advice = {"entailment": "contradiction", "contradiction": "entailment", "neutral": "neutral"}
    assert ow.answer(frame, spec, label_map=advice).height == 2


@pytest.mark.parametrize(
    ("name", "text", "gold"),
    [
        ("nli", ("A man is sleeping on the sofa.", "The man is awake and dancing."), "contradiction"),
        ("rte", ("A man is reading a book.", "The man is a teacher."), "not-entailed"),
        ("d-nli", ("A girl is reading.", "The girl enjoys the book.", "She yawns and looks bored."), "weakener"),
        ("d-nli", ("A girl is reading.", "The girl enjoys the book.", "She smiles at every page."), "strengthener"),
        (
            "a-nli",
            ("Sam was very hungry.", "He felt full and happy.", "Sam ate a big meal.", "Sam did not eat anything."),
            "hyp1",
        ),
        (
            "a-nli",
            ("Sam was very hungry.", "He felt full and happy.", "Sam did not eat anything.", "Sam ate a big meal."),
            "hyp2",
        ),
    ],
)
def test_the_answers_are_right(name, text, gold):
    assert RIGHT[name][text] == gold
