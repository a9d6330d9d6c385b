"""What must stay as it is while modules move: scores, tables, part keys, signatures, names, options and commands.

The golden files lie beside this one; `python tests/golden/regenerate.py` rewrites them. Every `*_now` function below
computes what one golden file holds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main

# All that is taken from inside the package: where a module moves, this is the one place to change.
import otherwords as ow
from otherwords.cli.app import app
from otherwords.models.answering import load as load_model
from otherwords.models.cache import key as cache_key
from otherwords.problem import TASKS
from otherwords.registry import KINDS
from otherwords.storage.run_folder import key_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STAGES = ("problems", "variants", "notes", "buckets", "answers")
NOTED = ("signatures", "counts", "unvaried", "left_out", "intake", "inputs", "batch_invariant")
SHUFFLED = "scripted(otherwise=shuffle)"
#: Plug-ins with nothing to be told that nevertheless need torch, or a download.
NOT_MADE = {("checks", "similarity.v1"), ("encoders", "minilm.v1")}
#: Metrics that the run with every generator does not have: it has no contrasts, repeats, ways or templates; some need
#: an option, an encoder, a parser, or answers of a language model.
NOT_MEASURED = {
    "accuracy_corrected", "accuracy_testset", "contrast_accuracy", "contrast_consistency", "coverage",
    "embedding_distance", "embedding_jsd", "flip_rate_net", "label_mass", "learned_similarity",
    "p_c_corrected", "p_c_distinct_corrected", "python", "repeat_flips", "sensitivity",
    "syntactic_distance", "template_flips", "way_flips",
}  # fmt: skip
#: Made with these packages; without them the plug-in's signature is not compared.
NEEDS = {
    **{("generators", f"{name}.v1"): "spacy" for name in ("masked-lm", "structural", "wordnet", "wordnet-ie")},
    **{("generators", name): "spacy" for name in ("structural.v2", "wordnet.v2", "reworded.v1")},
    ("metrics", "syntactic_distance.v1"): "spacy",
}
WORDS = "a dog runs in the park while it rains and no cat sleeps".split()  # noqa: SIM905
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
MASK = {"mask_token": "[MASK]"}
ENDS = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
LABELS = ("contradiction", "entailment", "neutral")
PROBED = [
    ("A man plays a guitar on a stage.", "A person makes music."),
    ("Two dogs run through the snow.", "The dogs sleep at home."),
    ("A woman reads in a park while it rains and children play.", "She waits for her sister."),
]


# Studies


def quickstart_now(folder: Path) -> Any:
    """The scores of the quickstart."""
    out = _run(ROOT / "quickstart.toml", out=folder / "run", cache=None)
    return json.loads((out / "scores.json").read_text(encoding="utf-8"))


def every_generator_now(folder: Path) -> dict[str, Any]:
    """A run with every generator that needs no torch, all metrics, and the checks that are fast."""
    for name in ("problems.jsonl", "writer.json"):
        shutil.copy(HERE / name, folder)
    study = {
        "name": "every-generator",
        "data": [str(folder / "problems.jsonl")],
        "vary": [
            "wordnet-ie", "wordnet.v1(pos=all, n=2)", "masked-lm(least=1, n=3)", "structural.v1(n=2)", "contractions",
            "recorded", "identity", "tautology.v1", "scramble",
            f'paraphrase(model="scripted:{folder / "writer.json"}", prompt="{{text}}", k=3)',
            f'back-translation(there="{SHUFFLED}", back="{SHUFFLED}")',
        ],
        "check": [
            "surface", "overlap(most=0.9)", "label-safety.v1", "mutual-entailment(judge=nli-small, threshold=0.2)",
        ],
        "models": ["nli-small", "scripted"],
        "metrics": ["all"],
        "by": ["gold"],
        "replicates": 500,
        "shard": 25,
    }  # fmt: skip
    return _pinned(study, folder)


def both_versions_now(folder: Path) -> dict[str, Any]:
    """A few problems with both versions of generators that know words: the thin version of the two other runs."""
    lines = (HERE / "problems.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "some.jsonl").write_text("".join(lines[i] for i in (2, 11, 26, 27)), encoding="utf-8")
    study = {
        "name": "both-versions",
        "data": [str(folder / "some.jsonl")],
        "vary": [
            "wordnet-ie", "wordnet.v1(pos=all, n=2)", "masked-lm(least=1, n=2)", "structural.v1(n=2)",
            "structural.v2(n=2, kinds=all)", "tautology.v2", "wordnet.v2(n=2)", "reworded(kinds=voice+contraction)",
        ],
        "check": [],
        "models": ["scripted"],
        "canary": False,
        "metrics": ["flip_rate"],
        "by": ["how"],
    }  # fmt: skip
    return _pinned(study, folder)


def second_versions_now(folder: Path) -> dict[str, Any]:
    """A run with the second versions of generators, so that the pins of the first ones stay as they are."""
    shutil.copy(HERE / "problems.jsonl", folder)
    study = {
        "name": "second-versions",
        "data": [str(folder / "problems.jsonl")],
        "vary": [
            "structural.v2(n=2, kinds=all)", "tautology.v2", "wordnet.v2(n=2)",
            "reworded(n=2, kinds=voice+relative+contraction)",
        ],
        "check": ["label-safety"],
        "models": ["scripted"],
        "metrics": ["flip_rate", "control_flips"],
        "by": ["how"],
    }  # fmt: skip
    return _pinned(study, folder)


def every_check_now(folder: Path) -> dict[str, Any]:
    """A small run with the checks that are slow or need a file, a judge that is the model itself, and other models."""
    for name in ("few.jsonl", "verdicts.csv", "mine.py"):
        shutil.copy(HERE / name, folder)
    study = {
        "name": "every-check",
        "data": [str(folder / "few.jsonl")],
        "vary": ["recorded", "scramble(words=2)"],
        "check": [
            "surface", f"people=human:{folder / 'verdicts.csv'}", "fluency", "mutual-entailment", "roles", "stack",
            "equivalence",
        ],
        "models": ["nli-small", f"mine=python:{folder / 'mine.py'}:by_length", "bag_of_words"],
        "canary": False,
        "metrics": ["accuracy_original", "flip_rate", "p_c", "r_s", "control_flips"],
        "replicates": 500,
        "interval": "bca",
        "seed": 7,
    }  # fmt: skip
    return _pinned(study, folder)


def _run(study: Any, **more: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a run warns of is tested elsewhere
        return ow.run(study, **more).folder


def _pinned(study: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Everything of a run that must not change: nothing of it may depend on where the files lie."""
    out = _run(study, out=folder / "run", cache=str(folder / "cache.sqlite"))
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    stages = {stage: sorted((out / stage).rglob("part-*.parquet")) for stage in STAGES}
    tables = {
        stage: pl.concat([pl.read_parquet(part, glob=False) for part in parts], how="diagonal_relaxed")
        for stage, parts in stages.items()
    }
    found = {
        "scores": json.loads((out / "scores.json").read_text(encoding="utf-8")),
        "columns": {stage: {name: _digest(one, name) for name in sorted(one.columns)} for stage, one in tables.items()},
        "kinds": {stage: {name: str(one[name].dtype) for name in sorted(one.columns)} for stage, one in tables.items()},
        "keys": {part.relative_to(out).as_posix(): key_of(part) for parts in stages.values() for part in parts},
        "manifest": {name: manifest[name] for name in NOTED if name in manifest},
        "cache": _cached(folder / "cache.sqlite"),
    }  # fmt: skip
    assert str(folder) not in json.dumps(found), "a path of this machine reached a signature"
    return found


