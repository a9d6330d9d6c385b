"""Two tiny BERTs from a config, through the code that loads from the hub, against a plain loop over their logits."""

from __future__ import annotations

import json

import polars as pl
import pytest
from varying import vary_rows

from otherwords.words.tagging import tagger

NAMES = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
NOUNS = "dog cat man woman boy girl horse table ball park".split()  # noqa: SIM905
WORDS = [*NAMES.values(), *NOUNS, "big", "small", "old", "red", "sees", "likes", "a", "the", "in", ".", "##s", "sleeps"]
PAIRS = [
    ("The old dog sees a man in the park.", "A man likes the dog."),
    ("A small girl likes the red ball.", "The girl sees a ball."),
    ("The woman likes a horse, and the horse sleeps.", "A horse sleeps."),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    place = tmp_path_factory.mktemp("berts")
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.decoder = decoders.WordPiece()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMES)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(WORDS), initializer_range=0.5, **sizes)
    transformers.utils.logging.disable_progress_bar()
    for name, seed in (("one", 1), ("two", 2)):
        torch.manual_seed(seed)
        transformers.BertForMaskedLM(config).save_pretrained(place / name)
        fast.save_pretrained(place / name)
    return place


def by_a_plain_loop(place) -> set[tuple[str, str, str]]:
    """Problem, word and replacement: the definitions of section 3, one logit after the other."""
    import torch
    import transformers

    load = transformers.AutoModelForMaskedLM.from_pretrained
    berts = [load(place / name).eval() for name in ("one", "two")]
    tokenizer = transformers.AutoTokenizer.from_pretrained(place / "one")

    def likelier(bert, text, token):
        ids = tokenizer(f"{text[: token.start]}[MASK]{text[token.end :]}", return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = bert(ids).logits[0, ids[0].tolist().index(WORDS.index("[MASK]"))].tolist()
        own = logits[WORDS.index(token.text.lower())]
        return {word for word, logit in zip(WORDS, logits, strict=True) if logit > own and word.isalpha()}

    def fits(text, token, word):
        [tokens] = tagger()([f"{text[: token.start]}{word}{text[token.end :]}"])
        return any((one.start, one.pos) == (token.start, "NOUN") for one in tokens)

    found = set()
    for number, pair in enumerate(PAIRS):
        sides = [[one for one in next(iter(tagger()([text]))) if one.pos == "NOUN"] for text in pair]
        present = set(" ".join(pair).lower().replace(".", "").replace(",", "").split())
        for shared in {one.text for one in sides[0]} & {one.text for one in sides[1]}:
            accepted = []
            for text, tokens in zip(pair, sides, strict=True):
                first = [one for one in tokens if one.text == shared]
                by_model = [set.intersection(*(likelier(bert, text, one) for one in first)) for bert in berts]
                words = set.union(*by_model) - present
                accepted.append({word for word in words if all(fits(text, one, word) for one in first)})
            found |= {(str(number), shared, word) for word in set.intersection(*accepted)}
    return found


def test_suggestions_are_those_of_a_plain_loop(folders):
    models = json.dumps([f"{name}=hf:{folders}/{name}(device=cpu)" for name in ("one", "two")])
    columns = {"id": ["0", "1", "2"], "premise": [p for p, _ in PAIRS], "hypothesis": [h for _, h in PAIRS]}
    frame = pl.DataFrame({**columns, "label": ["neutral"] * 3})
    variants, _ = vary_rows(frame, [f"masked-lm(models={models}, classes=noun, least=1, n=0)"])
    expected = by_a_plain_loop(folders)
    assert set(variants.select("of", "replaced", "replacement").rows()) == expected
    assert len({of for of, _, _ in expected}) > 1, "a sample with little in it proves little"
    assert len(set(variants["origin"])) > 1
