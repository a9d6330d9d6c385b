"""The stack: what it drops with a judge and without, and what it says of a variant."""

from __future__ import annotations

import pytest
from refusals import refuses

pytest.importorskip("spacy")

from otherwords.errors import BadInput
from otherwords.grammar.parsing import ParseTree, parser
from otherwords.grammar.sides import Crossing
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks
from otherwords.validity.changes import Changes, are_related
from otherwords.validity.contradictions import with_exchanges
from otherwords.validity.stack import (
    WITH_JUDGE,
    WITH_MPNET,
    WITHOUT_JUDGE,
    Evidence,
    Judges,
    Opinion,
    evidence,
    probability,
    terms,
)

TEXT = "Two dogs are chasing a small cat through the park."
BROKEN = {
    "negation": "Two dogs are not chasing a small cat through the park.",
    "number": "Three dogs are chasing a small cat through the park.",
    "quantifier": "Most dogs are chasing a small cat through the park.",
    "entity": "Two dogs are chasing a small cat through the hospital.",
    "roles": "A small cat is chasing two dogs through the park.",
    "opposite": "Two dogs are chasing a large cat through the park.",
    "empty": "",
    "unchanged": TEXT,
}
SOUND = {
    "passive": "A small cat is being chased through the park by two dogs.",
    "synonyms": "Two hounds are chasing a little cat through the park.",
    "spelled": "2 dogs are chasing a small cat through the park.",
}
SAME = Changes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0, 1.0)
UNSURE = Opinion(0.5, (0.5, 0.5), (0.2, 0.2))


def judged(spec: str, *afters: str, before: str = TEXT):
    problem = Problem("p", TASKS["nli"], {"premise": before, "hypothesis": "It is so."}, "neutral")
    bucket = Bucket(problem, tuple(problem.restate(premise=after) for after in afters))
    return list(checks.make(spec).function([bucket]))


@pytest.mark.parametrize("judge", ["", "nli-small", "mpnet"])
def test_broken_variants_are_dropped_and_sound_ones_kept(judge):
    verdicts = judged(f'stack(judge="{judge}")', *BROKEN.values(), *SOUND.values())
    keeps = dict(zip([*BROKEN, *SOUND], [verdict.keep for verdict in verdicts], strict=True))
    assert keeps == {**dict.fromkeys(BROKEN, False), **dict.fromkeys(SOUND, True)}
    assert all(verdict.reason for verdict in verdicts if not verdict.keep)


def test_the_reason_says_what_speaks_against_a_variant():
    negation, roles, empty = judged('stack(judge="")', BROKEN["negation"], BROKEN["roles"], "")
    assert 'negation: "not" added' in negation.reason
    assert roles.reason.startswith("roles: ")
    assert roles.score == 0
    assert empty.reason == "empty text"


def test_a_free_paraphrase_may_deny():
    """Label safety drops it; here, much else was changed, so that words do not decide alone."""
    before, after = (
        "The two friends haven't seen each other in awhile.",
        "It has been long since the two pals last met.",
    )
    assert judged("label-safety", after, before=before)[0].keep is False
    assert judged('stack(judge="")', after, before=before)[0].keep is True


def test_the_judge_counts():
    after = "Two hounds go after a kitten in the garden."
    yes, no = (
        judged(f'stack(judge="scripted(otherwise={label})", canary=false)', after)[0].score
        for label in ("entailment", "contradiction")
    )
    assert yes > no


def test_least_decides():
    for least, keep in ((0.0, True), (1.0, False)):
        assert judged(f'stack(judge="", least={least})', SOUND["synonyms"])[0].keep is keep
    with refuses(BadInput, field="least"):
        checks.make("stack(least=2)")


def test_what_cannot_be_parsed_has_no_verdict():
    with pytest.warns(UserWarning, match="stack: 1 of 1 variants have no verdict"):
        [verdict] = judged('stack(judge="")', "A cat ran. " * 2000, before="A dog ran. " * 2001)
    assert verdict.keep is None


@pytest.mark.parametrize("name", ["denied", "opposed", "quantifier_moved", "number_became", "replaced"])
def test_a_change_in_an_unchanged_frame_makes_a_variant_less_likely(name):
    changed = SAME._replace(**{name: 1})
    for judged in (None, UNSURE):
        assert probability(Evidence([], changed, [], (), judged)) < probability(Evidence([], SAME, [], (), judged))


def test_who_stands_crosswise_is_suspected_the_more_the_less_the_judge_finds_the_same():
    crossed, frame = [Crossing("goat", "toddler", True, True)], SAME._replace(frame=0.6)
    plain, crosswise, sure = (
        probability(Evidence([], frame, [], *more)) for more in (([], UNSURE), (crossed, UNSURE),
                                                                 (crossed, UNSURE._replace(same=0.02)))
    )  # fmt: skip
    assert plain > crosswise > sure
    assert probability(Evidence([], frame, [], crossed)) < probability(Evidence([], frame, []))


