"""How to make one of every plug-in. A newcomer needs one line here, and is then held to its kind's contract.

An entry gets an empty folder, may write a sample into it, and gives the spec as a user would.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import otherwords
from otherwords.registry import KINDS, Bound

Recipe = Callable[[Path], str]
#: All that the tiny models know; the contract of models asks them in these words too.
TINY = ("a", "dog", "runs", "in", "the", "park", "while", "it", "rains", "and", "no", "cat", "sleeps")
NLI = [
    {"id": "a", "premise": 'He said "no", Zoë.', "hypothesis": "He spoke.", "label": "entailment", "topic": "talk"},
    {"id": "b", "premise": "It isn't wet.", "hypothesis": "It rains.", "label": "contradiction", "topic": "rain"},
]
SNLI = [{"pairID": row["id"], "sentence1": row["premise"], "sentence2": "So.", "gold_label": "neutral"} for row in NLI]
WAYS = [
    {"sentence1": "A man runs.", "sentence2": "A man moves.", "gold_label": "entailment"},
    {"sentence1": "A man moves.", "sentence2": "A man runs.", "gold_label": "neutral"},
]
#: A writer that puts words in another order, and never in the same.
SHUFFLED = "scripted(otherwise=shuffle)"
STORY = {"obs1": "It rained.", "obs2": "She was dry.", "hyp1": "She had an umbrella.", "hyp2": "She had none."}
UPDATE = {"Premise": "A man runs.", "Hypothesis": "He plays.", "Update": "It is a race.", "UpdateType": "weakener"}
PARTE = {"dataset": "RTE2_test", "corpus_sent_id": 4, "task": "IR", "sentence1": "P.", "sentence2": "H."}
RTE = '<entailment-corpus><pair id="1" value="TRUE" task="IR"><t>P.</t><h>H.</h></pair></entailment-corpus>'
#: On the variants of the first buckets in the contract of checks; one of them was found wanting.
JUDGED = {**{f"a~{i}": "yes" for i in range(6)}, "a~2": "no", "c~0": "yes"}
VERDICTS = "id,verdict\n" + "".join(f"{name},{verdict}\n" for name, verdict in JUDGED.items())
#: A judge that minds denials alone.
JUDGE = """
def judge(batch):
    return ["contradiction" if "not" in f"{one.text}".split() else "entailment" for one in batch]
"""
CALLABLE = (
    "def short(batch):\n    return [[0.5, 0.25, 0.25] if len(t) < 40 else [0.1, 0.1, 0.8] for t in batch['premise']]\n"
)
ATTACK = (
    '"original_text","perturbed_text","ground_truth_output","result_type"\n'
    '"[[[[Premise]]]]: A [[dog]] runs.<SPLIT>[[[[Hypothesis]]]]: It moves.",'
    '"[[[[Premise]]]]: A [[hound]] runs.<SPLIT>[[[[Hypothesis]]]]: It moves.","entailment","Successful"\n'
)
PAIRS = {"sentence1": "A dog runs.", "sentence2": "It moves.", "target": "neutral"}
CASES = {"class": "Synonyms", "inputs": PAIRS, "outputs": [{**PAIRS, "sentence1": "A hound runs."}]}
INVARIANT = {
    "type": "INV",
    "data": [[["A dog runs.", "It moves."], ["A hound runs.", "It moves."]]],
    "labels": "neutral",
}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def cells(mid: str) -> str:
    quoted = [[f'"{v}"'.replace('"no"', '""no""') if mid == "," else v for v in row.values()] for row in NLI]
    return "\n".join(mid.join(row) for row in [list(NLI[0]), *quoted]) + "\n"


def ways(mid: str) -> str:
    """The two ways round as MED's table has them."""
    rows = [["pairID", *WAYS[0]], *([str(n), *way.values()] for n, way in enumerate(WAYS, 1))]
    return "\n".join(mid.join(row) for row in rows) + "\n"


def file(name: str, text: str, spec: str = "{}:{}") -> Recipe:
    """A data set that is one file: `snli_1.0_dev.jsonl` is named as snli:FILE."""
    kind, _, name = name.partition(" ")

    def make(folder: Path) -> str:
        (folder / name).write_text(text, encoding="utf-8")
        return spec.format(kind, folder / name)

    return make


