"""Rewordings from other tools beside one's own problems: told by the file, matched by text, counted where not."""

from __future__ import annotations

import json

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName
from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.variants.recorded import recognise_format

DOG = {"premise": "A dog runs.", "hypothesis": "It moves."}
RAIN = {"premise": "It  rains\non Zoë.", "hypothesis": 'He said "wet".'}
HEADER = '"original_text","perturbed_text","ground_truth_output","result_type"\n'


def problem(texts=None, name="p", task="nli", **more):
    texts = {**(texts or DOG), **more}
    return Problem(name, TASKS[task], texts, TASKS[task].labels[0], {"topic": "t"})


def vary(spec, *problems):
    return list(generators.make(spec).function(problems, [0] * len(problems)))


def line(before, after, kind="Successful"):
    texts = [f"[[[[Premise]]]]: {p}<SPLIT>[[[[Hypothesis]]]]: {h}" for p, h in (before, after)]
    return ",".join('"' + text.replace('"', '""') + '"' for text in (*texts, "1", kind)) + "\n"


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def attack(file):
    rain = ("It rains<SPLIT>on Zoë.", 'He said [["wet"]].')
    lines = [
        line(("A [[dog]] runs.", "It moves."), ("A [[hound]] runs.", "It moves.")),
        line(rain, ("It rains<SPLIT>on Zoë.", 'He said [["damp"]].'), "Failed"),
        line(("A cat sleeps.", "It rests."), ("A feline sleeps.", "It rests.")),
    ]
    return file("attack.csv", HEADER + "".join(lines))


def test_textattack_is_matched_by_text(attack):
    one, two = vary(f"recorded:{attack}", problem(), problem(RAIN, "q"))
    assert (one.of, one.text) == ("p", {**DOG, "premise": "A hound runs."})
    assert one.extra == {"topic": "t", "result_type": "Successful"}
    # Its own numbers for labels are none of ours; the field it left alone keeps its white space.
    assert (two.of, two.label, two.text["premise"]) == ("q", "entailment", RAIN["premise"])
    assert two.text["hypothesis"] == 'He said "damp".'


def test_what_finds_no_problem_is_counted(attack):
    made = generators.make(f"recorded:{attack}").function
    assert made.unmatched(0)[0] == 3
    list(made([problem()], [0]))
    assert made.unmatched(1)[0] == 2
    list(made([problem(name="again"), problem(RAIN)], [0, 0]))
    assert made.unmatched(3)[0] == 1
    assert made.unmatched(4) is None  # another process had the fourth: who knows what that one met


def test_the_bundled_rewordings_may_meet_a_part_of_the_bundled_problems():
    assert generators.make("recorded").function.unmatched(0) is None


def test_what_is_no_variant_is_reported(file):
    rows = [line(("P.", "H."), ("P.", "H.")), line(("P.", "G."), ("P.", "G."), "Skipped")]
    path = file("attack.csv", HEADER + "".join(rows))
    with pytest.warns(UserWarning, match=r"2 of 2 entries are not variants: 1 skipped, 1 unchanged"):
        assert vary(f"recorded:{path}", problem({"premise": "P.", "hypothesis": "H."})) == []


def test_another_tools_label_must_be_the_problems_if_it_is_one_of_the_tasks(file):
    pair = {"sentence1": DOG["premise"], "sentence2": DOG["hypothesis"]}
    labels = ("Entailment ", "contradiction", "1", None)
    cases = [
        {"class": f"{label}", "inputs": {**pair, "target": label}, "outputs": [{**pair, "sentence1": "A hound runs."}]}
        for label in labels
    ]
    made = generators.make(f"recorded:{file('test.json', {'test_cases': cases})}").function
    found = list(made([problem()], [0]))
    assert made.left_out == {"with another label": 1}
    assert [variant.extra["transformation"] for variant in found] == ["Entailment ", "1", "None"]
    assert {variant.label for variant in found} == {"entailment"}
    assert made.unmatched(1)[0] == 0  # it found its problem, and was told of


def test_what_repeats_the_problem_it_is_matched_to_by_id_is_no_variant(file):
    case = {"id": "p", "inputs": {"premise": "cut"}, "outputs": [{"premise": "A dog  runs."}]}
    assert vary(f"recorded:{file('test.json', {'test_cases': [case]})}", problem()) == []


def test_marks_of_contrasts_are_refused_in_other_tools_files_too(file):
    head = HEADER.replace("\n", ',"contrast"\n')
    row = line(("P.", "H."), ("P!", "H.")).rstrip() + ',"med"\n'
    with refuses(BadInput):
        generators.make(f"recorded:{file('attack.csv', head + row)}")


def test_every_problem_of_the_same_text_gets_the_variant(attack):
    assert [variant.of for variant in vary(f"recorded:{attack}", problem(), problem(name="twin"))] == ["p", "twin"]


def test_fields_that_the_task_lacks_match_nothing(attack):
    story = Problem("s", TASKS["a-nli"], dict.fromkeys(TASKS["a-nli"].fields, "A dog runs."), "hyp1")
    assert vary(f"recorded:{attack}", story) == []


def test_a_field_that_was_not_attacked_need_not_be_in_the_file(attack):
    update = problem(task="d-nli", update="It is a race.")
    assert [variant.text["update"] for variant in vary(f"recorded:{attack}", update)] == ["It is a race."]


