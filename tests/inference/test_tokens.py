"""Tokens against the `tokenizers` library asked one text at a time; cuts against the uncut length."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from otherwords.inference.tokens import clean, pair_encoder, text_encoder

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
