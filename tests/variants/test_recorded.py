from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from examples import at_most
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.frames import to_frame
from otherwords.pipeline import varied
from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.variants.generating import as_generator, warn_unused_rows

NLI = TASKS["nli"]
ONE = Problem("o1", NLI, {"premise": "P.", "hypothesis": "H."}, "neutral", {"topic": "t"})
TWO = Problem("0", NLI, {"premise": "Q.", "hypothesis": "H."}, "entailment")


def vary(path, *problems):
    return list(generators.make(f"recorded(path={path})").function(problems or [ONE], [0] * len(problems or [ONE])))


def test_rows_reword_the_fields_they_have(jsonl):
    path = jsonl(
        {"of": "o1", "premise": "P!"}, {"of": "o2", "premise": "X"}, {"of": "o1", "id": "v", "hypothesis": "H!"}
    )
    first, second = vary(path)
    assert (first.text, first.id) == ({"premise": "P!", "hypothesis": "H."}, "")
    assert (second.text, second.id) == ({"premise": "P.", "hypothesis": "H!"}, "v")
    assert {(v.of, v.label) for v in (first, second)} == {("o1", "neutral")}


def test_other_columns_come_along(jsonl):
    (variant,) = vary(jsonl({"of": "o1", "premise": "P!", "worker": 7, "topic": "own", "cluster": "c", "how": "x"}))
    assert variant.extra == {"topic": "own", "worker": 7}


def test_columns_of_later_stages_do_not_break_them(jsonl):
    """A column `model` (who wrote the paraphrase) once ended in a duplicate column of the answers."""
    path = jsonl({"of": "o1", "premise": "P!", "model": "gpt", "tags": ["a"], "pred": "x"}, name="r.jsonl")
    frame = ow.load(str(jsonl({"id": "o1", "premise": "P.", "hypothesis": "H.", "label": "neutral"})))
    variants = ow.vary(frame, [f"recorded(path={path})"])
    assert variants.select("input_model", "tags", "input_pred").row(0) == ("gpt", '["a"]', "x")
    suite = pl.concat([frame, variants], how="diagonal_relaxed")
    answers = ow.answer(suite, "scripted", canary=False)
    assert answers.height == 2
    assert answers["model"].to_list() == ["scripted"] * 2


@pytest.mark.parametrize("of", ["o1", " o1 "])
def test_ids_are_compared_as_the_door_reads_them(jsonl, of):
    assert len(vary(jsonl({"of": of, "premise": "P!"}))) == 1


