"""TextAttack's CSV, as its csv_logger writes it: QUOTE_NONNUMERIC, numbers as floats, line breaks as <SPLIT>."""

from __future__ import annotations

import csv
import json
from hashlib import sha256

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.rewordings import RecordedRewording
from otherwords.datasets.textattack import fields, rewordings, unmarked
from otherwords.errors import BadInput
from otherwords.registry import datasets

COLUMNS = (
    *("original_text", "perturbed_text", "original_score", "perturbed_score", "original_output", "perturbed_output"),
    *("ground_truth_output", "num_queries", "result_type"),
)
HTML = "<font color = bold><font color = underline>%s</font></font>"
#: As TextAttack's own bert-base-uncased-snli numbers them.
LABELS = '(labels=["contradiction", "entailment", "neutral"])'


def marked(premise, hypothesis, mid="<SPLIT>"):
    return f"[[[[Premise]]]]: {premise}{mid}[[[[Hypothesis]]]]: {hypothesis}"


def attack(before, after, gold=1.0, kind="Successful"):
    return [before, after, 0.0123, 0.9876, gold, 2.0, gold, 23.0, kind]


@pytest.fixture
def log(tmp_path):
    def write(*rows, columns=COLUMNS, name="attack.csv"):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
            writer.writerows([columns, *rows])
        return tmp_path / name

    return write


def digest_of(premise, hypothesis):
    """Ids of originals, computed as documented: SHA-256 of the texts as JSON."""
    key = json.dumps([["hypothesis", hypothesis], ["premise", premise]])
    return sha256(json.dumps([key]).encode()).hexdigest()[:16]


DOG_ID = digest_of("A dog runs.", "It moves.")
DOG = attack(marked("A [[dog]] runs.", "It [[moves]]."), marked("A [[hound]] runs.", "It [[is in motion]]."))
WET = attack(marked("It rains.", "It is [[dry]]."), marked("It rains.", "It is [[arid]]."), 0.0, "Failed")


def test_originals_and_variants(log, take):
    path = log(DOG, WET)
    tag, wet = sha256(path.read_bytes()).hexdigest()[:8], digest_of("It rains.", "It is dry.")
    rows, _ = take(f"textattack:{path}{LABELS}", "nli")
    assert [(r["id"], r["of"], r["how"], r["premise"], r["hypothesis"], r["label"]) for r in rows] == [
        (DOG_ID, None, None, "A dog runs.", "It moves.", "entailment"),
        (f"{DOG_ID}~textattack.{tag}.1", DOG_ID, "textattack", "A hound runs.", "It is in motion.", "entailment"),
        (wet, None, None, "It rains.", "It is dry.", "contradiction"),
        (f"{wet}~textattack.{tag}.2", wet, "textattack", "It rains.", "It is arid.", "contradiction"),
    ]
    assert (rows[3]["result_type"], rows[3]["num_queries"]) == ("Failed", "23.0")
    assert "result_type" not in rows[2]


def test_skipped_and_unchanged_rows_leave_their_original(log, take):
    same = marked("A  man.", "He.")
    path = log(
        DOG, attack(marked("P.", "H."), marked("P.", "H."), 2.0, "Skipped"), attack(marked("A man.", "He."), same)
    )
    with pytest.warns(UserWarning, match=r"attack\.csv: 2 of 3 .*: 1 skipped, 1 unchanged"):
        rows, _ = take(f"textattack:{path}{LABELS}", "nli")
    assert [row["of"] for row in rows] == [None, DOG_ID, None, None]


def test_two_attacks_on_one_problem_share_a_bucket(log, take):
    other = attack(marked("A dog runs.", "It moves."), marked("A dog runs.", "It stirs."))
    rows, _ = take(f"textattack:{log(DOG, other)}{LABELS}", "nli")
    assert [row["of"] for row in rows] == [None, DOG_ID, DOG_ID]
    assert [row["id"].rpartition(".")[2] for row in rows[1:]] == ["1", "2"]
    contrary = attack(marked("A dog runs.", "It moves."), marked("A dog runs.", "It stirs."), 0.0)
    _, intake = take(f"textattack:{log(DOG, contrary)}{LABELS}", "nli", skip_bad=True)
    assert "found the label '0'; an earlier entry of the same problem has '1'" in intake.rejected[0]["reason"]


def test_numbers_have_no_names_of_their_own(log):
    """TextAttack's SNLI models disagree on what 1 is, so nothing is assumed."""
    path = log(DOG)
    with refuses(BadInput):
        ow.load(f"textattack:{path}")
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    assert ow.load(f"textattack:{path}", labels=labels)["label"].to_list() == ["entailment"] * 2
    with refuses(BadInput):
        datasets.make(f"textattack:{path}(labels=neutral)")


