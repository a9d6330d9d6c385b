"""Prompts that begin alike: groups save what they promise, and two pieces have the tokens of the whole."""

from __future__ import annotations

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.language_models import beginnings
from otherwords.language_models.beginnings import chat_texts, common_tokens, group_by_beginning, split_place
from otherwords.language_models.completion import Message

TEXTS = st.lists(st.text("ab", max_size=6), max_size=12)


@given(TEXTS, st.integers(1, 20))
def test_each_text_is_in_one_group_and_shares_its_beginning(texts, worthwhile):
    groups = group_by_beginning(texts, worthwhile)
    assert sorted(number for group in groups for number in group.members) == list(range(len(texts)))
    for group in groups:
        assert len({texts[number][: group.shared] for number in group.members}) == 1
        assert not group.shared or group.shared * (len(group.members) - 1) >= worthwhile


@given(TEXTS)
def test_the_first_group_saves_as_much_as_any(texts):
    ordered = sorted(texts)
    runs = [ordered[a:b] for a in range(len(texts)) for b in range(a + 2, len(texts) + 1)]
    shared = [len(_common(run)) * (len(run) - 1) for run in runs]
    first = group_by_beginning(texts, 1)[:1]
    assert max(shared, default=0) == sum(one.shared * (len(one.members) - 1) for one in first)


def _common(run):
    count = 0
    while all(len(one) > count and one[count] == run[0][count] for one in run):
        count += 1
    return run[0][:count]


def words(texts, special):
    """A tokenizer of words, each with the blank before it."""
    return [[hash(word) for word in re.findall(" ?[^ ]+", text)] for text in texts]


def test_a_place_is_where_a_word_begins():
    texts = [f"one two three four five, and then {number}" for number in range(20)]
    shared = len("one two three four five, and then ")
    assert texts[0][: split_place(texts, shared, words, special=True)] == "one two three four five,"


def test_there_is_no_place_where_the_tokens_would_be_others():
    def by_length(texts, special):
        return [[len(text)] for text in texts]

    assert split_place([f"one two three four {number}" for number in range(3)], 19, by_length, special=True) == 0


def test_common_tokens_leave_one_for_each_row():
    assert common_tokens([[1, 2, 3, 4], [1, 2, 5]]) == 2
    assert common_tokens([[1, 2, 3], [1, 2, 3]]) == 2


def trimmed(chat):
    """A template that trims, as Llama's does, and hides thoughts, as Qwen's does."""
    return "".join(f"[{role}] {content.strip().split('<think>')[0]}\n" for role, content in chat)


@given(st.lists(st.sampled_from(["yes", " yes", "no ", "so <think>", "", beginnings._MARKER]), max_size=9))
def test_chats_are_rendered_as_if_one_by_one(contents):
    chats = [(Message("system", "Answer."), Message("user", content)) for content in contents]
    assert chat_texts(chats, trimmed) == [trimmed(chat) for chat in chats]


@pytest.mark.parametrize("escape", [json.dumps, html.escape, ascii, str.split])
def test_a_template_that_writes_some_texts_in_another_way_is_asked_for_each(escape):
    chats = [(Message("user", content),) for content in ("yes", "no", "never", "perhaps", 'a "b" & c\nd', "\\é")]
    render = lambda chat: f"[user] {escape(chat[-1].content)}\n"  # noqa: E731
    assert chat_texts(chats, render) == [render(chat) for chat in chats]


def test_chats_of_one_frame_are_rendered_twice():
    seen = []
    chats = [(Message("system", "Answer."), Message("user", f"It rains {number} times.")) for number in range(50)]
    assert chat_texts(chats, lambda chat: seen.append(chat) or trimmed(chat))[7] == trimmed(chats[7])
    assert len(seen) == 2
