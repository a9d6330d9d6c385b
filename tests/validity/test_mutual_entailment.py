"""Mutual entailment by a judge: worked by hand, with scripted judges and judges of odd labels."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput, LabelOrder, UnknownName
from otherwords.problem import TASKS, Bucket, Problem, Task
from otherwords.registry import checks
from otherwords.validity.mutual_entailment import EntailmentRule, entailment_of, judge_entailment, load_judge

ONE = Problem("p", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "neutral")
FORTH, BACK = "original does not entail variant", "variant does not entail original"


def judged(spec, *texts, problem=ONE):
    bucket = Bucket(problem, tuple(problem.restate(**text) for text in texts))
    return list(checks.make(spec).function([bucket]))


@pytest.fixture
def scripted(jsonl, tmp_path):
    """A judge that knows the given pairs; what it is not told is neutral. Its log tells what it was asked."""

    def make(*pairs, options=""):
        rows = [{"premise": one, "hypothesis": two, **_answer(expected)} for one, two, expected in pairs]
        script = jsonl(*rows, name="judge.jsonl")
        result = f"scripted(script={script}, otherwise=neutral, log={tmp_path / 'log.jsonl'})"
        return f"mutual-entailment(judge={json.dumps(result)}, canary=false{options})"

    return make


def _answer(expected):
    if isinstance(expected, str):
        return {"pred": expected}
    return {"p:entailment": expected, "p:neutral": 1 - expected, "p:contradiction": 0}


def test_both_directions_count_and_the_reason_names_which_failed(scripted):
    spec = scripted(
        ("It rains.", "Rain falls.", 0.9),
        ("Rain falls.", "It rains.", 0.75),
        ("It rains.", "Water falls.", 0.8),
        ("It pours.", "It rains.", 0.7),
        ("It is wet.", "It is dry.", "contradiction"),
    )
    texts = [{"premise": "Rain falls."}, {"premise": "Water falls."}, {"premise": "It pours."}]
    verdicts = judged(spec, *texts, {"hypothesis": "It is dry."})
    assert [(v.keep, v.reason, v.score) for v in verdicts] == [
        (True, "", 0.75),
        (False, f"{BACK}: neutral", 0.0),
        (False, f"{FORTH}: neutral", 0.0),
        (False, "neither entails the other: contradiction, neutral", 0.0),
    ]


def test_every_changed_field_is_judged_by_itself(scripted):
    pairs = [("It rains.", "Rain falls.", 0.9), ("Rain falls.", "It rains.", 0.9), ("It is wet.", "It is moist.", 0.6)]
    both = {"premise": "Rain falls.", "hypothesis": "It is moist."}
    (verdict,) = judged(scripted(*pairs), both)
    assert (verdict.keep, verdict.reason, verdict.score) == (False, f"hypothesis: {BACK}: neutral", 0.0)
    (verdict,) = judged(scripted(*pairs, options=", field=premise"), both)
    assert (verdict.keep, verdict.score) == (True, 0.9)


def test_what_did_not_change_is_not_asked(scripted, tmp_path):
    spec = scripted(("It rains.", "Rain falls.", "entailment"), ("Rain falls.", "It rains.", "entailment"))
    verdicts = judged(
        spec, {}, {"premise": " It  rains. "}, {"premise": "Rain falls."}, *({"premise": " "}, {"premise": "\u200b"})
    )
    assert [(v.keep, v.reason, v.score) for v in verdicts] == [
        (True, "", None),
        (True, "", None),
        (True, "", 1.0),
        (False, "empty text", None),
        (False, "empty text", None),
    ]
    asked = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert sorted(asked) == [["It rains.", "Rain falls."], ["Rain falls.", "It rains."]]


def test_a_pair_is_asked_once_however_often_it_comes(scripted, tmp_path):
    check = checks.make(scripted()).function
    other = Problem("q", ONE.task, {**ONE.text, "hypothesis": "It is dry."}, "neutral")
    buckets = [Bucket(one, tuple(one.restate(premise="Rain falls.") for _ in range(3))) for one in (ONE, other)]
    assert len({*check(buckets), *check(buckets), *check(buckets[:1])}) == 1
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2


def test_threshold(scripted):
    pairs = ("It rains.", "Rain falls.", 0.9), ("Rain falls.", "It rains.", 0.6)
    for threshold, keep in ((0.6, True), (0.61, False)):
        (verdict,) = judged(scripted(*pairs, options=f", threshold={threshold}"), {"premise": "Rain falls."})
        assert (verdict.keep, verdict.score) == (keep, 0.6)
    assert verdict.reason == f"{BACK}: probability below 0.61"


def test_fields_of_other_tasks_are_texts_too(scripted):
    story = {"obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D."}
    problem = Problem("s", TASKS["a-nli"], story, "hyp1")
    spec = scripted(("C.", "c", "entailment"), ("c", "C.", "entailment"))
    first, second = judged(spec, {"hyp1": "c"}, {"hyp1": "c", "hyp2": "d"}, problem=problem)
    assert (first.keep, second.reason) == (True, "hyp2: neither entails the other: neutral")


ODD = """
def three(batch):
    return [[0.2, 0.1, 0.7]] * len(batch)
