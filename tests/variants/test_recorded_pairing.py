"""a-NLI's two hypotheses: paired within a worker, every paraphrase used, as many pairs as the longer side has."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem
from otherwords.registry import datasets, generators
from otherwords.variants.recorded import paired, pairs

TEXTS = {"obs1": "It rained.", "obs2": "She was dry.", "hyp1": "She had an umbrella.", "hyp2": "She had none."}
STORY = Problem("s", TASKS["a-nli"], TEXTS, "hyp1", {"topic": "t"})
sides = st.lists(st.text(max_size=3), min_size=1, max_size=6)


def vary(path, seed=1, options="", problem=STORY):
    return list(generators.make(f"recorded(path={path}{options})").function([problem], [seed]))


def half(target, text, worker="w1", **more):
    return {"of": "s", target: text, "worker": worker, **more}


@given(sides, sides, st.integers(0, 9))
def test_laws_of_pairs(ones, others, seed):
    made = pairs(ones, others, seed)
    assert len(made) == max(len(ones), len(others))
    longer, shorter = (0, 1) if len(ones) >= len(others) else (1, 0)
    given_ = (Counter(ones), Counter(others))
    used = (Counter(one for one, _ in made), Counter(other for _, other in made))
    assert used[longer] == given_[longer]
    assert used[shorter] >= given_[shorter]
    assert used[shorter].keys() == given_[shorter].keys()
    assert pairs(ones[::-1], others[::-1], seed) == made


def test_pairs_are_drawn_at_random():
    """All six ways to match three with three come up, about equally often."""
    made = Counter(tuple(pairs(["a", "b", "c"], ["x", "y", "z"], seed)) for seed in range(600))
    assert len(made) == 6
    assert min(made.values()) > 60
    again = Counter(other for seed in range(600) for _, other in pairs(["a", "b", "c"], ["x", "y"], seed))
    assert again.total() == 1800
    assert abs(again["x"] - 900) < 60  # either of the two is drawn again in half of the cases: s.d. 12


def test_nothing_to_pair():
    with refuses(BadInput):
        pairs(["a"], [], 1)


rows = st.lists(
    st.tuples(st.sampled_from(["hyp1", "hyp2"]), st.text("abc", min_size=1, max_size=2), st.sampled_from(["w1", "w2"])),
    max_size=9,
)


@given(rows, st.randoms(use_true_random=False), st.integers(0, 9))
def test_laws_of_paired_rows(some, shuffler, seed):
    """Only within a worker, every text used, as many as the longer side; the order of rows does not matter."""
    given_ = [half(target, text, worker) for target, text, worker in some]
    made = paired(given_, STORY, "", seed)
    for worker in ("w1", "w2"):
        own = [row for row in given_ if row["worker"] == worker]
        counts = [sum(target in row for row in own) for target in ("hyp1", "hyp2")]
        other = [row for row in made if row["worker"] == worker]
        assert len(other) == max(counts)
        for target in ("hyp1", "hyp2"):
            assert {row[target] for row in other if target in row} == {row[target] for row in own if target in row}
        if all(counts):
            assert all("hyp1" in row and "hyp2" in row for row in other)
    shuffler.shuffle(given_)
    assert paired(given_, STORY, "", seed) == made


def test_recorded_pairs_what_rewords_one_target(jsonl):
    path = jsonl(
        half("hyp1", "A1", id="a1", minutes=3),
        half("hyp2", "B1", id="b1", minutes=5),
        half("hyp1", "A2", id="a2", minutes=3),
        half("hyp1", "A3", "w2"),
        half("hyp2", "B3", "w2"),
        {"of": "s", "hyp1": "Both1", "hyp2": "Both2", "worker": "w1"},
        {"of": "s", "hyp1": "Alone"},
    )
    made = vary(path)
    assert [(v.text["hyp1"], v.text["hyp2"], v.id) for v in made] == [
        ("Both1", "Both2", ""),
        ("Alone", "She had none.", ""),  # nobody is named
        ("A1", "B1", "a1+b1"),
        ("A2", "B1", "a2+b1"),
        ("A3", "B3", ""),
    ]
    assert made[2].extra == {"topic": "t", "worker": "w1", "minutes_hyp1": 3, "minutes_hyp2": 5}
    assert {(v.of, v.label, v.text["obs1"]) for v in made} == {("s", "hyp1", "It rained.")}


def test_a_worker_who_reworded_one_target_alone(jsonl):
    made = vary(jsonl(half("hyp1", "A1"), half("hyp2", "B1", "w2")))
    assert [(v.text["hyp1"], v.text["hyp2"]) for v in made] == [("A1", TEXTS["hyp2"]), (TEXTS["hyp1"], "B1")]


def test_a_repeated_original_is_no_rewording(jsonl):
    """Rows may spell out the target that they leave alone."""
    (made,) = vary(jsonl(half("hyp1", "A1", hyp2=TEXTS["hyp2"]), half("hyp2", "B1", hyp1=TEXTS["hyp1"])))
    assert (made.text["hyp1"], made.text["hyp2"]) == ("A1", "B1")


@pytest.mark.parametrize("column", ["annotator", "generator", "transformation", "test"])
def test_other_names_for_who_wrote_it(jsonl, column):
    rows = [{"of": "s", "hyp1": "A1", column: 7}, {"of": "s", "hyp2": "B1", column: 7}]
    assert len(vary(jsonl(*rows))) == 1
    assert len(vary(jsonl(*rows), options=f", pair={column}")) == 1
    assert len(vary(jsonl(*rows), options=", pair=none")) == 2
    with refuses(BadInput):
        vary(jsonl(*rows), options=", pair=hand")


def test_a_worker_is_no_generator_of_the_same_name(jsonl):
    made = vary(jsonl({"of": "s", "hyp1": "A1", "worker": "7"}, {"of": "s", "hyp2": "B1", "generator": "7"}))
    assert [(v.text["hyp1"], v.text["hyp2"]) for v in made] == [(TEXTS["hyp1"], "B1"), ("A1", TEXTS["hyp2"])]


def test_a_row_that_rewords_the_context_is_whole(jsonl):
    """Pairing would lose the context's rewording, or give it to a hypothesis that was not written for it."""
    made = vary(jsonl(half("hyp1", "A1", obs1="It poured."), half("hyp2", "B1"), half("hyp1", "A2")))
    assert [(v.text["obs1"], v.text["hyp1"], v.text["hyp2"]) for v in made] == [
        ("It poured.", "A1", TEXTS["hyp2"]),
        ("It rained.", "A2", "B1"),
    ]