def _digest(table: pl.DataFrame, name: str) -> str:
    return hashlib.sha256(table.select(name).write_ndjson().encode()).hexdigest()


def _cached(path: Path) -> dict[str, Any]:
    """The models in the cache, and a digest of the keys with their answers."""
    db = sqlite3.connect(path)
    try:
        models = db.execute("select key, signature, task from models order by key").fetchall()
        query = "select hex(a.key), m.key, pred, hex(p), cut from answers a join models m on m.id = a.model order by 1"
        rows = db.execute(query).fetchall()
    finally:
        db.close()
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return {"models": [list(row) for row in models], "answers": len(rows), "digest": digest}


# Names


def plugins_now(folder: Path) -> dict[str, Any]:
    """Every plug-in: its options, what of them is not signed, and its signature where it can be made as it is."""
    found: dict[str, Any] = {}
    for kind, registry in KINDS.items():
        for plugin in registry:
            options = plugin.options()
            entry = found[f"{kind} {plugin.full_name}"] = {
                "options": {name: _shown(value) for name, value in options.items()},
                "unsigned": list(plugin.unsigned),
            }
            place = (kind, plugin.full_name)
            if ... not in options.values() and place not in NOT_MADE and _there(NEEDS.get(place, "json")):
                entry["signature"] = registry.make(plugin.full_name).signature
    return found