def test_an_id_may_be_the_number_nought(jsonl):
    assert len(vary(jsonl({"of": 0, "premise": "Q!"}), TWO)) == 1


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "ndjson"])
def test_any_table(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    rows = [{"of": "o1", "premise": "P!", "hypothesis": None}, {"of": "o1", "premise": None, "hypothesis": 'H "h"!'}]
    if ending in ("csv", "tsv"):
        mid = {"csv": ",", "tsv": "\t"}[ending]
        cells = ['"H ""h""!"' if ending == "csv" else 'H "h"!']
        path.write_text(
            f"of{mid}premise{mid}hypothesis{mid}label\no1{mid}P!{mid}{mid}\no1{mid}{mid}{cells[0]}{mid}neutral\n"
        )
    elif ending == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [variant.text for variant in vary(path)] == [
        {"premise": "P!", "hypothesis": "H."},
        {"premise": "P.", "hypothesis": 'H "h"!'},
    ]


def test_the_label_may_be_repeated_in_any_writing(jsonl):
    assert len(vary(jsonl({"of": "o1", "premise": "P!", "label": "Neutral"}))) == 1
    with refuses(BadInput):
        vary(jsonl({"of": "o1", "premise": "P!", "label": "contradiction"}))


@pytest.mark.parametrize(
    "row",
    [
        {"premise": "P!"},
        {"of": "", "premise": "P!"},
        {"of": None, "premise": "P!"},
        "{",
        {"of": "o1", "premise": 3},
        {"of": "o1", "sentence": "P!"},
    ],
)
def test_rows_that_cannot_be_used(jsonl, row):
    with refuses(BadInput):
        vary(jsonl(row))


def test_files_that_cannot_be_used(tmp_path):
    with refuses(BadInput):
        vary(tmp_path / "gone.jsonl")
    with refuses(BadInput):
        vary(tmp_path / "notes.txt")


def test_the_signature_follows_the_content(jsonl, tmp_path):
    path = jsonl({"of": "o1", "premise": "P!"})
    before = generators.make(f"recorded(path={path})").signature
    assert before.startswith("recorded.v1(path=rows.jsonl#")
    jsonl({"of": "o1", "premise": "P?"})
    assert generators.make(f"recorded(path={path})").signature != before
    assert generators.make("recorded").signature.startswith("recorded.v1(path=everyday_rewordings.jsonl#")


def test_the_bundled_rewordings_fit_the_bundled_problems():
    frame = ow.load("everyday(split=all)")
    variants = ow.vary(frame, ["recorded"])
    per_problem = variants.group_by("of").len()
    assert set(per_problem["of"]) == set(frame["id"])
    assert set(per_problem["len"]) <= {2, 3}
    checked = ow.check(pl.concat([frame, variants], how="diagonal_relaxed"), ["surface"])
    assert checked.filter(~pl.col("check:surface")).height == 0


def test_an_empty_text_in_json_is_what_it_says(jsonl):
    """In a table an empty cell is a field that the row lacks; JSON can leave it out, so there it is an empty text."""
    (variant,) = vary(jsonl({"of": "o1", "premise": ""}))
    assert variant.text["premise"] == ""


def test_what_changes_white_space_alone_is_no_variant(jsonl):
    same = [{"of": "o1", "premise": "P."}, {"of": "o1", "premise": " P.\n", "hypothesis": "H."}]
    path = jsonl(*same, {"of": "o1", "premise": "P!"}, {"of": "o1", "premise": "P!"}, {"of": "0", "hypothesis": "H."})
    made = vary(path, ONE, TWO)
    # Two equal rows both stay: the check `surface` drops one, and says so.
    assert [(variant.of, variant.text["premise"]) for variant in made] == [("o1", "P!"), ("o1", "P!")]


def test_it_is_counted_and_reported_at_the_end(jsonl):
    bound = generators.make(f"recorded:{jsonl({'of': 'o1', 'premise': 'P.'})}")
    assert list(bound.function([ONE], [0])) == list(bound.function([ONE], [0])) == []
    assert bound.function.left_out == {"unchanged": 2}
    with pytest.warns(UserWarning, match=r"rows\.jsonl#.*: 2 of its rows are not variants: unchanged"):
        warn_unused_rows([bound], 2)


@pytest.mark.parametrize("mark", ["contrast", "control"])
@pytest.mark.parametrize("value", ["med", True, 0])
def test_a_rewording_is_neither_contrast_nor_control(jsonl, mark, value):
    path = jsonl({"of": "o1", "premise": "P!"}, {"of": "elsewhere", "premise": "P!", mark: value})
    with refuses(BadInput, where=f"{path}, line 2", field=mark):
        generators.make(f"recorded:{path}")


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_mark_is_none(jsonl, blank):
    (variant,) = vary(jsonl({"of": "o1", "premise": "P!", "contrast": blank, "control": blank}))
    assert variant.extra == {"topic": "t"}


ROWS = st.fixed_dictionaries(
    {"of": st.sampled_from(["a", "b", "gone"])},
    optional={
        "premise": st.none() | st.sampled_from(["It rains.", "It  rains.", "Rain!", "", "犬"]),
        "hypothesis": st.sampled_from(["It is wet.", "Wet."]),
        "id": st.none() | st.sampled_from(["", "x", 7]),
        "label": st.none() | st.sampled_from(["Neutral ", "neutral", "entailment", "none", 3]),
        "how": st.just("hand"),
        "n": st.none() | st.integers(0, 3),
        "topic": st.none() | st.sampled_from(["t", 5, True, 2.5, ["x"], 2**70, "None"]),
        "model": st.sampled_from(["gpt", None]),
        "check:mine": st.booleans(),
    },
)


@pytest.mark.filterwarnings("ignore")
@settings(deadline=None, max_examples=at_most(60))
@given(
    st.lists(ROWS, min_size=1, max_size=5),
    st.dictionaries(st.sampled_from(["n", "topic"]), st.none() | st.sampled_from([1, "t"])),
    st.sampled_from([None, "neutral"]),
)
@example([{"of": "b", "hypothesis": "It is wet.", "model": "gpt"}, {"of": "a", "hypothesis": "Wet."}], {}, None)
def test_columns_give_what_problems_give(rows, extra, label):
    """Variants, what is left out and unmatched, and what is refused."""
    texts = {"premise": "It rains.", "hypothesis": "It is wet."}
    about = [{"id": one, "of": None, "how": None, **texts, "label": label, "cluster": "c", **extra} for one in "abc"]
    table = to_frame(about, TASKS["nli"])

    def made(by_row):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            bound = generators.make(f"recorded:{path}")
            generator = as_generator(bound.function)
            try:
                using = replace(bound, function=replace(generator, columns=None)) if by_row else bound
                found = varied(table, [using], TASKS["nli"])[0]
            except BadInput as error:
                return None, str(error).replace(folder, "")
            return found, (dict(generator.left_out), str(generator.unmatched(3)).replace(folder, ""))

    (found, noted), (expected, noted_by_row) = made(False), made(True)
    assert noted == noted_by_row
    if expected is not None:
        assert_frame_equal(found, expected)