def test_white_space_is_no_rewording_of_a_target(jsonl):
    rows = [half("hyp1", "A1", hyp2=" She had  none."), half("hyp2", "B1", obs1="It\nrained.")]
    (made,) = vary(jsonl(*rows))
    assert (made.text["obs1"], made.text["hyp1"], made.text["hyp2"]) == ("It rained.", "A1", "B1")
    assert [v.text["hyp1"] for v in vary(jsonl(half("hyp1", "She  had an umbrella."), half("hyp1", "A1")))] == ["A1"]


def test_what_one_transformation_made_is_paired(tmp_path):
    """NL-Augmenter knows sentences, not hypotheses: its outputs on either are paired within the transformation."""
    made = {"Slang": ("A brolly.", "Zilch."), "Long": ("An umbrella was hers.", "There was none.")}
    cases = [
        {"class": name, "inputs": {"sentence": TEXTS[target]}, "outputs": [{"sentence": text}]}
        for name, texts in made.items()
        for target, text in zip(("hyp1", "hyp2"), texts, strict=True)
    ]
    (tmp_path / "test.json").write_text(json.dumps({"test_cases": cases}))
    found = vary(tmp_path / "test.json")
    assert {v.extra["transformation"]: (v.text["hyp1"], v.text["hyp2"]) for v in found} == made
    assert len(found) == 2


def test_the_seed_decides_and_the_order_does_not(jsonl):
    rows = [half("hyp1", f"A{i}") for i in range(5)] + [half("hyp2", f"B{i}") for i in range(4)]
    made = [vary(jsonl(*rows, name=f"{seed}.jsonl"), seed) for seed in range(9)]
    assert [vary(jsonl(*rows[::-1], name="back.jsonl"), seed) for seed in range(9)] == made
    assert len({str(variants) for variants in made}) > 6


def test_premise_and_hypothesis_are_never_paired(jsonl):
    problem = Problem("s", TASKS["nli"], {"premise": "P.", "hypothesis": "H."}, "neutral")
    path = jsonl(half("premise", "P!"), half("hypothesis", "H!"))
    made = vary(path, problem=problem)
    assert [list(variant.text.values()) for variant in made] == [["P!", "H."], ["P.", "H!"]]


def test_a_wrong_row_is_pinned_before_it_is_paired(jsonl):
    with refuses(BadInput):
        vary(jsonl(half("hyp1", "A1"), half("hyp2", "B1", label="hyp2")))


def test_the_papers_workers(shared, jsonl):
    """ParaNLU's own pairs taken apart and paired again: as many, of the same workers, from the same texts."""
    path = shared / "originals" / "paraphrase-nlu" / "annotated_data" / "abductive" / "anli_paraphrases_human.json"
    records = [record.row for record in datasets.make(f"paranlu:{path}").function()]
    variants = [row for row in records if "of" in row]
    keys = ("of", "worker", "id")
    halves = [{name: row[name] for name in (*keys, target)} for row in variants for target in ("hyp1", "hyp2")]
    problems = [
        Problem(row["id"], TASKS["a-nli"], {name: row[name] for name in TEXTS}, f"hyp{row['label']}")
        for row in records
        if "of" not in row
    ]
    generator = generators.make(f"recorded:{jsonl(*halves)}").function
    made = list(generator(problems, range(len(problems))))

    ours = Counter((variant.of, variant.extra["worker"]) for variant in made)
    assert ours == Counter((row["of"], row["worker"]) for row in variants)
    for target in ("hyp1", "hyp2"):
        assert {(v.of, v.text[target]) for v in made} == {(row["of"], row[target]) for row in variants}
    other = {(row["of"], row["hyp1"], row["hyp2"]) for row in variants}
    kept = sum((v.of, v.text["hyp1"], v.text["hyp2"]) in other for v in made)
    assert 100 < kept < 250  # up to three a worker: about a third fall together as they did in the paper