def _shown(value: Any) -> str:
    """An option's default as text; a file by its name, since its folder differs."""
    return "must be given" if value is ... else f"file {value.name}" if isinstance(value, Path) else repr(value)


def _there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def commands_now(folder: Path) -> dict[str, Any]:
    """Every command, in order, with its arguments in order and the names of its options."""
    found: dict[str, Any] = {}

    def look(command: Any, name: str) -> None:
        options = {one for p in command.params for one in (*p.opts, *p.secondary_opts) if one.startswith("-")}
        arguments = [p.name for p in command.params if p.param_type_name == "argument"]
        within = list(getattr(command, "commands", {}))
        found[name] = {"arguments": arguments, "options": sorted(options), "commands": within}
        for one in within:
            look(command.commands[one], f"{name} {one}")

    look(typer.main.get_command(app), "otherwords")
    return found


def public_now(folder: Path) -> list[str]:
    """The public names, each of which can be had."""
    return sorted(name for name in ow.__all__ if getattr(ow, name) is not None)


def keys_now(folder: Path) -> dict[str, str]:
    """The cache key of fixed inputs."""
    asked = {"none": [], "pair": ["A man sleeps.", "Zoë isn't awake."], "joined": ["A man sleeps.Zoë isn't awake.", ""]}
    asked["lone surrogate"] = ["\ud800"]
    return {name: cache_key(bytes(range(32)), texts).hex() for name, texts in asked.items()}


# Models


