"""Masks in their place, and the token that stood there, for tokenizers of every kind; vocabularies as columns."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from otherwords.language_models.masked_lm import vocabulary
from otherwords.language_models.masking import Masker

TEXTS = ["a dog runs in the park", "the dog sleeps", "no cat runs", "dogs run"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "a", "dog", "runs", "."]


def wordpiece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=special)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(PIECES[:5])
    return tokenizer


def byte_level(mask: str = "swallows") -> Tokenizer:
    """As RoBERTa's: words carry the blank before them, and so does the mask, unless it is declared otherwise."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<unk>", *(["<mask>"] if mask == "word" else [])]
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 5, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    if mask == "word":
        settings = json.loads(tokenizer.to_str())
        settings["added_tokens"] = [token for token in settings["added_tokens"] if token["content"] != "<mask>"]
        return Tokenizer.from_str(json.dumps(settings))
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=mask == "swallows", special=mask != "added")])
    return tokenizer


def sentence_piece(lstrip: bool = True) -> Tokenizer:
    """As ALBERT's and XLM-RoBERTa's."""
    pieces = [("<unk>", 0.0), ("▁a", -1.0), ("▁dog", -1.5), ("s", -2.0), ("▁run", -2.5), ("▁", -3.0), (".", -3.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>", AddedToken("<mask>", lstrip=lstrip, special=True)])
    return tokenizer


KINDS = {"wordpiece": wordpiece, "byte-level": byte_level, "sentencepiece": sentence_piece}
KINDS |= {f"byte-level, {form}": partial(byte_level, form) for form in ("special", "added", "word")}
KINDS |= {"sentencepiece, special": partial(sentence_piece, lstrip=False)}


def row(tokenizer: Tokenizer, tokens, number: int = 0) -> list[str]:
    ids = tokens.ids[tokens.offsets[number] : tokens.offsets[number + 1]].tolist()
    return [str(tokenizer.id_to_token(one)) for one in ids]


@pytest.mark.parametrize(
    ("kind", "expected", "own"),
    [
        ("wordpiece", ["[CLS]", "a", "[MASK]", "runs", "[SEP]"], "dog"),
        ("byte-level", ["<s>", "a", "<mask>", "Ġruns", "</s>"], "Ġdog"),
        ("byte-level, special", ["<s>", "a", "<mask>", "Ġruns", "</s>"], "Ġdog"),
        ("byte-level, added", ["<s>", "a", "<mask>", "Ġruns", "</s>"], "Ġdog"),
        ("byte-level, word", ["<s>", "a", "<mask>", "Ġruns", "</s>"], "Ġdog"),
        ("sentencepiece", ["▁a", "<mask>", "▁run", "s"], "▁dog"),
        ("sentencepiece, special", ["▁a", "<mask>", "▁run", "s"], "▁dog"),
    ],
)
def test_a_mask_stands_where_the_word_stood_with_its_blank(kind, expected, own):
    tokenizer = KINDS[kind]()
    tokens = Masker(tokenizer, 32, types=False)([("a dog runs", 2, 5)])
    assert row(tokenizer, tokens) == expected
    assert tokens.at.tolist() == [expected.index("[MASK]" if kind == "wordpiece" else "<mask>")]
    assert tokenizer.id_to_token(int(tokens.own[0])) == own


@pytest.mark.parametrize("form", ["swallows", "special", "added", "word"])
@pytest.mark.parametrize(
    ("text", "first", "last", "expected", "own"),
    [
        ("a dog", 2, 5, ["<s>", "a", "<mask>", "</s>"], "Ġdog"),
        ("a dog", 0, 1, ["<s>", "<mask>", "Ġdog", "</s>"], "a"),
        ("a dogs", 5, 6, ["<s>", "a", "Ġdog", "<mask>", "</s>"], "s"),
    ],
)
def test_a_mask_of_bytes_stands_alone_however_it_is_declared(form, text, first, last, expected, own):
    """A mask that leaves the blank before it once gave `a Ġ <mask>`, which no text that the model learnt from has."""
    for mask in ("", "<mask>"):  # named by the tokenizer, or by the model
        tokenizer = byte_level(form)
        tokens = Masker(tokenizer, 32, types=False, mask=mask)([(text, first, last)])
        assert row(tokenizer, tokens) == expected
        assert tokenizer.id_to_token(int(tokens.own[0])) == own
        assert vocabulary(tokenizer).special[tokenizer.token_to_id("<mask>")]


@pytest.mark.parametrize(("text", "first", "last"), [("a playing dog", 2, 9), ("a zebra", 2, 7), ("a dog runs", 2, 10)])
def test_what_was_not_one_known_token_has_no_own(text, first, last):
    """A word in pieces, a word that is in no vocabulary, two words."""
    assert Masker(wordpiece(), 32, types=False)([(text, first, last)]).own.tolist() == [-1]


def test_masks_that_the_text_brings_along_are_not_ours():
    tokenizer = wordpiece()
    tokens = Masker(tokenizer, 32, types=True)([("[MASK] dog [MASK]", 7, 10), ("[MASK] a dog", 9, 12)])
    assert tokens.at.tolist() == [2, 3]
    assert [tokenizer.id_to_token(int(own)) for own in tokens.own] == ["dog", "dog"]
    assert tokens.types.tolist() == [0] * len(tokens.ids)


def test_half_a_character_is_read_as_a_question_mark():
    tokens = Masker(wordpiece(), 32, types=False)([("\ud800 dog runs", 2, 5)])
    assert tokens.own.tolist() == [PIECES.index("dog")]


@given(st.lists(st.sampled_from(["a", "dog", "runs", ".", "playing"]), min_size=1, max_size=40), st.data())
def test_a_window_holds_the_mask_and_its_neighbours(words, data):
    place = data.draw(st.integers(0, len(words) - 1))
    text, first = " ".join(words), sum(len(word) + 1 for word in words[:place])
    tokenizer = wordpiece()
    item = [(text, first, first + len(words[place]))]
    wide = Masker(tokenizer, 1000, types=False)(item)
    narrow = Masker(tokenizer, 10, types=False)(item)
    full, seen = row(tokenizer, wide), row(tokenizer, narrow)
    assert len(seen) == min(len(full), 10)
    assert narrow.cut.tolist() == [len(full) > 10]
    assert seen[int(narrow.at[0])] == "[MASK]"
    assert (seen[0], seen[-1]) == ("[CLS]", "[SEP]")
    assert " ".join(seen[1:-1]) in " ".join(full[1:-1])
    assert narrow.own.tolist() == wide.own.tolist()


@given(st.lists(st.tuples(st.text(max_size=12), st.text(min_size=1, max_size=5), st.text(max_size=12)), max_size=5))
def test_any_text_can_be_masked(parts):
    tokenizer = byte_level()
    tokens = Masker(tokenizer, 16, types=False)([(a + b + c, len(a), len(a + b)) for a, b, c in parts])
    mask = tokenizer.token_to_id("<mask>")
    assert [int(tokens.ids[start + at]) for start, at in zip(tokens.offsets, tokens.at, strict=False)] == [mask] * len(
        parts
    )
    assert (tokens.lengths <= 16).all()


def test_a_vocabulary_of_word_pieces():
    found = vocabulary(wordpiece())
    flags = {
        name: (bool(found.whole[i]), bool(found.special[i]), bool(found.punctuation[i]))
        for i, name in enumerate(PIECES)
    }
    assert flags["dog"] == (True, False, False)
    assert flags["##ing"] == (False, False, False)
    assert flags["."] == (True, False, True)
    assert flags["[MASK]"] == flags["[UNK]"] == (False, True, False)
    assert found.words[PIECES.index("##ing")] == "ing"
    assert found.opening.tolist() == found.whole.tolist()
    assert [found.shown(PIECES.index(name)) for name in ("dog", "##ing", ".", "[CLS]")] == ["dog", "-ing", ".", "[CLS]"]


def test_a_vocabulary_of_bytes():
    tokenizer = byte_level()
    found = vocabulary(tokenizer)
    dog, bare = tokenizer.token_to_id("Ġdog"), tokenizer.token_to_id("s")
    assert (found.words[dog], found.whole[dog], found.opening[dog]) == ("dog", True, False)
    assert (found.words[bare], found.whole[bare], found.opening[bare]) == ("s", False, True)
    half = tokenizer.token_to_id("Ã")  # the first byte of two: no letter by itself
    assert not found.whole[half]
    assert not found.opening[half]
    assert found.special[tokenizer.token_to_id("<mask>")]
    assert found.special.sum() == 4


def test_a_vocabulary_of_sentence_pieces():
    tokenizer = sentence_piece()
    found = vocabulary(tokenizer)
    named = {str(tokenizer.id_to_token(i)): i for i in range(len(found))}
    assert (found.words[named["▁dog"]], found.whole[named["▁dog"]]) == ("dog", True)
    assert (found.words[named["s"]], found.whole[named["s"]]) == ("s", False)
    assert found.punctuation[named["."]]
    assert not found.whole[named["▁"]]  # a blank by itself is no word
    assert found.special[named["<mask>"]]


def test_more_or_fewer_tokens_than_names():
    tokenizer = wordpiece()
    assert len(vocabulary(tokenizer, 4)) == 4
    found = vocabulary(tokenizer, 20)
    assert found.special[len(PIECES) :].all()
    assert found.words[-1] == ""
    assert found.shown(19) == "[token 19]"


def test_tokens_that_only_hold_a_place_are_special():
    names = ["[UNK]", "[unused0]", "[unused993]", "<unused1>", "<extra_id_99>", "madeupword0001", "unused", "dog"]
    tokenizer = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    found = vocabulary(tokenizer)
    assert [name for i, name in enumerate(names) if not found.special[i]] == ["unused", "dog"]
    assert found.whole.tolist() == (~found.special).tolist()
    assert found.shown(1) == "[unused0]"


@pytest.mark.parametrize("make", [wordpiece, byte_level, sentence_piece])
@pytest.mark.parametrize("first", [2, 30_002, 60_000 - 12])
def test_a_mask_in_a_very_long_text_has_the_same_tokens_around_it(make, first):
    """What is far from the mask is not tokenised; the row is that of the whole text."""
    text = "a dog runs. " * 5_000
    whole = Masker(make(), 100_000, types=False)([(text, first, first + 3)])
    near = Masker(make(), 16, types=False)([(text, first, first + 3)])
    at, place = int(whole.at[0]), int(near.at[0])
    kept = Masker(make(), 16, types=False).window(len(whole.ids), at)
    assert near.ids.tolist() == [int(whole.ids[i]) for i in kept]
    assert (kept[place], near.own.tolist(), near.cut.tolist()) == (at, whole.own.tolist(), [True])
    assert len(Masker(make(), 16, types=False).near((text, first, first + 3))[0]) < 2_000