three.labels = ("LABEL_0", "LABEL_1", "LABEL_2")
def two(batch):
    return [[0.4, 0.6] if "no" in one else [0.8, 0.2] for one in batch["hypothesis"]]
two.labels = ("Entailed", "Not_Entailed")
def glue(batch):
    return [[0.4, 0.6] if "no" in one else [0.8, 0.2] for one in batch["hypothesis"]]
glue.labels = ("entailment", "not_entailment")
def words(batch):
    return ["entailment"] * len(batch)
def feeling(batch):
    return [[0.5, 0.5]] * len(batch)
feeling.labels = ("positive", "negative")
"""


@pytest.fixture
def odd(tmp_path):
    (tmp_path / "odd.py").write_text(ODD)
    return lambda name, more="": f'mutual-entailment(judge="python:{tmp_path / "odd.py"}:{name}", canary=false{more})'


def test_odd_labels_need_a_map(odd):
    three = ', label_map="LABEL_0=neutral, label_1=Contradiction, LABEL_2=entailment"'
    (verdict,) = judged(odd("three", three), {"premise": "x"})
    assert (verdict.keep, verdict.score) == (True, 0.7)
    (verdict,) = judged(odd("three", ', label_map="LABEL_0=entailment"'), {"premise": "x"})
    assert verdict.reason == "neither entails the other: label-2"
    with refuses(BadInput):
        checks.make(odd("three"))


@pytest.mark.parametrize("name", ["two", "glue"])
def test_two_labels_are_enough(odd, name):
    kept, dropped = judged(odd(name), {"premise": "x"}, {"premise": "no x"})
    assert (kept.keep, kept.score, dropped.score) == (True, 0.8, 0.4)
    assert dropped.reason == f"{FORTH}: not-{'entailed' if name == 'two' else 'entailment'}"


def test_a_judge_without_probabilities_gives_no_score(odd):
    assert [(v.keep, v.score) for v in judged(odd("words"), {"premise": "x"})] == [(True, None)]
    with refuses(BadInput):
        judged(odd("words", ", threshold=0.5"), {"premise": "x"})


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("mutual-entailment(judge=self, label_map=0=entailment)", "label_map"),
        ("mutual-entailment(threshold=1.5)", "threshold"),
        ('mutual-entailment(judge=scripted, label_map="entailment")', "label_map"),
    ],
)
def test_wrong_options(spec, field):
    with refuses(BadInput, where="mutual-entailment", field=field):
        checks.make(spec)


def test_wrong_judges(odd):
    with refuses(UnknownName):
        checks.make("mutual-entailment:nli-smal")
    with refuses(BadInput):
        checks.make(odd("feeling"))
    with refuses(BadInput):
        checks.make(odd("two", ', label_map="0=entailment"'))
    with refuses(BadInput):
        judged("mutual-entailment(judge=scripted, field=update)", {"premise": "x"})


def test_the_signature_is_that_of_judge_and_rule(odd):
    signed = [checks.make(spec).signature for spec in (odd("two"), odd("glue"), odd("two", ", threshold=0.5"))]
    assert len(set(signed)) == 3
    assert signed[0].startswith('mutual-entailment.v1(threshold=0.0, field="")#python.v1()#odd.py:two@')
    assert checks.make("mutual-entailment").signature == 'mutual-entailment.v1(threshold=0.0, field="")#self'
    mapped = load_judge("scripted(otherwise=entailment)", "yes=entailment").signature
    assert mapped.endswith("[yes=entailment]")


def test_a_real_judge():
    pytest.importorskip("onnxruntime")
    problem = Problem("p", TASKS["nli"], {"premise": "A man is sleeping.", "hypothesis": "x"}, "neutral")
    texts = [
        {"premise": "A man is asleep."},
        {"premise": "A man is sleeping on a red sofa."},
        {"premise": "A man eats."},
    ]
    same, more, other = judged("mutual-entailment:nli-small", *texts, problem=problem)
    assert (same.keep, more.keep, other.keep) == (True, False, False)
    assert more.reason == f"{FORTH}: neutral"  # the longer text says more
    assert same.score > 0.5 > more.score
    (strict,) = judged("mutual-entailment:nli-small(threshold=1)", texts[0], problem=problem)
    assert strict.reason == "neither entails the other: probability below 1"


def test_which_label_means_entailment():
    assert entailment_of(Task("mine", ("text", "claim"), ("refuted", "Entailment"))) == 1
    for task in (TASKS["a-nli"], TASKS["d-nli"], Task("mine", ("text", "claim"), ("supported", "refuted"))):
        with refuses(BadInput):
            entailment_of(task)


SUBSETS = """
def judge(batch):
    pairs = zip(batch["premise"], batch["hypothesis"])
    return ["entailment" if set(two.split()) <= set(one.split()) else "neutral" for one, two in pairs]