def models_now(folder: Path) -> dict[str, str]:
    """The signatures of models that need no torch, as answers are stored under them."""
    shutil.copy(HERE / "mine.py", folder)
    shutil.copy(HERE / "few.jsonl", folder / "script.jsonl")
    lines = [json.loads(line) for line in (folder / "script.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [{"premise": row["premise"], "hypothesis": row["hypothesis"], "pred": row["label"]} for row in lines]
    (folder / "script.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    tiny = _save_onnx(folder / "tiny-onnx")
    specs = [
        "nli-small", "nli-small(max_length=64, threads=1, tokens=128)",
        "bag_of_words", "bag_of_words(penalty=2, steps=20)",
        "scripted", "scripted(otherwise=neutral, seed=3, delay=0)", f"told=scripted:{folder / 'script.jsonl'}",
        f"python:{folder / 'mine.py'}:by_length", f"onnx:{tiny}", f"small=onnx:{tiny}(max_length=16, threads=1)",
    ]  # fmt: skip
    found = {spec: load_model(spec, TASKS["nli"]).signature for spec in specs}
    mapped = load_model(f"onnx:{tiny}", TASKS["nli"], {"neutral": "entailment", "entailment": "neutral"})
    found["onnx with a label map"] = mapped.signature
    found["masked_lms onnx"] = KINDS["masked_lms"].make(f"onnx:{_save_masked_onnx(folder / 'tiny-mask')}").signature
    return _placeless(found, folder)


def hf_models_now(folder: Path) -> dict[str, str]:
    """The signatures of models that torch runs: classifiers, masked-LMs, writers and encoders."""
    classifier = _save_bert(folder / "tiny-classifier", "SequenceClassification")
    masked = _save_bert(folder / "tiny-masked", "MaskedLM")
    seq2seq, causal = _save_writer(folder / "tiny-t5", "t5"), _save_writer(folder / "tiny-gpt2", "gpt2")
    cpu = "device=cpu"
    specs = {
        "models": [
            f"hf:{classifier}({cpu})", f"hf:{classifier}({cpu}, max_length=64, tokens=99)",
            f"hf:{classifier}({cpu}, dtype=bfloat16)", f"hf:{classifier}({cpu}, forward=transformers)",
            f"hf:{classifier}({cpu}, forward=lean)",
        ],
        "masked_lms": [f"hf:{masked}({cpu})", f"hf:{masked}({cpu}, max_length=32, dtype=bfloat16)"],
        "writers": [f"hf:{seq2seq}({cpu})", f"hf:{causal}({cpu}, max_new=8)"],
        "encoders": [f"hf:{classifier}({cpu})", f"hf:{masked}({cpu}, pooling=cls, max_length=32)"],
    }  # fmt: skip
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of heads that an encoder leaves unused
        for kind, several in specs.items():
            for spec in several:
                made = load_model(spec, TASKS["nli"]) if kind == "models" else KINDS[kind].make(spec)
                found[f"{kind} {spec}"] = made.signature
        check = KINDS["checks"].make(f'similarity(encoder="hf:{classifier}({cpu})")')
        found["checks similarity"] = check.signature
    return _placeless(found, folder)


def _placeless(found: dict[str, str], folder: Path) -> dict[str, str]:
    """Specs without the temporary folder; signatures must not have it."""
    assert not any(str(folder) in signature for signature in found.values())
    return {spec.replace(f"{folder}/", ""): signature for spec, signature in found.items()}


def _tokenizer(words: list[str], unknown: str, single: str, pair: str | None, special: list[tuple[str, int]]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single, pair, special)
    return tokenizer


def _bert_tokenizer(words: list[str]) -> Any:
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    return _tokenizer(words, "[UNK]", "[CLS] $A [SEP]", pair, [("[CLS]", 2), ("[SEP]", 3)])


def _save_bert(folder: Path, head: str) -> Path:
    import transformers

    names = {**SPECIAL, **(MASK if head == "MaskedLM" else {})}
    words = [*names.values(), *WORDS]
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    labels = dict(enumerate(LABELS))
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=128, id2label=labels, **sizes)
    _save_weights(getattr(transformers, f"BertFor{head}")(config), folder)
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=_bert_tokenizer(words), model_input_names=inputs, **names
    )
    fast.save_pretrained(folder)
    return folder


def _save_writer(folder: Path, kind: str) -> Path:
    import transformers

    words = [*ENDS.values(), *WORDS]
    common = {"vocab_size": len(words), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 3}
    if kind == "t5":
        start = {"decoder_start_token_id": 0}
        config = transformers.T5Config(d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, **common, **start)
        _save_weights(transformers.T5ForConditionalGeneration(config), folder)
    else:
        config = transformers.GPT2Config(n_embd=8, n_layer=1, n_head=2, n_positions=64, **common)
        _save_weights(transformers.GPT2LMHeadModel(config), folder)
    tokenizer = _tokenizer(words, "<unk>", "$A </s>" if kind == "t5" else "$A", None, [("</s>", 1)])
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ENDS).save_pretrained(folder)
    return folder


def _save_weights(model: Any, folder: Path) -> None:
    """Save a model with weights that are the same everywhere: small multiples of 1/64, which floats hold exactly."""
    import torch
    import transformers

    with torch.no_grad():
        for number, weight in enumerate(model.parameters()):
            steps = (torch.arange(weight.numel()) * 37 + 11 * number) % 101 - 50
            weight.copy_((steps.to(torch.float32) / 64).reshape(weight.shape))
    transformers.utils.logging.disable_progress_bar()
    model.eval().save_pretrained(folder)
    transformers.utils.logging.enable_progress_bar()


def _steps(*shape: int) -> Any:
    import numpy as np

    return ((np.arange(np.prod(shape)) * 37 % 101 - 50) / 64).astype(np.float32).reshape(shape)