@pytest.mark.parametrize(
    ("text", "premise", "hypothesis"),
    [
        (marked("A [[dog]].", "It.", ">>>>"), "A dog.", "It."),  # until 0.2.5
        ("Premise: A dog.<SPLIT>Hypothesis: It.", "A dog.", "It."),  # --csv-coloring-style plain
        (f"{HTML % 'Premise'}: A <font color = red>dog</font>.<SPLIT>{HTML % 'Hypothesis'}: It.", "A dog.", "It."),
        ("Premise: A dog.\n\nHypothesis: It.", "A dog.", "It."),  # saved again by somebody else
        (marked("One.<SPLIT>Two: three.", "It."), "One.\nTwo: three.", "It."),  # a line break of the text's own
        ("[[[[Sentence1]]]]: A.<SPLIT>[[[[Sentence2]]]]: B.", "A.", "B."),  # GLUE's RTE
        (marked('He said "no", [[Zoë]]: 木 ]', "[It]."), 'He said "no", Zoë: 木 ]', "[It]."),
        (marked("[[Every]] [[single]] [[word]]", ""), "Every single word", ""),
    ],
)
def test_texts_split_as_they_were_joined(text, premise, hypothesis):
    assert fields(text) == {"premise": premise, "hypothesis": hypothesis}


HTML_PAIR = f"{HTML % 'Premise'}: A fire.<SPLIT>Premise: out.<SPLIT>{HTML % 'Hypothesis'}: It."


@pytest.mark.parametrize(
    ("text", "premise"),
    [
        (
            marked("A fire broke out.<SPLIT>Update: it is under control.", "It."),
            "A fire broke out.\nUpdate: it is under control.",
        ),
        (marked("A fire.\nPremise: zzz", "It."), "A fire.\nPremise: zzz"),
        (HTML_PAIR, "A fire.\nPremise: out."),
    ],
)
def test_a_name_without_marks_among_marked_ones_is_text(text, premise):
    assert fields(text) == {"premise": premise, "hypothesis": "It."}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Premise: A fire.<SPLIT>Premise: zzz<SPLIT>Hypothesis: It.", r"found Premise: twice, and a text may hold one"),
        (marked("A.<SPLIT>[[[[Premise]]]]: B.", "C."), r"found Premise: twice"),
        (marked("A.", "B.<SPLIT>[[[[Sentence1]]]]: C."), r"found Premise: twice"),  # GLUE's name for it
        (
            "Premise: A fire.<SPLIT>Update: it is out.<SPLIT>Hypothesis: It.",
            r"found premise, update, hypothesis: no task has them in this order, .*; log with --csv-coloring-st",
        ),
    ],
)
def test_names_of_which_one_may_be_text_are_refused_on_their_row(log, take, text, message):
    row = attack(text, text.replace("fire", "blaze"))
    with refuses(BadInput):
        take(f"textattack:{log(row)}{LABELS}", "nli")
    assert len(take(f"textattack:{log(row, DOG)}{LABELS}", "nli", skip_bad=True)[0]) == 2


def test_text_before_the_first_name_is_not_cut_off():
    assert fields("A film.<SPLIT>Premise: P.<SPLIT>Hypothesis: H.") == {}
    assert fields("A film.\n[[[[Premise]]]]: P.<SPLIT>[[[[Hypothesis]]]]: H.") == {}


def test_two_logs_are_read_together(log):
    one, two = log(DOG, name="one.csv"), log(WET, name="two.csv")
    assert ow.load(f"textattack:{one}{LABELS}", f"textattack:{two}{LABELS}").height == 4
    # Attacks on the same problem share its bucket; that the original occurs twice is reported.
    two = log(WET, attack(DOG[0], DOG[1].replace("hound", "pup")), name="two.csv")
    with refuses(BadInput):
        ow.load(f"textattack:{one}{LABELS}", f"textattack:{two}{LABELS}")
    with pytest.warns(UserWarning, match=r"left out 1 rows"):
        suite = ow.load(f"textattack:{one}{LABELS}", f"textattack:{two}{LABELS}", skip_bad=True)
    assert suite.filter(suite["of"] == DOG_ID)["premise"].to_list() == ["A hound runs.", "A pup runs."]


def test_other_tasks_name_their_own_fields():
    text = "[[[[Obs1]]]]: A.<SPLIT>[[[[Obs2]]]]: B.<SPLIT>[[[[Hyp1]]]]: C.<SPLIT>[[[[Hyp2]]]]: D."
    assert fields(text) == {"obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D."}
    assert fields("Just a film review.") == {}


def test_marks_may_lie_within_marks():
    assert unmarked("[[[[a]] b]] [c] ]]") == "a b [c] ]]"


@pytest.mark.parametrize(
    "row",
    [
        attack("A fine [[film]].", "A good [[film]]."),
        attack(marked("P.", "H."), "[[[[Premise]]]]: P!"),
        attack(marked("P.", "H."), ""),
        attack(marked("P.", "H."), marked("P!", "H."), ""),
        ["short"],
    ],
)
def test_rows_that_cannot_be_used(log, take, row):
    with refuses(BadInput):
        take(f"textattack:{log(row)}{LABELS}", "nli")


def test_files_that_cannot_be_used(log, tmp_path):
    with refuses(BadInput):
        list(rewordings(log(["a", "b"], columns=["original_text", "score"])))
    with refuses(BadInput):
        ow.load(f"textattack:{log()}")
    (tmp_path / "nothing.csv").write_text("")
    with refuses(BadInput):
        ow.load(f"textattack:{tmp_path / 'nothing.csv'}")


def test_pandas_index_is_no_column(log):
    path = log([0, *DOG], columns=["", *COLUMNS])
    (one,) = rewordings(path)
    assert isinstance(one, RecordedRewording)
    assert "" not in one.extra
