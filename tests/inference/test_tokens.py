"""Tokens against the `tokenizers` library asked one text at a time; cuts against the uncut length."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import otherwords.inference.tokens as tokens_module
from otherwords.inference.onnx_files import embedded
from otherwords.inference.tokens import Tokens, clean, fill_up, pair_encoder, text_encoder

WORDS = ["[UNK]", "[CLS]", "[SEP]", *"abcdefgh"]
TEXTS = st.lists(st.sampled_from([*"abcdefgh", "zebra"]), max_size=14).map(" ".join)


def tokenizer() -> Tokenizer:
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pair, special = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 1), ("[SEP]", 2)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    return words


PLAIN = tokenizer()


def rows(tokens) -> list[list[int]]:
    return [row.tolist() for row in np.split(tokens.ids, tokens.offsets[1:-1])]


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), st.integers(8, 20))
def test_pairs(pairs, limit):
    own = tokenizer()
    own.enable_padding(length=30)  # a tokenizer's own settings are not ours
    tokens = pair_encoder(own, limit, types=True)(pairs)
    whole = [PLAIN.encode(*pair) for pair in pairs]
    assert tokens.lengths.tolist() == [min(len(one.ids), limit) for one in whole]
    assert tokens.cut.tolist() == [len(one.ids) > limit for one in whole]
    fitting = [i for i, one in enumerate(whole) if len(one.ids) <= limit]
    assert [rows(tokens)[i] for i in fitting] == [whole[i].ids for i in fitting]
    assert tokens.take(np.array(fitting, np.int64)).types.tolist() == [t for i in fitting for t in whole[i].type_ids]


def test_the_longer_text_is_cut():
    [row] = rows(pair_encoder(tokenizer(), 8, types=False)([("a b c d e f g h", "a b")]))
    assert [WORDS[token] for token in row] == ["[CLS]", "a", "b", "c", "[SEP]", "a", "b", "[SEP]"]


@given(st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from([0, 8, 10]))
def test_texts(texts, limit):
    tokens = text_encoder(tokenizer(), limit, types=False)(texts)
    whole = [PLAIN.encode(text).ids for text in texts]
    assert tokens.types is None
    assert tokens.cut.tolist() == [0 < limit < len(ids) for ids in whole]
    assert tokens.lengths.tolist() == [min(len(ids), limit or 99) for ids in whole]


def test_no_texts():
    tokens = pair_encoder(tokenizer(), 8, types=True)([])
    assert (len(tokens), tokens.ids.tolist(), tokens.offsets.tolist()) == (0, [], [0])


@given(st.text(st.characters(), max_size=20))
def test_any_text_can_be_read_and_keeps_its_length(text):
    assert len(clean(text)) == len(text)
    assert clean(text).encode().decode() == clean(text)
    assert pair_encoder(tokenizer(), 50, types=True)([(text, text)]).lengths[0] >= 3


# Texts of many megabytes

LONG = 500


def wordpieces() -> Tokenizer:
    """The tokenizer of nli-small."""
    return Tokenizer.from_file(str(embedded("nli-small") / "tokenizer.json"))


def byte_level() -> Tokenizer:
    """Blanks belong to the tokens here, also those at the end of a text."""
    bytes_ = Tokenizer(models.BPE({one: i for i, one in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return bytes_


@pytest.mark.parametrize("make", [wordpieces, byte_level])
@pytest.mark.parametrize(
    "text",
    [
        "A dog doesn't run, and 日本 naïve cats sleep. " * LONG,
        "word  \n " * LONG,
        "犬が公園を走る。" * LONG,
        " " * 50_000 + "late words after many blanks " * LONG,
        "x" * 40_000 + " a word of many letters " * LONG,
        "x" * 200_000,
    ],
    ids=["words", "blanks", "no blanks", "blanks first", "long word first", "one word"],
)
def test_a_long_text_gives_the_tokens_of_the_whole_text(make, text):
    plain = make()
    plain.no_padding()
    plain.enable_truncation(24, strategy="longest_first")
    encode = pair_encoder(make(), 24, types=True)
    few = text[:600]  # all rests of both texts would be combined with each other
    for pair in [(text, "short one"), ("short one", text), (few, f"more {few}"), (f"more {few}", few), (few, few)]:
        tokens = encode([pair])
        [whole] = plain.encode_batch_fast([pair])
        assert rows(tokens) == [whole.ids]
        assert tokens.types.tolist() == whole.type_ids
        assert tokens.cut.tolist() == [bool(whole.overflowing)]
    tokens = text_encoder(make(), 24, types=False)([text])
    whole = plain.encode(text)
    assert (rows(tokens), tokens.cut.tolist()) == ([whole.ids], [bool(whole.overflowing)])


@pytest.mark.parametrize(
    ("text", "cut"),
    [(" " * 30_000, False), ("a b" + " " * 30_000, False), (" " * 30_000 + "a b", True), ("x" * 30_000 + " b", True)],
    ids=["blanks", "blanks behind", "blanks before", "one long word"],
)
def test_what_lies_beyond_the_most_that_is_tokenised_counts_as_cut_unless_it_is_blank(text, cut, monkeypatch):
    monkeypatch.setattr(tokens_module, "MOST_CHARACTERS", 20_000)
    assert text_encoder(tokenizer(), 10, types=False)([text]).cut.tolist() == [cut]
    assert pair_encoder(tokenizer(), 10, types=False)([("a", text), ("a", "b")]).cut.tolist() == [cut, False]


def test_memory_does_not_grow_with_the_length_of_a_text():
    """A tokenizer needs more than a hundred bytes for a character: 2 GB for these 20 MB."""
    code = (
        "import resource\n"
        "from tokenizers import Tokenizer\n"
        "from otherwords.inference.onnx_files import embedded\n"
        "from otherwords.inference.tokens import pair_encoder\n"
        "encode = pair_encoder(Tokenizer.from_file(str(embedded('nli-small') / 'tokenizer.json')), 256, types=True)\n"
        "text = 'A dog runs in the park. ' * 833_000\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert encode([(text, 'A dog runs.')]).cut.all()\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) < 200


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=20),
    st.integers(1, 12),
    st.integers(1, 40),
    st.integers(1, 9),
    st.booleans(),
)
def test_filling_up_adds_rows_and_changes_none(lengths, width, tokens_step, rows_step, types):
    rows = [[number + 1] * length for number, length in enumerate(lengths)]
    given = Tokens.of(rows, [True] * len(rows), types=[[1] * len(row) for row in rows] if types else None)
    found = fill_up(given, width, tokens_step, rows_step)
    assert len(found.ids) % tokens_step == 0
    assert len(found) % rows_step == 0
    assert len(found.ids) - len(given.ids) < tokens_step
    assert found.lengths.min() >= 0
    assert found.lengths[len(given) :].max(initial=0) <= width
    same = found.take(np.arange(len(given)))
    assert same.ids.tolist() == given.ids.tolist()
    assert same.offsets.tolist() == given.offsets.tolist()
    assert same.cut.all()
    assert not found.cut[len(given) :].any()
    assert not found.ids[len(given.ids) :].any()
    assert (found.types is None) == (not types)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_short_pairs_are_the_same_beside_a_very_long_one(pairs):
    """Only very long texts are cut before they are tokenised; a piece without any skips that."""
    encode = pair_encoder(tokenizer(), 12, types=True)
    alone, beside = encode(pairs), encode([*pairs, ("a b " * 999, "c")])
    same = beside.take(np.arange(len(pairs)))
    for name in ("ids", "offsets", "cut", "types"):
        assert getattr(alone, name).tolist() == getattr(same, name).tolist()
    assert beside.cut[-1]