def _save_onnx(folder: Path) -> Path:
    """A classifier of the mean of its words."""
    from onnx import TensorProto, helper

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    words = [*SPECIAL.values(), *WORDS]
    tables = {"words": _steps(len(words), 5), "segments": _steps(2, 5), "out": _steps(5, 3)}
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["a"]),
        helper.make_node("Gather", ["segments", "token_type_ids"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["x"]),
        helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["m", "two"], ["mask"]),
        helper.make_node("Mul", ["x", "mask"], ["kept"]),
        helper.make_node("ReduceMean", ["kept"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "out"], ["logits"]),
    ]
    shapes = [(name, TensorProto.INT64, ["batch", "length"]) for name in inputs]
    _save_graph(folder, nodes, shapes, [("logits", TensorProto.FLOAT, ["batch", 3])], tables, {"two": 2})
    config = {"id2label": {str(i): name for i, name in enumerate(LABELS)}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    _bert_tokenizer(words).save(str(folder / "tokenizer.json"))
    return folder


def _save_masked_onnx(folder: Path) -> Path:
    """A masked-LM of the mean of its words and the place of the mask."""
    from onnx import TensorProto, helper

    words = [*SPECIAL.values(), *MASK.values(), *WORDS]
    tables = {"words": _steps(len(words), 6), "places": _steps(512, 6), "out": _steps(6, len(words))}
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["embedded"]),
        helper.make_node("ReduceMean", ["embedded"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Gather", ["places", "at"], ["place"]),
        helper.make_node("Add", ["mean", "place"], ["state"]),
        helper.make_node("MatMul", ["state", "out"], ["logits"]),
        helper.make_node("LogSoftmax", ["logits"], ["logp"], axis=1),
        helper.make_node("TopK", ["logp", "k"], ["top_logp", "top_ids"], axis=1),
        helper.make_node("Unsqueeze", ["own", "one"], ["own_column"]),
        helper.make_node("GatherElements", ["logp", "own_column"], ["own_found"], axis=1),
        helper.make_node("Squeeze", ["own_found", "one"], ["own_logp"]),
    ]
    whole, real = TensorProto.INT64, TensorProto.FLOAT
    shapes = [("input_ids", whole, ["batch", "length"]), ("at", whole, ["batch"]), ("own", whole, ["batch"])]
    outputs = [
        ("top_ids", whole, ["batch", "top"]),
        ("top_logp", real, ["batch", "top"]),
        ("own_logp", real, ["batch"]),
    ]
    _save_graph(folder, nodes, [*shapes, ("k", whole, [1])], outputs, tables, {"one": 1})
    tokenizer = _bert_tokenizer(words)
    tokenizer.add_special_tokens([*SPECIAL.values(), *MASK.values()])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"vocab_size": len(words)}), encoding="utf-8")
    return folder


def _save_graph(folder: Path, nodes: Any, inputs: Any, outputs: Any, tables: Any, numbers: dict[str, int]) -> None:
    import numpy as np
    from onnx import helper, numpy_helper

    info = helper.make_tensor_value_info
    constants = {**tables, **{name: np.array([value], np.int64) for name, value in numbers.items()}}
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "tiny", [info(*one) for one in inputs], [info(*one) for one in outputs], stored)
    folder.mkdir()
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "model.onnx").write_bytes(made.SerializeToString(deterministic=True))


def probe_now(folder: Path) -> list[Any]:
    """Probabilities of the shipped model to the last digit: another kind of processor may round otherwise."""
    few = [{"id": n, "premise": a, "hypothesis": b, "label": "neutral"} for n, (a, b) in enumerate(PROBED)]
    answers = ow.answer(few, "nli-small", cache=None)
    return [list(row) for row in answers.select(pl.col("^p:.*$")).rows()]


# The tests


#: Each golden file: what computes it, and the packages without which it cannot.
PINS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "quickstart": (quickstart_now, ()),
    "every_generator": (every_generator_now, ("spacy", "lemminflect", "inflect")),
    "both_versions": (both_versions_now, ("spacy", "lemminflect", "inflect")),
    "second_versions": (second_versions_now, ("spacy", "lemminflect", "inflect")),
    "every_check": (every_check_now, ()),
    "probe": (probe_now, ()),
    "plugins": (plugins_now, ()),
    "commands": (commands_now, ()),
    "public": (public_now, ()),
    "keys": (keys_now, ()),
    "models": (models_now, ("onnx",)),
    "hf_models": (hf_models_now, ("torch", "transformers", "safetensors")),
}
#: Golden files of whole runs; their scores are a table, names of columns first, which takes half the room. In a long
#: table, what is usual in the scores of a metric stands apart.
STUDIES = ("every_generator", "second_versions", "both_versions", "every_check")