def test_nl_augmenter_by_text_by_id_and_by_one_sentence(file):
    pair = {"sentence1": DOG["premise"], "sentence2": DOG["hypothesis"], "target": "1"}
    cases = [
        {"class": "A", "inputs": pair, "outputs": [{**pair, "sentence1": "A hound runs."}]},
        {"class": "B", "id": "p", "inputs": {"premise": "cut"}, "outputs": [{"premise": "A dog is running."}]},
        {"class": "C", "inputs": {"sentence": "It moves."}, "outputs": [{"sentence": "It stirs."}]},
    ]
    found = vary(f"recorded:{file('test.json', {'test_cases': cases})}", problem())
    assert [(v.extra["transformation"], v.text["premise"], v.text["hypothesis"]) for v in found] == [
        ("B", "A dog is running.", "It moves."),
        ("C", "A dog runs.", "It stirs."),
        ("A", "A hound runs.", "It moves."),
    ]


def test_one_sentence_may_be_either_target(file):
    case = {"class": "C", "inputs": {"sentence": "It moves."}, "outputs": [{"sentence": "It stirs."}]}
    path = file("test.json", {"test_cases": [case]})
    both = problem({"premise": "It moves.", "hypothesis": "It moves."})
    assert [list(variant.text.values()) for variant in vary(f"recorded:{path}", both)] == [
        ["It stirs.", "It moves."],
        ["It moves.", "It stirs."],
    ]
    context = problem({"premise": "It moves.", "hypothesis": "x"}, task="d-nli", update="y")
    assert vary(f"recorded:{path}", context) == []


def test_checklist_needs_no_labels_if_the_problems_have_them(file):
    group = [["A dog runs.", "It moves."], ["A hound runs.", "It moves."], ["A dog  runs.", "It stirs."]]
    path = file("suite.json", {"synonyms": {"type": "INV", "data": [group], "labels": None}})
    assert [
        (v.text["premise"], v.text["hypothesis"], v.extra["test"]) for v in vary(f"recorded:{path}", problem())
    ] == [
        ("A hound runs.", "It moves.", "synonyms"),
        ("A dog runs.", "It stirs.", "synonyms"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [
        ("a.csv", HEADER, "textattack"),
        ("a.csv", "of,premise\n", "table"),
        ("a.csv", "", "table"),
        ("a.jsonl", "", "table"),
        ("a.parquet", "", "table"),
        ("a.json", {"type": "x", "test_cases": []}, "nl-augmenter"),
        ("a.json", {"x": {"type": "INV", "data": []}}, "checklist"),
        ("a.pkl", b"\x80\x04", "checklist"),
    ],
)
def test_the_format_is_recognised_by_the_file(file, name, content, format_):
    assert recognise_format(file(name, content)) == format_


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "of,original_text,perturbed_text\n"),
        ("a.json", {"test_cases": [], "x": {"type": "INV", "data": []}}),
        ("a.json", [1]),
        ("a.json", "{"),
        ("a.txt", "text"),
    ],
)
def test_files_that_do_not_tell(file, name, content):
    with refuses(BadInput):
        recognise_format(file(name, content))


def test_what_the_user_says_is_believed(file, attack):
    assert recognise_format(file("log.txt", "x"), "nl_augmenter") == "nl-augmenter"
    renamed = file("attack.log", attack.read_bytes())
    assert len(vary(f"recorded(path={renamed}, format=textattack)", problem())) == 1
    with refuses(UnknownName):
        generators.make(f"recorded(path={attack}, format=TextFooler)")
    with refuses(BadInput):
        generators.make(f"recorded(path={attack}, format=table)")


def test_entries_that_cannot_be_read_are_pinned(file):
    path = file("attack.csv", HEADER + '"A film.","A movie.","1","Failed"\n')
    with refuses(BadInput):
        generators.make(f"recorded:{path}")
    pickled = file("suite.pkl", b"\x80\x04")
    with refuses(BadInput):
        generators.make(f"recorded:{pickled}")


def test_data_and_recorded_say_the_same(attack):
    """The log as data, and beside the problems it attacked, gives the same variants."""
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    suite = ow.load(f"textattack:{attack}", labels=labels)
    alone = suite.filter(suite["of"].is_not_null())
    matched = ow.vary(suite.filter(suite["of"].is_null()).drop("result_type"), [f"recorded:{attack}"])
    columns = ["of", "premise", "hypothesis", "label", "result_type"]
    assert matched.select(columns).equals(alone.select(columns))


def test_a_file_is_sorted_and_reported_once(file):
    """A run makes its generators several times; a file that has changed since is read again."""
    same, other = line(("P.", "H."), ("P.", "H.")), line(("P.", "H."), ("P!", "H."))
    path = file("attack.csv", HEADER + same + other)
    with pytest.warns(UserWarning, match="1 unchanged"):
        first = generators.make(f"recorded:{path}").function
    again = generators.make(f"recorded:{path}").function  # warnings are errors here, and there is none
    one = problem({"premise": "P.", "hypothesis": "H."})
    assert len(list(first([one], [0]))) == 1
    assert (first.unmatched(1)[0], again.unmatched(0)[0]) == (0, 1)  # what was met is each generator's own
    file("attack.csv", HEADER + other + line(("P.", "H."), ("P?", "H.")))
    assert len(vary(f"recorded:{path}", one)) == 2
