"""Templates: how problems are put, as data; and the shots that come first."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replying import Replying

import otherwords as ow
from otherwords.errors import BadInput, UnknownName
from otherwords.language_models.completion import Capabilities, Completion, Message
from otherwords.models.answering import load
from otherwords.models.prompting import prompted
from otherwords.models.shots import draw
from otherwords.models.templates import presets, read_preset, read_template, template_name
from otherwords.problem import TASKS, Batch

NLI, RTE, D_NLI, A_NLI = (TASKS[name] for name in ("nli", "rte", "d-nli", "a-nli"))
OWN = """
task = "rte"
prompt = "{premise} -> {hypothesis}?"
[words]
entailed = "yes"
not-entailed = "no"
"""


@pytest.fixture
def own(tmp_path):
    def write(text=OWN, name="own.toml", **keys):
        path = tmp_path / name
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        path.write_text(lines + text, encoding="utf-8")
        return str(path)

    return write


def texts(task, number=0):
    return {name: f"{name} {number}" for name in task.fields}


# What is asked


@pytest.mark.parametrize("name", presets())
def test_every_preset_asks_about_all_fields_and_names_all_words(name):
    template = read_preset(name)
    task = template.task
    assert read_template(name, task) == template
    assert read_template(template.name, task) == template
    assert template_name(name) == template.name
    assert template.summary
    request = template.request(texts(task), chat=template.form != "plain")
    whole = request.text + "".join(one.content for one in request.messages)
    assert all(text in whole for text in texts(task).values())
    assert "{" not in whole


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_template_of_its_own_and_one_of_letters(task):
    assert read_template("", TASKS[task]).name == "words"
    letters = read_template("letters", TASKS[task])
    assert list(letters.words.values()) == list("ABC"[: len(TASKS[task].labels)])


def test_the_prompt_of_parte_is_as_printed():
    request = read_template("parte", RTE).request({"premise": "It rains.", "hypothesis": "It is wet."}, chat=False)
    assert request.text == "Premise: It rains.\nHypothesis: It is wet.\nDoes the premise entail the hypothesis? Answer:"
    found = (request.temperature, request.top_p, request.frequency_penalty, request.presence_penalty)
    assert found == (0.0, 1.0, 0.1, 0.0)
    model = Replying(Completion(" Yes"), Capabilities(chat=False))
    answers = prompted(model, RTE, template="parte")(Batch(RTE, {"premise": ["a"], "hypothesis": ["b"]}))
    assert answers.answers == ["entailed"]
    assert model.asked[0].max_tokens == 1


def test_the_prompts_of_paranlu_are_as_printed():
    template = read_template("paranlu", D_NLI)
    assert template.system.startswith("Given a Premise sentence, a Hypothesis sentence is defeasible if there exists")
    assert template.system.endswith("assign either W or S to the Update sentence.")
    shot = ({"premise": "P.", "hypothesis": "H.", "update": "U."}, "weakener")
    request = template.request({"premise": "p", "hypothesis": "h", "update": "u"}, [shot], chat=False)
    solved = "Premise: P.\nHypothesis: H.\nUpdate: U.\nAnswer: W"
    assert request.text == f"{template.system}\n\n{solved}\n\nPremise: p\nHypothesis: h\nUpdate: u\nAnswer:"
    other = read_template("paranlu-a-nli", A_NLI)
    assert other.system.startswith("Given a story with a beginning and an end, select from two choices the middle")
    assert other.request(texts(A_NLI), chat=False).text.endswith("\nPlausible Middle Sentence:")
    assert all(one.exact and one.readout == "tokens" and one.shots.count == 36 for one in (template, other))


def test_a_line_whose_fields_are_empty_is_left_out():
    request = read_template("", D_NLI).request({"premise": "", "hypothesis": "h", "update": "u"}, chat=True)
    assert request.messages[-1].content.startswith("Hypothesis: h\nUpdate: u\n")


def test_shots_are_turns_of_a_chat(own):
    template = read_template(own(system="Say {labels}."), RTE)
    request = template.request(
        {"premise": "a", "hypothesis": "b"}, [({"premise": "c", "hypothesis": "d"}, "entailed")], chat=True
    )
    assert request.messages == (
        Message("system", "Say yes or no."),
        Message("user", "c -> d?"),
        Message("assistant", "yes"),
        Message("user", "a -> b?"),
    )


@given(st.text(), st.text())
def test_texts_are_put_as_they_are(premise, hypothesis):
    template = read_template("words", RTE)
    said = template.fill({"premise": premise, "hypothesis": hypothesis})
    assert (f"Premise: {premise}\n" in said) == bool(premise)
    assert (f"Hypothesis: {hypothesis}\n" in said) == bool(hypothesis)


def test_the_order_of_labels_is_part_of_a_template(own):
    plain, turned = read_template(own(), RTE), read_template(own(order=["not-entailed", "entailed"]), RTE)
    assert (plain.listed_words, turned.listed_words) == ("yes or no", "no or yes")
    assert plain.identity != turned.identity


def test_its_name_and_place_do_not_change_what_it_is(own):
    assert (
        read_template(own(name="a.toml"), RTE).identity == read_template(own(name="b.toml", summary="x"), RTE).identity
    )


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({"promt": "x"}, r"promt: unknown key; did you mean prompt\?"),
        ({"form": "sms"}, "form: found 'sms'; use chat or plain"),
        ({"exact": "yes"}, "exact: found .*; give true or false"),
        ({"system": "about {premise}"}, r"system: \{premise\} is not a field"),
        ({"order": ["entailed"]}, "order: found entailed; name each of entailed, not-entailed once"),
    ],
)
def test_wrong_keys_are_refused(own, keys, found):
    with pytest.raises(BadInput, match=found):
        read_template(own(**keys), RTE)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("{hypothesis}", "it", "prompt: has no place for the field hypothesis; write {hypothesis}"),
        (
            "{hypothesis}",
            "{hypothesis} {claim}",
            "prompt: {claim} is not a field of rte; available: {premise}, {hypothesis}",
        ),
        ("{hypothesis}", "{hypothesis!r}", "{hypothesis!} is not a field"),
        ("{hypothesis}", "{hypothesis.x}", "{hypothesis.x} is not a field"),
        ("{hypothesis}", "{hypothesis", "write {{ and }} for braces themselves"),
        ('not-entailed = "no"', "", "words: no word for not-entailed"),
        ('not-entailed = "no"', 'not-entailed = "Yes"', "words: two labels have the same word"),
        ('not-entailed = "no"', 'not-entailed = "unreadable"', "stands for answers that cannot be read"),
        ('not-entailed = "no"', 'maybe = "no"', "words.maybe: unknown key"),
        ('task = "rte"', 'task = "nli"', "no word for entailment, neutral"),
        ('task = "rte"\n', "", "lacks task"),
        ('task = "rte"', 'task = "rte"\nname = "a b"', "name: found 'a b'; use letters"),
        ("[words]", "[words", "cannot be read as a template"),
        ("[words]", "[parameters]\nmax_tokens = 0\n[words]", "parameters.max_tokens: found 0"),
        ("[words]", "[parameters]\ntop_k = 1\n[words]", "parameters.top_k: unknown key"),
        ("[words]", "[shots]\ncount = -1\n[words]", "shots.count: found -1"),
    ],
)
def test_wrong_templates_are_refused(own, old, new, found):
    import re

    wrong = {"no word for entailment, neutral": "words"}.get(found, "")
    with pytest.raises(BadInput, match=wrong or re.escape(found)):
        read_template(own(OWN.replace(old, new)), RTE)


def test_a_template_of_another_task_and_one_that_does_not_exist_are_refused(own):
    with pytest.raises(BadInput, match="own is a template for rte, not for nli; use a template for nli"):
        read_template(own(), NLI)
    with pytest.raises(UnknownName, match=r"no template 'letter'; did you mean .*otherwords list templates"):
        read_template("letter", NLI)
    with pytest.raises(UnknownName, match="the task nli has no template 'paranlu'"):
        read_template("paranlu", NLI)
    with pytest.raises(BadInput, match="cannot be read as a template"):
        read_template("absent.toml", NLI)


def test_a_form_that_the_model_cannot_do_is_refused(own):
    with pytest.raises(BadInput, match="the template own is plain, and gpt can be asked chat only"):
        prompted(Replying(Completion(""), Capabilities(plain=False)), RTE, template=own(form="plain"), where="gpt")


# Shots


def data(path, count=60, task=RTE):
    rows = [
        {
            **{name: f"{name} of {path.stem}, {n} {n + 1000} {n * n} w{n} x{n} y{n} z{n}" for name in task.fields},
            "label": task.labels[n % 3 > 0],
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def few(own, **shots):
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in shots.items())
    return read_template(own(OWN + f"[shots]\n{lines}", name="few.toml"), RTE)


def test_shots_are_drawn_by_seed_and_content(own, tmp_path):
    name = data(tmp_path / "train.jsonl")
    template = few(own, count=6)
    one = draw(template, RTE, source=name).before({"premise": "x", "hypothesis": "y"})
    assert len(one) == len({shot.texts["premise"] for shot in one}) == 6
    rows = (tmp_path / "train.jsonl").read_text().splitlines()
    (tmp_path / "turned.jsonl").write_text("\n".join(reversed(rows)) + "\n")
    asked = {"premise": "x", "hypothesis": "y"}
    assert draw(template, RTE, source=str(tmp_path / "turned.jsonl")).before(asked) == one
    other = draw(template, RTE, source=name, seed=2)
    assert other.before(asked) != one
    assert other.identity != draw(template, RTE, source=name).identity
    assert len(draw(template, RTE, source=name, count=2).before(asked)) == 2


def test_balanced_shots_have_each_label_as_often(own, tmp_path):
    name = data(tmp_path / "train.jsonl")
    asked = {"premise": "x", "hypothesis": "y"}
    labels = [shot.label for shot in draw(few(own, count=10, balanced=True), RTE, source=name).before(asked)]
    assert Counter(labels) == {"entailed": 5, "not-entailed": 5}
    assert labels != sorted(labels)


def test_each_of_several_files_gives_as_many(own, tmp_path):
    names = [data(tmp_path / f"{name}.jsonl") for name in ("snli", "atomic", "social")]
    drawn = draw(few(own, count=36), RTE, source=names).before({"premise": "x", "hypothesis": "y"})
    sets = [shot.texts["premise"].partition(" of ")[2].partition(",")[0] for shot in drawn]
    assert Counter(sets) == {"snli": 12, "atomic": 12, "social": 12}
    assert sets != sorted(sets, key=["snli", "atomic", "social"].index)
    near = few(own, count=3, files=["snli.jsonl"])  # beside the template
    assert len(draw(near, RTE).slots) == 3


def test_a_shot_never_has_a_text_of_the_asked_problem_nor_its_premise_in_other_words(own, tmp_path):
    name = data(tmp_path / "train.jsonl")
    shots = draw(few(own, count=8), RTE, source=name)
    usual = shots.before({"premise": "x", "hypothesis": "y"})
    for place, shot in enumerate(usual):
        same = [{**shot.texts, "hypothesis": "y"}, {**shot.texts, "premise": "z"}]
        same += [{"premise": shot.texts["premise"].replace("premise", "Premise the"), "hypothesis": "y"}]
        for asked in same:
            other = shots.before(asked)
            assert shot not in other
            assert [one for n, one in enumerate(other) if n != place] == [
                one for n, one in enumerate(usual) if n != place
            ]
            assert other[place] not in usual


def test_a_rewording_in_quite_other_words_never_sees_its_original_and_sees_what_that_sees(own, tmp_path):
    shots = draw(few(own, count=8), RTE, source=data(tmp_path / "train.jsonl"))
    original = shots.before({"premise": "x", "hypothesis": "y"})[3].texts
    reworded = {"premise": "Nothing of it is as it was.", "hypothesis": "Nor this."}
    assert original in [one.texts for one in shots.before(reworded)]
    assert original not in [one.texts for one in shots.before(reworded, original)]
    assert shots.before(reworded, original) == shots.before(original) == shots.before(original, original)
    other = next(one.texts for one in shots.before(original) if one.texts != original)
    assert other not in [one.texts for one in shots.before({**reworded, "premise": other["premise"]}, original)]


def test_a_shot_is_not_of_the_cluster_of_the_asked_problem(own, tmp_path):
    rows = [
        {
            "premise": f"Premise {n} {'abcdefghi'[n] * 9}.",
            "hypothesis": f"h{n}",
            "label": "entailed",
            "cluster": f"{n // 2}",
        }
        for n in range(8)
    ]
    rows[2] |= {"id": "two"}
    rows += [{**rows[2], "id": "two~1", "of": "two", "premise": "Said in another way."}]
    rows = [{"id": f"p{n}", "of": None, **row} for n, row in enumerate(rows)]
    (tmp_path / "clusters.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shots = draw(few(own, count=4), RTE, source=str(tmp_path / "clusters.jsonl"))
    for asked in (rows[2]["premise"], rows[3]["premise"], "said in  another way."):
        shown = {one.texts["hypothesis"] for one in shots.before({"premise": asked, "hypothesis": "y"})}
        assert not shown & {"h2", "h3"}


def test_a_comma_is_part_of_a_name_and_several_are_a_list(own, tmp_path):
    (tmp_path / "a,b").mkdir()
    name = data(tmp_path / "a,b" / "train.jsonl")
    asked = {"premise": "x", "hypothesis": "y"}
    assert len(draw(few(own, count=4), RTE, source=name).before(asked)) == 4
    model = f"api:x(url=http://127.0.0.1:9/v1, readout=tokens, template={own(OWN, name='one.toml')}, shots=4"
    for spelled in (json.dumps(name), json.dumps([name])):
        assert "+4@" in load(f"{model}, shots_from={spelled})", RTE).model.identity
    with pytest.raises(BadInput, match=r'give several as a list: shots_from=\["one.jsonl", "two.jsonl"\]'):
        draw(few(own, count=4), RTE, source="one.jsonl, two.jsonl")
    for wrong in (5, [5], {"a": 1}):
        with pytest.raises(BadInput, match=r"shots_from: found .*; give a data set, or several as in"):
            draw(few(own, count=4), RTE, source=wrong)


def test_data_that_are_all_alike_still_give_shots(own, tmp_path):
    rows = [
        {"premise": f"The dog number {n} runs.", "hypothesis": f"It moves {n}.", "label": "entailed"} for n in range(9)
    ]
    (tmp_path / "alike.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shots = draw(few(own, count=6), RTE, source=str(tmp_path / "alike.jsonl"))
    found = shots.before({"premise": "The dog number 3 runs.", "hypothesis": "It is 3."})
    assert len(found) == len({one.texts["premise"] for one in found}) == 6
    assert "The dog number 3 runs." not in {one.texts["premise"] for one in found}


def test_missing_and_foreign_shots_are_refused(own, tmp_path):
    with pytest.raises(
        BadInput, match="few: needs 6 shots, and has nothing to draw them from; name a data set: shots_from"
    ):
        draw(few(own, count=6), RTE)
    with pytest.raises(BadInput, match="shots_from: has 3 solved problems, and 6 shots are wanted"):
        draw(few(own, count=6), RTE, source=data(tmp_path / "three.jsonl", 3))
    with pytest.raises(BadInput, match="shots_from: has problems of nli, not of rte"):
        draw(few(own, count=6), RTE, source="everyday")
    alone = draw(few(own, count=6), RTE, source=data(tmp_path / "six.jsonl", 6))
    with pytest.raises(BadInput, match="too few shots are left"):
        alone.before(alone.pools[0][0].texts)


def test_fewer_shots_than_none_are_refused(own):
    with pytest.raises(BadInput, match="shots: found -5; give 0 or more"):
        draw(few(own, count=6), RTE, count=-5)


def test_shots_are_asked_and_signed(own, tmp_path):
    name = data(tmp_path / "train.jsonl")
    path = own(OWN + "[shots]\ncount = 2\n", name="few.toml")
    model = Replying(Completion("yes"), Capabilities())
    few_shot = prompted(model, RTE, template=path, shots_from=name)
    few_shot(Batch(RTE, {"premise": ["x"], "hypothesis": ["y"]}))
    assert [one.role for one in model.asked[0].messages] == ["user", "assistant"] * 2 + ["user"]
    others = [{"shots": 3}, {"seed": 3}, {"shots_from": data(tmp_path / "other.jsonl")}, {"readout": "text"}]
    signed = [prompted(model, RTE, **{"template": path, "shots_from": name, **one}).identity for one in others]
    assert len({*signed[:3], few_shot.identity}) == 4
    assert signed[3] == few_shot.identity  # which is how it is read anyway


def test_shots_come_from_any_data_set():
    shots = draw(read_template("words", NLI), NLI, count=3, source="everyday")
    assert {shot.label for shot in shots.before({"premise": "x", "hypothesis": "y"})} <= set(NLI.labels)
    assert ow.load("everyday").height > 3


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *[("temperature", one) for one in ("nan", "inf", "-1", "9" * 400)],
        *[("top_p", "nan"), ("top_p", "5"), ("max_tokens", "0"), ("max_tokens", "9" * 100)],
        *[("stop", "[1]"), ("stop", '[""]')],
    ],
)
def test_parameters_that_no_server_takes_are_refused(own, parameter, value):
    with pytest.raises(BadInput) as caught:
        read_template(own(f"{OWN}[parameters]\n{parameter} = {value}\n"), RTE)
    assert caught.value.field == f"parameters.{parameter}"


@pytest.mark.parametrize("name", ["a b", "a=b", "a(b", "", 5, "a\nb"])
def test_a_name_that_no_model_can_have_is_refused_where_it_is_written(own, name):
    with pytest.raises(BadInput) as caught:
        template_name(own(f"name = {json.dumps(name)}\n{OWN}"))
    assert caught.value.field == "name"
