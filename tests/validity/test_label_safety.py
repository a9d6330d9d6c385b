"""Label safety: what a rewording does to negations, quantifiers, numbers and opposites."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import otherwords as ow
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks


def judged(before, *afters, spec="label-safety"):
    problem = Problem("p", TASKS["nli"], {"premise": before, "hypothesis": "It is so."}, "neutral")
    bucket = Bucket(problem, tuple(problem.restate(premise=after) for after in afters))
    return list(checks.make(spec).function([bucket]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A man isn't sleeping.", "A man is not asleep."),
        ("Nobody is outside.", "No one is outdoors."),
        ("He cannot swim.", "He can’t swim."),
        ("He won't come", "He will not come"),
        ("Two dogs run.", "2 dogs are running."),
        ("A dozen eggs cost 1,000 yen.", "12 eggs cost 1000 yen."),
        ("One man runs.", "A man runs."),  # "one" may be a pronoun, or an article with stress
        ("He took the red one.", "He took the red hat."),
        ("Lots of people sit.", "Many people sit."),
        ("A hot meal", "A warm meal"),
        ("A man and a woman", "A woman and a man"),  # opposites change places, none is lost
        ("It isn't true that he isn't here.", "It is not true that he is not here."),
        ("A man kisses his wife", "An adult male kisses his married woman"),  # each has a counterpart of its own
        ("日本 🙂", "日本 👍"),
    ],
)
def test_left_alone(before, after):
    (verdict,) = judged(before, after)
    assert (verdict.keep, verdict.reason, verdict.score) == (True, "", 0)


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        ("He is not here.", "He is here.", ['negation: "not" lost']),
        ("He is here.", "He isn't here.", ['negation: "not" added']),
        ("Nobody is here.", "Somebody is here.", ['negation: "nobody" lost']),
        ("He never came.", "He did not come.", ['negation: "never" became "not"']),
        ("It is not without risk.", "It is without risk.", ['negation: "without" lost']),
        ("He doesn't not know.", "He does not know.", ['negation: "not" lost']),
        ("Two dogs", "Three dogs", ["number: 2 became 3"]),
        ("One dog", "Three dogs", ["number: 1 became 3"]),
        ("Two dogs", "One dog", ["number: 2 became 1"]),
        ("Two dogs", "The dogs", ["number: 2 lost"]),
        ("A dog of 5", "A dog of 5, 6", ["number: 6 added"]),
        ("The first man", "The second man", ["number: 1st became 2nd"]),
        ("All men", "Some men", ['quantifier: "all" became "some"']),
        ("At least two men", "Two men", ['quantifier: "at least" lost']),
        ("Few men", "A few men", ['quantifier: "few" became "a few"']),
        ("A hot day", "A cold day", ['antonym: "hot" became "cold"']),
        ("The men sat", "The women sat", ['antonym: "men" became "women"']),
        ("The door is open", "Closed is the door", ['antonym: "open" became "closed"']),
        ("He stands", "He is sitting", ['antonym: "stands" became "sitting"']),
        ("Two men aren't hot", "3 men are hot", ['negation: "not" lost', "number: 2 became 3"]),
    ],
)
def test_touched(before, after, reasons):
    (verdict,) = judged(before, after)
    assert (verdict.keep, verdict.reason.split("; "), verdict.score) == (False, reasons, len(reasons))


#: What a rewording may do, from either side: other spellings of numbers, negations and quantifiers.
SAFE = """
It cost 0.5 dollars. | It cost .5 dollars.
Half of them left. | 50% of them left.
It cost 10k dollars. | It cost 10,000 dollars.
It cost 5bn. | It cost 5 billion.
It cost $5m. | It cost 5 million dollars.
He has half a million. | He has 500,000.
He has two and a half million. | He has 2.5 million.
It is 2 1/2 miles. | It is 2.5 miles.
It was minus five degrees. | It was -5 degrees.
Ten per cent of the men | 10 % of the men
Ages 10-12 | Ages 10 to 12
A woman in 'T' pose. | A woman in a T pose.
A man without a hat. | A man with no hat.
He was left with no money. | He had no money.
Worse for nonsmokers. | Worse for non-smokers.
It is primarily wood. | It is mainly wood.
A man with nobody near. | A man without anybody near.
A pair of dogs. | Two dogs.
A pair of blue jeans. | Blue jeans.
Both men left. | The two men left.
Both men left. | All men left.
At least two men | A minimum of two men
At most two men | A maximum of two men
On 3 May he left. | On May 3rd he left.
On the third of May he left. | On May 3 he left.
Zero men left. | No men left.
She is prettiest. | She is most beautiful.
His prettiest song | His most beautiful song
He comes in. | He goes in.
They came ashore. | They went ashore.
Everyone but Tom left. | Everybody except Tom left.
Almost all men left. | Nearly every man left.
Two films won six Oscars. | Six Oscars were won by two films.
Two of the men saw three dogs. | Three of the dogs were seen by two men.
A talk about tennis | A talk on tennis
"""

#: What it may not do, from either side.
UNSAFE = """
One in five men smokes. | Five men smoke.
One of three dogs barks. | Three dogs bark.
One of the three dogs barks. | The three dogs bark.
One or two dogs bark. | Two dogs bark.
1 dog barks. | Dogs bark.
It cost .5 dollars. | It cost 5 dollars.
It was -5 degrees. | It was 5 degrees.
It was minus five degrees. | It was five degrees.
10 % of men smoke. | 10 men smoke.
Ten percent of men smoke. | Ten men smoke.
Prices rose 5%. | Prices rose 5 dollars.
It cost 10k dollars. | It cost 10 dollars.
It cost $5m. | It cost $5.
A near-empty bus. | A near-full bus.
A car for smokers. | A car for non-smokers.
A short-sleeved shirt. | A long-sleeved shirt.
A large number of people by a large house. | A large number of people by a small house.
He aint here. | He is here.
He mightnt come. | He might come.
He neednt come. | He need come.
He shant come. | He shall come.
He isn t here. | He is here.
They don t run. | They run.
He didn′t come. | He did come.
Nearly all men left. | All men left.
Almost every man left. | Every man left.
Almost nobody came. | Nobody came.
Nearly half left. | Half left.
About half left. | Half left.
They are mostly men. | They are men.
All but one man left. | All men left.
Everyone except Tom left. | Everyone left.
Both men left. | Three men left.
The man comes. | The man goes.
Two men see three dogs. | Three men see two dogs.
All men see some dogs. | Some men see all dogs.
"""


def both_ways(table):
    pairs = [tuple(line.split(" | ")) for line in table.strip().splitlines()]
    return pytest.mark.parametrize(("before", "after"), [*pairs, *((after, before) for before, after in pairs)])


@both_ways(SAFE)
def test_expressed_in_another_way(before, after):
    (verdict,) = judged(before, after)
    assert (verdict.keep, verdict.reason) == (True, "")


@both_ways(UNSAFE)
def test_not_the_same(before, after):
    assert not judged(before, after)[0].keep


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("10 % of men", "10 men", "number: 10% became 10"),
        ("One in five", "Five", "number: 1 lost"),
        ("Two men see three dogs", "Three men see two dogs",
         "number: 2 men became 3 men; number: 3 dogs became 2 dogs"),
        ("Zero men", "Five men", 'negation: "0" lost; number: 5 added'),
        ("An iPhone1 and two", "An iPhone1", "number: 2 lost"),
    ],
)  # fmt: skip
def test_reasons(before, after, reason):
    assert judged(before, after)[0].reason == reason


@pytest.mark.parametrize("off", ["negation", "quantifiers", "numbers", "antonyms"])
def test_each_can_be_switched_off(off):
    texts = {"negation": "Not", "quantifiers": "All", "numbers": "2", "antonyms": "hot"}
    others = {"negation": "So", "quantifiers": "Some", "numbers": "3", "antonyms": "cold"}
    (all_on,) = judged(" ".join(texts.values()), " ".join(others.values()))
    (one_off,) = judged(" ".join(texts.values()), " ".join(others.values()), spec=f"label-safety({off}=false)")
    assert (all_on.score, one_off.score) == (4, 3)
    (alone,) = judged(texts[off], others[off], spec=f"label-safety({off}=false)")
    assert alone.keep


def test_each_variant_and_field_by_itself():
    problem = Problem("p", TASKS["nli"], {"premise": "Two men.", "hypothesis": "No man."}, "neutral")
    texts = [{"premise": "Three men."}, {"hypothesis": "A man."}, {"premise": "A pair.", "hypothesis": "Men."}, {}]
    bucket = Bucket(problem, tuple(problem.restate(**text) for text in texts))
    assert [(v.keep, v.reason) for v in checks.make("label-safety").function([bucket])] == [
        (False, "number: 2 became 3"),
        (False, 'negation: "no" lost'),
        (False, 'number: 2 lost; negation: "no" lost'),
        (True, ""),
    ]


@given(st.text(), st.text())
def test_any_text_is_judged_and_the_same_text_is_safe(one, other):
    there, back = judged(one, other)[0], judged(other, one)[0]
    assert there.keep is (there.reason == "")
    assert judged(one, one)[0].keep
    assert there.keep is back.keep  # what is lost one way is added the other


CUES = ["not", "two", "2", "three", "all", "some", "hot", "cold", "nobody", "man", "woman", "one", "is", "."]


@given(st.lists(st.sampled_from(CUES)), st.randoms())
def test_order_does_not_matter_to_single_words(words, random):
    moved = random.sample(words, len(words))
    # Commas keep them apart: "some two" is about two.
    spaced = [" , ".join(some) for some in (words, moved)]
    assert judged(*spaced)[0].keep


@pytest.mark.parametrize("kind", ["cardinals", "ordinals"])
def test_other_numbers_are_seen(shared, kind):
    """The thin version of what follows."""
    table = pl.read_parquet(shared / "breaking_nli" / "breaking_nli.parquet")
    rows = table.filter(pl.col("category") == kind, pl.col("label") == "contradiction").head(40)
    assert not any(judged(*row)[0].keep for row in rows.select("premise", "hypothesis").rows())


@pytest.mark.slow
def test_breaking_nli(shared):
    """Pairs that differ in one word, by kind (Glockner et al. 2018): other numbers are all seen, synonyms pass.

    The counts are those that docs/variants.md prints, of both kinds of antonyms.
    """
    kinds = ["cardinals", "ordinals", "synonyms", "antonyms", "antonyms_wordnet"]
    table = pl.read_parquet(shared / "breaking_nli" / "breaking_nli.parquet").filter(pl.col("category").is_in(kinds))
    dropped: dict[tuple[str, str], list[bool]] = {}
    for row in table.iter_rows(named=True):
        (verdict,) = judged(row["premise"], row["hypothesis"])
        dropped.setdefault((row["category"], row["label"]), []).append(not verdict.keep)
    found = {kind: (sum(some), len(some)) for kind, some in dropped.items()}
    assert found["cardinals", "contradiction"] == (726, 726)
    assert found["ordinals", "contradiction"] == (647, 647)
    assert found["cardinals", "entailment"] == (0, 22)
    assert found["ordinals", "entailment"] == (0, 16)
    assert found["synonyms", "entailment"] == (2, 894)
    assert found["antonyms", "contradiction"] == (858, 1147)
    assert found["antonyms_wordnet", "contradiction"] == (343, 682)


def share_dropped(suite, task):
    verdicts = ow.check(suite, ["label-safety"], task).filter(pl.col("of").is_not_null())["check:label-safety"]
    return 1 - verdicts.sum() / len(verdicts)


def test_sound_paraphrases_it_drops():
    """What docs/variants.md says of paraphrases written freely: a quarter of the bundled ones."""
    problems = ow.load("everyday")
    suite = pl.concat([problems, ow.vary(problems, ["recorded"])], how="diagonal_relaxed")
    assert 0.2 < share_dropped(suite, "nli") < 0.3


def test_sound_paraphrases_of_parte_it_drops(shared):
    """And a tenth of PaRTE's, which people found sound."""
    suite = ow.load(f"parte:{shared}/originals/parte/collated_data_and_preds.csv")
    assert 0.08 < share_dropped(suite, "rte") < 0.14


@pytest.mark.parametrize(
    ("before", "after", "first", "second"),
    [
        ("He hardly ever sings.", "He rarely sings.", False, True),
        ("The bulk of the men left.", "Most of the men left.", False, True),
        ("A minority of the men left.", "Few of the men left.", False, True),
        ("Thousands of men left.", "Hundreds of men left.", True, False),
        ("It rang thrice.", "It rang 3 times.", False, True),
        ("Over one hundred men left.", "More than 100 men left.", False, True),
        ("Two men left.", "Three men left.", False, False),
    ],
)
def test_what_the_second_version_knows_besides(before, after, first, second):
    kept = [judged(before, after, spec=f"label-safety.v{version}")[0].keep for version in (1, 2)]
    assert kept == [first, second]