def golden(name: str) -> Any:
    found = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    if name in STUDIES:
        names, *rows = found["scores"]
        usual = found.pop("usual", {"(all)": {}})
        found["scores"] = [_score(names, row, usual) for row in rows]
    return found


def _score(names: list[str], row: list[Any], usual: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row of a golden table: its own cells, then what of it is not usual in its metric."""
    shared = {**usual["(all)"], **usual.get(row[0].partition(":")[0], {})}
    own = [name for name in names if name not in shared]
    score = {**shared, **dict(zip(own, row[: len(own)], strict=True))}
    for unusual in row[len(own) :]:
        score.update(unusual)
    return {name: score[name] for name in names}


def now(name: str, folder: Path) -> Any:
    """What a golden file would hold today, as it comes back from JSON."""
    compute, packages = PINS[name]
    for package in packages:
        pytest.importorskip(package)
    return json.loads(json.dumps(compute(folder)))


def same_scores(found: list[dict[str, Any]], wanted: list[dict[str, Any]], exact: bool = True) -> None:
    """The same scores in the same order, to the last digit; a score may have new keys."""
    assert len(found) == len(wanted)
    for score, golden_score in zip(found, wanted, strict=True):
        kept = {key: score[key] for key in score if key in golden_score}
        assert list(kept) == list(golden_score)
        for key, value in golden_score.items():
            if exact or not isinstance(value, float):
                assert _text(kept[key]) == _text(value), key
            else:
                assert kept[key] == pytest.approx(value, abs=1e-3), key


def _text(value: Any) -> str:
    """JSON text, floats as `repr` writes them."""
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.slow
def test_quickstart_gives_the_same_scores(tmp_path: Path):
    same_scores(now("quickstart", tmp_path), golden("quickstart"))


#: The runs of many problems take longer than any other test.
MANY = ("every_generator", "second_versions")
FAST_AND_SLOW = [pytest.param(name, marks=pytest.mark.slow if name in MANY else ()) for name in STUDIES]


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Whether this processor rounds as the one on which the golden files were made."""
    return now("probe", tmp_path_factory.mktemp("probe")) == golden("probe")


@pytest.mark.parametrize("name", FAST_AND_SLOW)
def test_a_study_leaves_the_same_scores_tables_and_keys(name: str, exact: bool, tmp_path: Path):
    found, wanted = now(name, tmp_path), golden(name)
    for part in ("manifest", "kinds", "keys", *(("columns", "cache") if exact else ())):
        assert found[part] == wanted[part], part
    same_scores(found["scores"], wanted["scores"], exact)


def test_every_metric_is_in_the_run_with_every_generator():
    """That run is slow and measures "all": this one shows at once that a new metric is not in its golden file yet."""
    pinned = {signature.split(".v")[0] for signature in golden("every_generator")["manifest"]["signatures"]["metrics"]}
    assert pinned | NOT_MEASURED == {metric.name for metric in KINDS["metrics"]}
    assert not pinned & NOT_MEASURED


def test_plugins_have_the_same_options_and_signatures(tmp_path: Path):
    """New plug-ins are welcome; those of the golden file keep their names, options, order and signatures."""
    found, wanted = now("plugins", tmp_path), golden("plugins")
    assert [name for name in found if name in wanted] == list(wanted)
    for name, entry in wanted.items():
        if "signature" not in found[name] and not _there(NEEDS.get(tuple(name.split()), "json")):  # type: ignore[call-overload]
            entry.pop("signature")
        assert found[name] == entry, name
        assert list(found[name]["options"]) == list(entry["options"]), name


@pytest.mark.parametrize("name", ["keys", "models", "hf_models"])
def test_these_are_the_same(name: str, tmp_path: Path):
    found, wanted = now(name, tmp_path), golden(name)
    assert found == wanted


def test_commands_keep_their_arguments_and_options(tmp_path: Path):
    found, wanted = now("commands", tmp_path), golden("commands")
    for name, command in wanted.items():
        assert found[name]["arguments"] == command["arguments"], name
        for kind in ("options", "commands"):
            assert set(command.get(kind, ())) <= set(found[name].get(kind, ())), name


def test_public_names_are_still_there(tmp_path: Path):
    assert set(golden("public")) <= set(now("public", tmp_path))
