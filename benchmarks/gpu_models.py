"""Models of RoBERTa-large's shape with random weights, and texts for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
PLACE = "cuda" if torch.cuda.is_available() else "cpu"
Given = list[dict[str, str]]


def build(folder: Path, shape: dict[str, int], given: Given, tokenizer_file: str) -> dict[str, Any]:
    """Save a classifier with a tokenizer."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    tokenizer = _tokenizer(given, tokenizer_file)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    names = dict(enumerate(("entailment", "neutral", "contradiction")))
    config = RobertaConfig(**_sizes(shape, tokenizer), id2label=names, label2id={name: i for i, name in names.items()})
    with torch.device(PLACE):
        model = RobertaForSequenceClassification(config)
    _spread(model, tokenizer, given)
    model.to(torch.bfloat16).save_pretrained(folder)
    return {"parameters": sum(weights.numel() for weights in model.parameters()), "vocabulary": len(tokenizer)}


def build_masked_lm(folder: Path, shape: dict[str, int], given: Given, tokenizer_file: str) -> None:
    """Save a masked-LM with a tokenizer."""
    from transformers import RobertaConfig, RobertaForMaskedLM

    tokenizer = _tokenizer(given, tokenizer_file)
    tokenizer.save_pretrained(folder)
    with torch.device(PLACE):
        RobertaForMaskedLM(RobertaConfig(**_sizes(shape, tokenizer))).to(torch.bfloat16).save_pretrained(folder)


def recombined(given: Given, count: int) -> list[tuple[str, str]]:
    """Premises with other premises' hypotheses, in the order of `ask`: by length."""
    n = len(given)
    pairs = [
        (given[i % n]["premise"] or "", given[(i + 7919 * (i // n)) % n]["hypothesis"] or "") for i in range(count)
    ]
    return sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))


def _sizes(shape: dict[str, int], tokenizer: Any) -> dict[str, int]:
    more = {"vocab_size": len(tokenizer), "max_position_embeddings": 514, "pad_token_id": 0, "type_vocab_size": 1}
    return {**shape, **more}


def _spread(model: Any, tokenizer: Any, given: Given) -> None:
    """Let the random head give all labels, with clear probabilities: else nearly all answers are the same."""
    sides = [[row[side] or "" for row in given[:256]] for side in ("premise", "hypothesis")]
    inputs = tokenizer(*sides, padding=True, truncation=True, max_length=64, return_tensors="pt").to(model.device)
    with torch.no_grad():
        logits = model.eval()(**inputs).logits
    head, scale = model.classifier.out_proj, 2 / logits.std(dim=0)
    head.bias.data = (head.bias.data - logits.mean(dim=0)) * scale
    head.weight.data = head.weight.data * scale[:, None]


def _tokenizer(given: Given, file: str) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if file:
        words = Tokenizer.from_file(file)
    else:
        words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        texts = (row[side] or "" for row in given for side in ("premise", "hypothesis"))
        trainer = trainers.WordPieceTrainer(vocab_size=30_000, special_tokens=special, show_progress=False)
        words.train_from_iterator(texts, trainer)
    pair = "[CLS] $A [SEP] $B [SEP]"
    ends = [(name, words.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, ends)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=["input_ids", "attention_mask"], **names)


def trained(folder: Path) -> dict[str, int]:
    """Save `nli-small`, which is stored as an ONNX file, as a classifier of transformers."""
    import json
    import shutil

    from transformers import BertConfig, BertForSequenceClassification

    from otherwords.inference.onnx_files import embedded

    source = embedded("nli-small")
    config = BertConfig(**json.loads((source / "config.json").read_text()))
    model, state = BertForSequenceClassification(config), {}
    arrays = iter(_arrays_of(source / "model.onnx"))
    names = [name.removesuffix(".weight") for name in model.state_dict() if name.endswith(".weight")]
    embeddings, pooler, out = names[:4], "bert.pooler.dense", "classifier"
    for name in embeddings[:3]:
        state[f"{name}.weight"] = next(arrays)
    _put(state, embeddings[3], next(arrays), next(arrays))
    for number in range(config.num_hidden_layers):
        _put_layer(state, f"bert.encoder.layer.{number}", arrays, last=number == config.num_hidden_layers - 1)
    _put(state, pooler, next(arrays).T, next(arrays))
    _put(state, out, next(arrays), next(arrays))
    tensors = {name: torch.tensor(array) for name, array in state.items()}
    model.load_state_dict(tensors)
    model.save_pretrained(folder)
    shutil.copy(source / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizerFast", "do_lower_case": true}')
    return {"parameters": sum(weights.numel() for weights in model.parameters())}


def _put_layer(state: dict[str, Any], layer: str, arrays: Any, *, last: bool) -> None:
    """The arrays of a layer, as the graph uses them: queries, keys and values together, but not in the last layer."""
    joint = np.concatenate([next(arrays).T for _ in range(3)]) if last else next(arrays).T
    for name, weight, bias in zip(
        ("query", "key", "value"), np.split(joint, 3), np.split(next(arrays), 3), strict=True
    ):
        _put(state, f"{layer}.attention.self.{name}", weight, bias)
    _put(state, f"{layer}.attention.output.dense", next(arrays).T, next(arrays))
    _put(state, f"{layer}.attention.output.LayerNorm", next(arrays), next(arrays))
    _put(state, f"{layer}.intermediate.dense", next(arrays).T, next(arrays))
    _put(state, f"{layer}.output.dense", next(arrays).T, next(arrays))
    _put(state, f"{layer}.output.LayerNorm", next(arrays), next(arrays))


def _put(state: dict[str, Any], name: str, weight: Any, bias: Any) -> None:
    state[f"{name}.weight"], state[f"{name}.bias"] = weight, bias


def _arrays_of(file: Path) -> list[Any]:
    """All float constants of a graph, in the order of their use; tables are stored as int8 with scales."""
    import onnx

    graph = onnx.load(file).graph
    known = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    for name in [name.removesuffix(".stored") for name in known if name.endswith(".stored")]:
        scaled = known[f"{name}.stored"].astype(np.float32) * known[f"{name}.scale"]
        known[name] = scaled.reshape(known.get(f"{name}.shape", scaled.shape))
    constants = {int(name.removeprefix("constant_")): array for name, array in known.items() if "." not in name}
    return [array for _, array in sorted(constants.items()) if array.dtype == np.float32]