def parquet(folder: Path) -> str:
    import polars as pl

    pl.DataFrame(NLI).write_parquet(folder / "some.parquet")
    return f"parquet:{folder / 'some.parquet'}"


def hf_file(folder: Path) -> str:
    pytest.importorskip("datasets")
    return file("hf some.jsonl", lines(*NLI))(folder)


def buckets() -> str:
    original = {**STORY, "label": 1}
    changed = {"paraphrase_id": "p.1", "hyp1_paraphrase": "She had shelter.", "hyp2_paraphrase": "She had nothing."}
    return json.dumps({"anli.test.7": [{**changed, "original_example": original}]})


def repeating(folder: Path) -> str:
    """The bundled rewordings, and rows that say what their original says, as people's files have them."""
    from otherwords.datasets.source import load
    from otherwords.variants.recorded import EVERYDAY

    one = load("everyday(split=all)").row(0, named=True)
    same = {"of": one["id"], "premise": one["premise"]}
    spaced = {"of": one["id"], "hypothesis": one["hypothesis"].replace(" ", "  ")}
    text = EVERYDAY.read_text(encoding="utf-8") + lines(same, spaced)
    return file("recorded repeating.jsonl", text)(folder)


def tiny_onnx(folder: Path) -> str:
    pytest.importorskip("onnx")
    return f"onnx:{_module('test_onnx').save(folder / 'tiny')}"


def tiny_bert(folder: Path, head: str = "SequenceClassification") -> str:
    """A BERT of two layers with the words of the sample, saved as people save theirs."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    names |= {"mask_token": "[MASK]"} if head == "MaskedLM" else {}
    words = [*names.values(), *TINY]
    torch.manual_seed(5)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    config = transformers.BertConfig(
        vocab_size=len(words), max_position_embeddings=512, id2label=labels, initializer_range=0.5, **sizes
    )
    transformers.utils.logging.disable_progress_bar()
    getattr(transformers, f"BertFor{head}")(config).eval().save_pretrained(folder / "tiny")
    transformers.utils.logging.enable_progress_bar()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special)
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **names)
    fast.save_pretrained(folder / "tiny")
    return f"hf:{folder / 'tiny'}(device=cpu)"


def tiny_masked_lm(folder: Path) -> str:
    """The tiny classifier's words, and a graph that knows the mask by its place alone."""
    pytest.importorskip("onnx")
    return f"onnx:{_module('tiny_graph', 'masked_lms').save(folder / 'tiny')}"


def scripted_merge(folder: Path) -> str:
    """MERGE with a masked-LM that knows the words of the bundled problems, and proposes any of them."""
    from otherwords.datasets.source import load

    texts = load("everyday(split=all)").select("premise", "hypothesis").rows()
    known = sorted({word.strip(".,") for row in texts for text in row for word in text.split()} | {"man", "dog"})
    (folder / "script.json").write_text(json.dumps({"vocabulary": known}), encoding="utf-8")
    return f'masked-lm(models="any=scripted:{folder / "script.json"}(otherwise=any)", least=1, n=3, subsamples=2)'


def with_model(spec: str, tiny: Recipe) -> Recipe:
    """What reads texts with a model, here a tiny one; the spec has its place: similarity(encoder={})."""
    return lambda folder: spec.format(json.dumps(tiny(folder)))


def spacy_parsed(folder: Path) -> str:
    pytest.importorskip("spacy")
    return 'syntactic_distance(pipeline="")'


def embedded(name: str) -> Recipe:
    """A model that comes with the package."""

    def make(folder: Path) -> str:
        if not (Path(otherwords.__file__).parent / "assets" / name / "model.onnx").is_file():
            pytest.skip(f"assets/{name} is not there yet")
        return name

    return make


def _module(name: str, part: str = "models") -> ModuleType:
    """A module of tests/models, for the builder of its tiny model."""
    path = Path(__file__).parents[1] / part / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"contracts_{name}", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def plain(spec: str) -> Recipe:
    return lambda folder: spec


