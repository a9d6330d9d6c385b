"""What masked-lm cannot use: told before any work, or counted and left alone."""

from __future__ import annotations

import importlib.util
import json

import polars as pl
import pytest
from refusals import refuses
from varying import vary_rows

from otherwords.errors import BadInput, MissingExtra, UnknownName
from otherwords.registry import generators
from otherwords.words import language


@pytest.fixture
def spec(tmp_path):
    words = [["cat", 0.5], ["dog", 0.2]]
    (tmp_path / "a.json").write_text(json.dumps({"A [MASK] ran.": words, "The [MASK] slept.": words}))
    return f"scripted:{tmp_path}/a.json"


@pytest.mark.parametrize(
    "options",
    [
        "classes=noun+pronoun",
        "top=0",
        "least=0",
        "n=-1",
        "subsamples=0",
        "n=0, subsamples=10",
        "ablation=all",
        "counts=some",
        "models=[]",
        'models=["mlm-small", "mlm-small"]',
        "models=[1]",
        "corpus=nowhere.txt",
    ],
)
def test_options_out_of_range(options):
    with refuses(BadInput):
        generators.make(f"masked-lm({options})")


def test_what_is_no_masked_lm_is_reported_as_such():
    with refuses(UnknownName):
        generators.make("masked-lm(models=nli-small)")


def test_a_model_without_a_mask_token_is_named(tmp_path):
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "[PAD]", "a", "dog"]
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    transformers.utils.logging.disable_progress_bar()
    transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=4, **sizes)).save_pretrained(tmp_path / "tiny")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]")
    fast.save_pretrained(tmp_path / "tiny")
    with refuses(BadInput):
        generators.make(f'masked-lm(models="hf:{tmp_path}/tiny(device=cpu)")')


def test_without_spacy_it_says_how_to_install_it(monkeypatch, spec):
    from otherwords.words import tagging

    tagging.tagger.cache_clear()
    real = importlib.util.find_spec
    monkeypatch.setattr("otherwords.words.tagging.find_spec", lambda name: None if name == "spacy" else real(name))
    with refuses(MissingExtra):
        generators.make(f'masked-lm(models="{spec}")')
    tagging.tagger.cache_clear()


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [("A dog ran.", "It slept."), ("...", "..."), ("7", "7")],
)
def test_nothing_is_shared(spec, premise, hypothesis):
    rows = {"id": ["p"], "premise": [premise], "hypothesis": [hypothesis], "label": ["neutral"]}
    frame = pl.DataFrame(rows, schema_overrides={"premise": pl.String, "hypothesis": pl.String})
    variants, notes = vary_rows(frame, [f'masked-lm(models="{spec}", least=1, classes=noun)'])
    assert (variants.height, notes.height) == (0, 0)


def test_another_language_is_left_alone_with_a_warning(spec):
    language.forget()
    texts = {"premise": ["Le chien est dans la maison."], "hypothesis": ["Le chien est dans le jardin."]}
    with pytest.warns(UserWarning, match="masked-lm.v1: supports only English, but"):
        variants, notes = vary_rows(
            pl.DataFrame({"id": ["p"], **texts, "label": ["neutral"]}), [f'masked-lm(models="{spec}")']
        )
    assert (variants.height, notes.height) == (0, 0)


def test_too_few_suggestions_are_no_variants_but_noted(spec):
    rows = {"id": ["p"], "premise": ["A dog ran."], "hypothesis": ["The dog slept."], "label": ["neutral"]}
    variants, notes = vary_rows(pl.DataFrame(rows), [f'masked-lm(models="{spec}", top=2)'])
    assert variants.height == 0
    result = notes.filter(pl.col("what").str.contains("fewer"))
    assert result.select("what", "count", "word_class").rows() == [
        ("left out: a word class with fewer than 20 suggestions", 1, "noun")
    ]


def test_names_of_masked_lms_are_short_and_signed(spec, tmp_path):
    bound = generators.make(f'masked-lm(models=["one={spec}", "{spec}"])')
    assert "+one=scripted.v1(script=a.json#" in bound.signature
    assert "+a.json=scripted.v1(" in bound.signature
    assert str(tmp_path) not in bound.signature