"""
TEXTS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join)


@pytest.fixture(scope="module")
def subsets(tmp_path_factory):
    """A judge to whom a text entails all texts made of its words."""
    path = tmp_path_factory.mktemp("judge") / "subsets.py"
    path.write_text(SUBSETS)
    return checks.make(f'mutual-entailment(judge="python:{path}:judge", canary=false)').function


@given(old=TEXTS, new=st.lists(TEXTS, max_size=5))
def test_kept_is_what_says_the_same_both_ways(subsets, old, new):
    problem = Problem("p", TASKS["nli"], {"premise": old, "hypothesis": "x"}, "neutral")
    verdicts = list(subsets([Bucket(problem, tuple(problem.restate(premise=text) for text in new))]))
    assert [v.keep for v in verdicts] == [set(old.split()) == set(text.split()) for text in new]
    for text, verdict in zip(new, verdicts, strict=True):
        there = Problem("q", TASKS["nli"], {"premise": text, "hypothesis": "x"}, "neutral")
        (back,) = subsets([Bucket(there, (there.restate(premise=old),))])
        assert back.keep == verdict.keep  # it is a relation between two texts, whichever came first


@given(st.floats(0, 1), st.sampled_from(["", "premise", "hypothesis"]))
def test_a_rule_can_be_written_and_read(threshold, field):
    rule = EntailmentRule(threshold, field)
    assert EntailmentRule.read(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "other", "self(judge=python:evil.py:f)", "self(threshold=2e)", "self()x", "Self"])
def test_nothing_else_is_read(text):
    with refuses(BadInput):
        EntailmentRule.read(text, "check:x:by")


def test_nothing_to_ask():
    assert judge_entailment([], EntailmentRule(), TASKS["nli"], lambda pairs: pytest.fail("asked")) == []


#: A judge that knows the canary's answers, and says them by other names.
KNOWING = """
from otherwords.models.canary import questions
from otherwords.problem import TASKS
RIGHT = dict(questions(TASKS["nli"]))
def renamed(names):
    def judge(batch):
        pairs = zip(batch["premise"], batch["hypothesis"])
        return [names[RIGHT.get(pair, "entailment")] for pair in pairs]
    judge.labels = tuple(dict.fromkeys(names.values()))
    return judge
right = renamed({"entailment": "entailment", "neutral": "neutral", "contradiction": "contradiction"})
turned = renamed({"entailment": "contradiction", "neutral": "neutral", "contradiction": "entailment"})
two = renamed({"entailment": "entailment", "neutral": "not_entailment", "contradiction": "not_entailment"})
two_turned = renamed({"entailment": "not_entailment", "neutral": "entailment", "contradiction": "entailment"})
unknowing = renamed({"entailment": "neutral", "neutral": "neutral", "contradiction": "entailment"})
"""


@pytest.fixture
def knowing(tmp_path):
    (tmp_path / "knowing.py").write_text(KNOWING)
    return lambda name, more="": f'mutual-entailment(judge="python:{tmp_path / "knowing.py"}:{name}"{more})'


@pytest.mark.parametrize("name", ["right", "two"])
def test_a_judge_that_passes_the_canary(knowing, name):
    assert [v.keep for v in judged(knowing(name), {"premise": "Rain falls."})] == [True]


@pytest.mark.parametrize("name", ["turned", "two_turned"])
def test_a_judge_with_labels_in_another_order_is_refused(knowing, name):
    with refuses(LabelOrder) as error:
        judged(knowing(name), {"premise": "Rain falls."})
    assert str(error.value).endswith("; for a judge, use its options label_map and canary=false")
    label_map = str(error.value).partition("--label-map ")[2].partition(", or")[0]
    assert [v.keep for v in judged(knowing(name, f', label_map="{label_map}"'), {"premise": "Rain falls."})] == [True]
    assert [v.keep for v in judged(knowing(name, ", canary=false"), {"premise": "Rain falls."})] == [False]


def test_a_weak_judge_is_reported_once(knowing):
    check = checks.make(knowing("unknowing")).function
    with pytest.warns(UserWarning, match="is weak: 4 of 12 trivial questions right"):
        list(check([Bucket(ONE, (ONE.restate(premise="Rain falls."),))]))
    list(check([Bucket(ONE, (ONE.restate(premise="It pours."),))]))  # a second warning would be an error


def test_what_the_judge_does_not_read_to_its_end_is_dropped_and_reported():
    start = "A man walks his dog in the park. " * 4
    one = Problem("p", TASKS["nli"], {"premise": f"{start}It rains.", "hypothesis": "A man is outside."}, "entailment")
    changes = {"premise": f"{start}It does not rain."}, {"hypothesis": "A man is outdoors."}
    texts = (*changes, changes[0] | changes[1])
    spec = 'mutual-entailment(judge="nli-small(max_length=32)")'
    with pytest.warns(
        UserWarning, match=r"^mutual-entailment: 2 of 3 variants .* longer than nli-small.* accepts"
    ) as result:
        long, fits, both = judged(spec, *texts, problem=one)
    assert len(result) == 1
    assert (long.keep, long.reason, long.score) == (False, "longer than the judge reads", None)
    assert (both.keep, both.reason, both.score) == (False, "premise: longer than the judge reads", None)
    assert fits.keep
    assert judged("mutual-entailment:nli-small", *texts, problem=one)[0].score is not None  # which reads it all