def testset(name: str) -> Recipe:
    """A metric that looks at a test set, too: two models' answers to thirty items."""

    def make(folder: Path) -> str:
        import numpy as np
        import polars as pl

        labels = ("entailment", "neutral", "contradiction")
        p = np.random.default_rng(1).dirichlet([1, 1, 1], 60)
        rows = {"model": ["m"] * 30 + ["n"] * 30, "id": [*range(30)] * 2, "gold": [labels[i % 3] for i in range(60)]}
        told = {f"p:{label}": p[:, i] for i, label in enumerate(labels)}
        pl.DataFrame({**rows, **told}).write_parquet(folder / "test.parquet")
        return f"{name}(testset={folder / 'test.parquet'})"

    return make


#: Metrics that need nothing but answers.
METRICS = (
    *("accuracy_original", "accuracy_original_weighted", "accuracy_variants", "accuracy_buckets", "majority_class"),
    *("p_c", "p_c_distinct", "label_agreement", "vap", "pvap", "pvap_distinct", "p_c_bound"),
    *("flip_rate", "flip_to_wrong", "flip_to_right", "flip_wrong_to_wrong", "flip_directions", "flip_when_right"),
    *("flip_when_wrong", "flips_by_margin", "flip_rate_merged", "accuracy_merged", "flips_lost_by_merging"),
    *("r_r", "r_s", "r_s_without_neutral", "r_r_at", "r_s_at", "r_s_without_neutral_at", "too_few_variants"),
    *("jsd_pairs", "jsd_means", "ks", "sigma", "pa", "pa_curve", "pa_drop", "matching_threshold"),
    *("majority_vote", "vote_gain", "jaccard", "lexical_distance", "token_overlap"),
    *("snr", "hard_cases", "never_right"),
    *("sensitivity", "contrast_accuracy", "contrast_consistency", "control_flips"),
)
TESTSET = ("accuracy_testset", "accuracy_corrected", "p_c_corrected", "coverage")
RECIPES: dict[str, dict[str, Recipe]] = {
    "datasets": {
        "jsonl.v1": file("jsonl some.jsonl", lines(*NLI)),
        "csv.v1": file("csv some.csv", cells(",")),
        "tsv.v1": file("tsv some.tsv", cells("\t")),
        "parquet.v1": parquet,
        "hf.v1": hf_file,
        "everyday.v1": plain("everyday"),
        "snli.v1": file("snli snli_1.0_dev.jsonl", lines(*SNLI)),
        "mnli.v1": file("mnli multinli_1.0_dev.jsonl", lines(*SNLI)),
        "breaking_nli.v1": file("breaking_nli dataset.jsonl", lines(*SNLI)),
        "monli.v1": file("monli pmonli.jsonl", lines(*WAYS)),
        "med.v1": file("med MED.tsv", ways("\t")),
        "anli.v1": file("anli dev.jsonl", lines({"uid": "u", "context": "C.", "hypothesis": "H.", "label": "e"})),
        "rte.v1": file("rte rte1_dev.xml", RTE),
        "alpha_nli.v1": file("alpha_nli dev.jsonl", lines({**STORY, "story_id": "s", "label": 2})),
        "delta_nli.v1": file("delta_nli test.jsonl", lines({**UPDATE, "DataSource": "SNLI"})),
        "paranlu.v1": file("paranlu anli_paraphrases_human.json", buckets()),
        "parte.v1": file("parte RTE_test_paraphrased.jsonl", lines({**PARTE, "gold_label": True})),
        "textattack.v1": file("textattack attack.csv", ATTACK),
        "nl_augmenter.v1": file("nl_augmenter test.json", json.dumps({"test_cases": [CASES]})),
        "checklist.v1": file("checklist suite.json", json.dumps({"synonyms": INVARIANT})),
    },
    "generators": {
        "identity.v1": plain("identity"),
        "contractions.v1": plain("contractions"),
        "recorded.v1": repeating,
        "scramble.v1": plain("scramble"),
        "structural.v1": plain("structural"),
        "wordnet.v1": plain("wordnet(pos=all)"),
        "wordnet-ie.v1": file(
            "wordnet-ie table.tsv", "man\tadult male\nsoup\tbroth\nomelette\tomelet\n", "{}(table={})"
        ),
        "masked-lm.v1": scripted_merge,
        "tautology.v1": plain("tautology"),
        "paraphrase.v1": plain(f'paraphrase(model="{SHUFFLED}", prompt="{{text}}", decoding=sample, k=1)'),
        "back-translation.v1": plain(f'back-translation(there="{SHUFFLED}", back="{SHUFFLED}")'),
    },
    "checks": {
        "surface.v1": plain("surface"),
        "overlap.v1": plain("overlap"),
        "label-safety.v1": plain("label-safety"),
        "human.v1": file("human verdicts.csv", VERDICTS),
        "similarity.v1": with_model("similarity(encoder={}, least=0.507)", tiny_bert),
        "fluency.v1": with_model("fluency(masked_lm={}, most=2)", lambda f: f"{tiny_masked_lm(f)}(max_length=8)"),
        "mutual-entailment.v1": file("mutual-entailment mine.py", JUDGE, '{}(judge="python:{}:judge", canary=false)'),
    },
    "models": {
        "scripted.v1": plain("scripted"),
        "bag_of_words.v1": plain("bag_of_words"),
        "python.v1": file("python mine.py", CALLABLE, "{}:{}:short"),
        "onnx.v1": tiny_onnx,
        "hf.v1": tiny_bert,
        "nli-small.v1": embedded("nli-small"),
    },
    "masked_lms": {
        "scripted.v1": file("scripted script.json", json.dumps({"vocabulary": list(TINY)}), "{}:{}(otherwise=any)"),
        "onnx.v1": tiny_masked_lm,
        "hf.v1": lambda folder: tiny_bert(folder, "MaskedLM"),
        "mlm-small.v1": embedded("mlm-small"),
    },
    "writers": {
        "scripted.v1": plain(SHUFFLED),
        "hf.v1": lambda folder: f"hf:{_module('tiny', 'writers').save(folder / 'tiny', 't5')}(device=cpu)",
    },
    "encoders": {"hf.v1": tiny_bert},
    "metrics": {
        **{f"{name}.v1": plain(name) for name in METRICS},
        **{f"{name}.v1": testset(name) for name in TESTSET},
        "embedding_distance.v1": with_model("embedding_distance(encoder={})", tiny_bert),
        "embedding_jsd.v1": with_model("embedding_jsd(encoder={})", tiny_bert),
        "syntactic_distance.v1": spacy_parsed,
    },
    "papers": {f"{name}.v1": plain(name) for name in ("ie-test", "merge", "paranlu", "parte")},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that asks for `plugin` with all plug-ins of its file's kind, newcomers included."""
    if "plugin" in metafunc.fixturenames:
        kinds = getattr(metafunc.module, "KIND", None)
        found = [(kind, plugin.full_name) for kind in ([kinds] if kinds else KINDS) for plugin in KINDS[kind]]
        metafunc.parametrize("plugin", found, ids=[name if kinds else f"{kind}-{name}" for kind, name in found])


@pytest.fixture(scope="session")
def _made() -> dict[tuple[str, str], str]:
    return {}


@pytest.fixture
def spec(plugin: tuple[str, str], _made: dict[tuple[str, str], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """How a user would name the plug-in, with its sample in place."""
    kind, name = plugin
    if name not in RECIPES[kind]:
        pytest.fail(
            f"no entry for {kind}: {name}; add one line on how to make it to RECIPES in tests/contracts/conftest.py"
        )
    if plugin not in _made:
        _made[plugin] = RECIPES[kind][name](tmp_path_factory.mktemp(name.replace(".", "_")))
    return _made[plugin]


@pytest.fixture
def bound(plugin: tuple[str, str], spec: str) -> Bound:
    return KINDS[plugin[0]].make(spec)


@pytest.fixture
def recipes() -> dict[str, dict[str, Recipe]]:
    return RECIPES


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reaches for a hub, or leaves anything in the user's cache of data sets."""
    if importlib.util.find_spec("datasets"):
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