def test_the_reason_names_those_who_stand_crosswise():
    before, after = "A hawk dives at a crow above the trees.", "A crow swoops at a hawk above the trees."
    [verdict] = judged("stack", after, before=before)
    assert verdict.keep is False
    assert verdict.reason.endswith('roles: "hawk" and "crow" have changed places')


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("The population doubled between the two censuses.", "The population tripled between the two censuses.", False),
     ("Ahmed is older than Farid.", "Farid is younger than Ahmed.", True),
     ("The shop sells more bread than cake.", "The shop sells less cake than bread.", True)],
)  # fmt: skip
def test_multiples_count_as_numbers_and_a_comparison_may_be_turned(before, after, expected):
    assert judged('stack(judge="")', after, before=before)[0].keep is expected


@pytest.mark.parametrize(
    ("before", "after"),
    [("A climber is ascending a steep rock face.", "A climber is descending a steep rock face."),
     ("I think the train takes about forty minutes.", "It takes the train around fifty minutes, I think."),
     ("We've been together for three years now.", "We've been together for three months now."),
     ("Two women and a child wait at the stop.", "A woman and two children wait at the stop."),
     ("She answered every question they put to her.", "She gave an answer to most of the questions that they asked."),
     ("At least three ministers will resign.", "No more than three ministers are going to step down."),
     ("Hundreds of people gathered.", "Thousands of people gathered outside."),
     ("She had read a few of the books.", "She had read few of the books."),
     ("Members may borrow up to six volumes.", "Members may borrow upwards of six volumes."),
     ("They slept a little better.", "With less noise, their sleep was much better."),
     ("The crowd was largely peaceful.", "Those who marched were entirely peaceful, it was said."),
     ("The bus leaves at ten to seven.", "The bus leaves at ten past seven."),
     ("Ruiz Ferrer, 41, and his friend Paola Dini, 29, are missing.",
      "Ruiz Ferrer, 29, and his friend Paola Dini, 41, are missing.")],
)  # fmt: skip
def test_what_contradicts_by_itself_is_dropped_however_much_else_is_reworded(before, after):
    for one, other in ((before, after), (after, before)):
        [verdict] = judged('stack(judge="")', other, before=one)
        assert (verdict.keep, verdict.score) == (False, 0)
        assert verdict.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [("The suspect was released after two days.", "After 48 hours, the suspect was let go."),
     ("The storm left 20,000 homes without power.", "The storm left twenty thousand homes without power."),
     ("Prices rose for the third month in a row.", "Prices rose for three months in a row."),
     ("The bus leaves at 15:00.", "The bus leaves at 3 p.m."),
     ("Not all of the charges were dropped.", "Some of the charges were not dropped."),
     ("The flood killed 62 people.", "Sixty-two people were killed by the flood."),
     ("Half a dozen kites are in the air.", "Six kites are in the air."),
     ("A dog and two cats sleep.", "Two cats and a dog sleep."),
     ("She ran five kilometers and lost two kilos.", "She ran five kilometres and lost two kilograms."),
     ("It cost 25.000.000 euros, 5² metres.", "25.000.000 euros it cost, 5² metres."),
     ("I lent Sophie my tent for the festival.", "Sophie borrowed my tent from me for the festival."),
     ("A little girl is very happy.", "A small girl is extremely happy."),
     ("She is not a bit tired.", "She is not very tired."),
     ("The hall was almost completely full.", "The hall was nearly full."),
     ("It is ten to seven.", "It's ten minutes to seven.")],
)  # fmt: skip
def test_what_can_be_the_same_is_no_contradiction(before, after):
    [verdict] = judged('stack(judge="")', after, before=before)
    assert verdict.score > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Latvia defeats Germany.", ["Germany defeats Latvia."]),
     ("The old king met a young poet.", ["A young poet met the old king.", "The young king met a old poet."]),
     ("A man and a woman sleep.", []), ("A man sits next to a woman.", []), ("Ann is the mayor.", []),
     ("A group of tourists waits.", []), ("It rains.", []), ("Run!", [])],
)  # fmt: skip
def test_phrases_that_may_not_change_places_are_exchanged(text, expected):
    [nodes] = parser()([text])
    assert [one.text for one in with_exchanges(ParseTree(text, nodes))] == expected


def test_mpnet_finds_exchanges_in_other_words_by_comparing_with_the_exchanged_original():
    before, after = "The north tower is older than the nave.", "The tower on the north side is later than the nave."
    plain = "The nave was built after the north tower."
    judges, parse = Judges("mpnet"), parser()
    for text, dropped in ((after, True), (plain, False)):
        found = evidence([(before, text)], parse, judges)[before, text]
        assert bool(found.exchanged or found.judged.same < 0.05) is dropped


def test_every_term_has_a_weight_and_every_weight_a_term():
    assert terms(Evidence([], SAME, [])).keys() == WITHOUT_JUDGE.keys()
    assert terms(Evidence([], SAME, [], (), UNSURE)).keys() == WITH_JUDGE.keys()
    assert terms(Evidence([], SAME, [], (), Opinion(0.5))).keys() == WITH_MPNET.keys()


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [("dog", "hound", True), ("poodle", "dog", True), ("man", "person", True), ("swim", "swimmer", True),
     ("man", "male", True), ("guitar", "piano", False), ("street", "beach", False), ("paris", "london", False)],
)  # fmt: skip
def test_related_words(one, other, related):
    assert are_related(one, other) is are_related(other, one) is related
