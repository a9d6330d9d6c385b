"""Readouts: labels and probabilities from what a language model replies."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replying import KnowingTokens, Replying

from otherwords.errors import BadInput
from otherwords.language_models.completion import (
    FILTER,
    LENGTH,
    Capabilities,
    Completion,
    Message,
)
from otherwords.models.prompting import prompted
from otherwords.models.readouts import find_label, label_logs, refuse_alike
from otherwords.problem import TASKS, Batch

RTE, NLI = TASKS["rte"], TASKS["nli"]
YES_NO = {"entailed": "yes", "not-entailed": "no"}
WORDS = {label: label for label in NLI.labels}


def batch(count=1, task=RTE):
    return Batch(task, {name: [f"{name} {number}" for number in range(count)] for name in task.fields})


def ask(model, task=RTE, count=1, **options):
    return prompted(model, task, **options)(batch(count, task))


def test_how_long_a_model_may_think_is_signed():
    """An answer that was cut short must not stand for one after a probe that found that the model thinks."""
    kinds = [Capabilities(reasons=reasons, constrained="grammar") for reasons in (False, True)]
    for readout in ("text", "choices"):
        one, two = (prompted(Replying(Completion("yes"), can), RTE, readout=readout) for can in kinds)
        assert one.identity != two.identity


@pytest.mark.parametrize("readout", ["tokens", "score", "choices", "text"])
def test_what_a_filter_withheld_is_not_stored(readout):
    can = Capabilities(logprobs=5, scoring=True, constrained="grammar")
    answer = ask(Replying(Completion("", FILTER), can), readout=readout, count=2)
    assert answer.answers == [None, None]
    assert answer.transient.all()


# Label tokens among the likeliest


def test_tokens_that_differ_in_case_and_spaces_are_summed():
    reply = Completion("yes", top=({"yes": math.log(0.5), " Yes": math.log(0.1), "no": math.log(0.2), "hm": -2.0},))
    answer = ask(Replying(reply))
    assert answer.answers == ["entailed"]
    np.testing.assert_allclose(answer.p, [[0.75, 0.25]])
    np.testing.assert_allclose(answer.mass, [0.8])


def test_a_task_may_spell_the_labels_of_a_template_otherwise():
    task = replace(NLI, name="own", labels=("Entailment", "Neutral", "Contradiction"))
    top = {"entail": math.log(0.5), "neutral": math.log(0.3), "contr": math.log(0.1)}
    answer = ask(Replying(Completion("entail", top=(top,))), task, template="words-nli", readout="tokens")
    assert answer.answers == ["Entailment"]
    np.testing.assert_allclose(answer.mass, [0.9])


def test_an_exact_readout_sums_nothing(tmp_path):
    path = tmp_path / "exact.toml"
    words = 'words = {entailed = "yes", not-entailed = "no"}'
    path.write_text(f'task = "rte"\nform = "plain"\nexact = true\nprompt = "{{premise}} {{hypothesis}}"\n{words}\n')
    reply = Completion("", top=({" yes": math.log(0.2), "yes": math.log(0.5), " no": math.log(0.2), " n": -3.0},))
    answer = ask(Replying(reply), template=str(path))
    np.testing.assert_allclose(answer.p, [[0.5, 0.5]])
    np.testing.assert_allclose(answer.mass, [0.4])


def test_a_label_outside_the_top_is_unknown_and_not_zero():
    answer = ask(Replying(Completion("no", top=({"no": math.log(0.9), "hm": math.log(0.05)},))))
    assert answer.answers == ["not-entailed"]  # the other is below the smallest that was returned
    assert np.isnan(answer.p).all()
    np.testing.assert_allclose(answer.mass, [0.9])


def test_without_any_label_in_the_top_it_cannot_be_read():
    answer = ask(Replying(Completion("hm", top=({"hm": -0.1},))))
    assert answer.answers == [None]
    assert np.isnan(answer.p).all()
    assert answer.mass.tolist() == [0.0]


@pytest.mark.parametrize("reply", [Completion("hm"), Completion("hm", top=({},)), Completion("n", top=({"n": -0.1},))])
def test_what_a_server_did_not_tell_is_no_mass_of_zero(reply):
    replies = iter([Completion("yes", top=({"yes": math.log(0.5), "no": math.log(0.2)},)), reply])
    words = {"neutral": "nein", "contradiction": "no", "entailment": "yes"}
    answer = ask(Replying(lambda _: next(replies)), NLI, count=2, template=template_of(words))  # the last comes first
    assert answer.answers == [None, "entailment"]
    np.testing.assert_allclose(answer.mass, [np.nan, 0.7])


def test_what_a_server_did_not_score_is_no_mass_of_zero():
    can = Capabilities(logprobs=5, scoring=True)
    assert ask(Replying(Completion(""), can), readout="score").mass is None


def test_a_token_that_may_begin_several_labels_belongs_to_none():
    logs = label_logs({"n": -0.1, "neu": -2.0, "ne": -9.0}, ["neutral", "no", "yes"])
    assert logs[0] == -2.0
    assert np.isnan(logs[1:]).all()


def test_a_word_begins_with_its_longest_token():
    """Shorter ones begin other words, too: what a tokenizer would not take does not count."""
    logs = label_logs({"Yes": -1.0, "Y": -2.0, " No": -2.0, "N": -0.5, " Nothing": -0.1}, [" Yes", " No"])
    np.testing.assert_allclose(logs, [np.logaddexp(-1.0, -2.0), np.logaddexp(-2.0, -0.5)])  # "YES" may be "Y", "ES"
    logs = label_logs({"entail": -1.0, "ent": -2.0, "e": -0.1, "no": -3.0}, ["entailment", "no"])
    np.testing.assert_allclose(logs, [-1.0, -3.0])


def test_replies_that_begin_all_labels_alike_are_refused():
    path_words = {"neutral": "neutral", "contradiction": "negation", "entailment": "entailment"}
    model = Replying(Completion("ne", top=({"ne": -0.1, "the": -3.0},)))
    with pytest.raises(BadInput, match=r"'neutral' and 'negation' begin with the same token 'ne', .*; use words that"):
        ask(model, NLI, template=template_of(path_words))


def template_of(words, folder=[]):  # noqa: B006
    import tempfile
    from pathlib import Path

    folder.append(tempfile.TemporaryDirectory())
    path = Path(folder[-1].name) / "own.toml"
    rows = "\n".join(f'{label} = "{word}"' for label, word in words.items())
    path.write_text(f'task = "nli"\nprompt = "{{premise}} {{hypothesis}}"\n[words]\n{rows}\n', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "words",
    [("no", "not sure", "yes"), ("more likely", "the same", "more unlikely"), ("A", "B", "a b")],
)
def test_words_that_begin_alike_are_refused_before_a_server_is_asked(words):
    model = Replying(Completion(""))
    given_words = dict(zip(NLI.labels, words, strict=True))
    with pytest.raises(BadInput, match=r"template own: words: .* begin with the same token.* score, choices or text"):
        prompted(model, NLI, template=template_of(given_words), readout="tokens")
    prompted(model, NLI, template=template_of(given_words), readout="text")
    assert not model.asked


def test_known_tokens_are_each_counted_once():
    vocabulary = {
        " yes": math.log(0.3),
        "yes": math.log(0.1),
        "Yes": math.log(0.1),
        " no": math.log(0.25),
        "N": math.log(0.05),
    }
    model = KnowingTokens(Completion(""), Capabilities(chat=False), vocabulary=vocabulary)
    answer = ask(model, count=3)
    # Others are pieces of one letter with log-probability -9; "n" and " " begin variants of one label or of both.
    assert answer.answers == ["entailed"] * 3
    assert answer.mass[0] == pytest.approx(0.3 + 0.1 + 0.1 + 0.25 + 0.05, abs=1e-3)
    assert answer.p[0, 0] == pytest.approx(0.5 / 0.8, abs=1e-3)


def test_known_tokens_that_labels_share_are_refused():
    model = KnowingTokens(Completion(""), vocabulary={"ne": -1.0, " ne": -1.0})
    with pytest.raises(BadInput, match="'neutral' and 'negation' begin with the same token"):
        prompted(model, NLI, template=template_of({**WORDS, "contradiction": "negation"}))
    whole = KnowingTokens(Completion(""), vocabulary={"neutral": -1.0, "negation": -2.0, "entailment": -3.0})
    given_words = {**WORDS, "contradiction": "negation"}
    assert ask(whole, NLI, template=template_of(given_words)).answers == ["neutral"]


def test_a_space_that_is_a_token_of_its_own_is_not_what_labels_share():
    model = KnowingTokens(Completion(""), Capabilities(chat=False), vocabulary={" ": -0.1, "yes": -1.0, "no": -0.5})
    assert ask(model).answers == ["not-entailed"]


# Whole words, choices and free text


def test_whole_words_are_scored():
    scores = {" yes": -4.0, " no": -3.0}
    model = Replying(lambda one: Completion("", score=scores[one.scored]), Capabilities(chat=False, scoring=True))
    answer = ask(model, readout="score")
    assert answer.answers == ["not-entailed"]
    np.testing.assert_allclose(answer.p, [[1 / (1 + math.e), math.e / (1 + math.e)]])
    np.testing.assert_allclose(answer.mass, [math.exp(-4) + math.exp(-3)])
    known = KnowingTokens(Completion(""), Capabilities(chat=False), vocabulary={" yes": -4.0, " no": -3.0})
    np.testing.assert_allclose(ask(known, readout="score").p, answer.p)


def test_choices_are_the_words():
    model = Replying(Completion("no"), Capabilities(constrained="grammar"))
    answer = ask(model)
    assert answer.answers == ["not-entailed"]
    assert answer.p is None
    assert model.asked[0].choices == ("yes", "no")


READABLE = [
    "yes", "Yes.", " YES\n", "**yes**", '"Yes"', "`yes`!", "Answer: yes", "The answer is: **Yes**.", "yes .",
    "yes, because it rains", "Yes.\nIt rains.", "(yes)",
]  # fmt: skip
UNREADABLE = [
    "", "   ", "maybe", "yes or no", "yes and no", "no, yes", "yesterday", "It is yes", "Yes it is",
    "<think>yes", "The answer is not yes", "Answer:", "**", "y", "no way... Answer: yes",
]  # fmt: skip


@pytest.mark.parametrize("text", READABLE)
def test_free_text_is_read(text):
    assert find_label(text, YES_NO) == "entailed"


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_no_plain_answer_is_not_read(text):
    assert find_label(text, YES_NO) is None


def test_a_word_within_another_is_that_other():
    words = {"entailed": "entailed", "not-entailed": "not entailed"}
    assert find_label("Not-entailed.", words) == "not-entailed"
    assert find_label("entailed, not not entailed", words) is None


def test_an_article_is_no_letter():
    letters = dict(zip(NLI.labels, "ABC", strict=True))
    assert find_label("A man sleeps.", letters) is None
    assert find_label("A", letters) == find_label("A: it follows", letters) == "entailment"
    assert find_label("B, a man may sleep", letters) is None  # "a" may be the letter: not guessed


MARKS = st.sampled_from(["", " ", "**", "`", '"', "'", "_", "(", "\n", "# "])


@given(st.sampled_from(sorted(WORDS)), MARKS, st.sampled_from(["", "Answer: ", "The answer is "]), st.booleans())
def test_marks_and_prefixes_do_not_change_what_is_read(label, mark, prefix, upper):
    word = label.upper() if upper else label
    assert find_label(f"{mark}{prefix}{mark}{word}{mark}.{mark}", WORDS) == label


@given(st.text(), st.sampled_from(sorted(WORDS)), st.sampled_from(sorted(WORDS)))
def test_an_answer_that_names_two_labels_is_never_read(text, one, other):
    found = find_label(f"{one} {text} {other}", WORDS)
    assert found is None if one != other else found in (None, one)


@given(st.text(alphabet="yesno .,\n*A"))
def test_what_is_read_is_a_label_that_the_text_names(text):
    label = find_label(text, YES_NO)
    assert label is None or YES_NO[label] in text.lower()


def test_an_answer_that_was_cut_is_read_where_it_has_a_label():
    assert ask(Replying(Completion("yes", LENGTH), Capabilities()), readout="text").answers == ["entailed"]
    assert ask(Replying(Completion("I think", LENGTH), Capabilities()), readout="text").answers == [None]


@pytest.mark.parametrize("readout", ["tokens", "text", "choices"])
def test_what_a_filter_withheld_is_unreadable_and_not_stored(readout):
    model = Replying(Completion("yes", FILTER, top=({"yes": -0.1},)), Capabilities(logprobs=5, constrained="grammar"))
    answer = ask(model, count=2, readout=readout)
    assert answer.answers == [None, None]
    assert answer.transient.tolist() == [True, True]


# Which readout


@pytest.mark.parametrize(
    ("can", "chosen"),
    [
        (Capabilities(logprobs=5, scoring=True, constrained="grammar"), "tokens(top5)"),
        (Capabilities(logprobs=100), "tokens(top20)"),
        (Capabilities(logprobs=1, constrained="json_schema"), "choices(json_schema)"),
        (Capabilities(scoring=True), "text(text)"),
        (Capabilities(logprobs=20, constrained="grammar", reasons=True), "choices(grammar+4096)"),
        (Capabilities(logprobs=20, reasons=True), "text(text+4096)"),
    ],
)
def test_the_readout_is_chosen_by_what_the_model_can_do(can, chosen):
    model = prompted(Replying(Completion(""), can), RTE)
    assert model.identity.endswith(f":chat:{chosen}")


def test_noise_and_other_abilities_are_not_in_the_identity():
    plain = Capabilities(logprobs=20)
    other = Capabilities(logprobs=40, scoring=True, seed=False, cold="cache_prompt", context=4096)
    one, two = (prompted(Replying(Completion(""), can), RTE).identity for can in (plain, other))
    assert one == two


@pytest.mark.parametrize(
    ("readout", "can", "reason"),
    [
        ("tokens", Capabilities(), "no log-probabilities"),
        ("tokens", Capabilities(logprobs=1), "1 log-probabilities"),
        ("score", Capabilities(logprobs=5), "does not score given texts"),
        ("choices", Capabilities(logprobs=5), "it cannot be held to given texts"),
        ("tokens", Capabilities(logprobs=5, reasons=True), "thinks before it answers"),
    ],
)
def test_a_readout_that_the_model_cannot_do_is_refused(readout, can, reason):
    with pytest.raises(BadInput, match=f"gpt, template words: readout: cannot be read by .*{reason}; use .*text"):
        prompted(Replying(Completion(""), can), RTE, readout=readout, where="gpt")
    with pytest.raises(BadInput, match="readout: found 'best'; use one of auto, tokens, score, choices, text"):
        prompted(Replying(Completion(""), can), RTE, readout="best")


def test_a_model_that_thinks_has_room_for_it():
    model = Replying(Completion("no"), Capabilities(reasons=True))
    assert ask(model).answers == ["not-entailed"]
    assert model.asked[0].max_tokens >= 1024


def test_repeats_are_asked_in_their_way():
    from otherwords.problem import Repeat

    model = Replying(Completion("yes"), Capabilities(cold="cache_prompt"))
    asked = prompted(model, RTE)
    assert asked.ways == ("cold", "usual", "alone")  # the first is the default: from memory, a server repeats itself
    asked(Batch(RTE, {"premise": ["a"], "hypothesis": ["b"]}, Repeat("cold", 2)))
    assert (model.asked[0].way, model.asked[0].repeat) == ("cold", 2)
    assert model.asked[0].messages[-1] == Message(
        "user", "Premise: a\nHypothesis: b\nDoes the hypothesis follow from the premise?\nAnswer:"
    )


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("contrad\u0131ction", "c"),  # re.IGNORECASE takes it for an i, str.casefold does not
        ("(A)", "a"),
        ("Answer: (A), because", "a"),
        ('"b"', "b"),
        ("-", "d"),
        ("(A) or (A", None),
        ("what - ever", None),
    ],
)
def test_words_with_marks_are_read(text, label):
    words = {"c": "contradiction", "a": "(A)", "b": '"b"', "d": "-"}
    assert find_label(text, words) == label


def test_words_that_are_marks_alone_do_not_begin_alike():
    refuse_alike({"one": "-", "other": "+"})
    with pytest.raises(BadInput):
        refuse_alike({"one": "-", "other": "_"})


def test_where_all_labels_are_impossible_none_is_the_answer():
    def score(request):
        return Completion(request.scored, score=-math.inf)

    reply = ask(Replying(score, Capabilities(scoring=True)), readout="score")
    assert reply.answers == [None]
