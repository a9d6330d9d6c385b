"""A BERT of two layers with its masked-LM head, and the same weights as the graph that `onnx:` reads."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["play", "##ing", "##s", "run", "##ner", "."]
WORDS = "a dog runs in the park while it rains and no cat sleeps".split()  # noqa: SIM905
VOCABULARY = [*SPECIAL, *PIECES, *WORDS]


def wordpiece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.enable_truncation(3)  # a tokenizer's own settings must not reach the model
    tokenizer.enable_padding(length=20)
    return tokenizer


@pytest.fixture(scope="session")
def bert() -> Any:
    """The model itself, whose logits are the golden values."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(11)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        max_position_embeddings=32,
        initializer_range=0.5,
        attn_implementation="eager",
        **sizes,
    )
    return transformers.BertForMaskedLM(config).eval()


@pytest.fixture(scope="session")
def folder(bert: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its graph, with the choice of the best tokens in it, its tokenizer and its config."""
    place = tmp_path_factory.mktemp("masked") / "tiny"
    place.mkdir()
    write_graph(bert, place / "model.onnx")
    wordpiece().save(str(place / "tokenizer.json"))
    (place / "config.json").write_text(json.dumps({"vocab_size": len(VOCABULARY)}))
    return place


def write_graph(bert: Any, path: Path) -> None:
    onnx, torch = pytest.importorskip("onnx"), pytest.importorskip("torch")

    class AtTheMask(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids, types, at, own):
            states = self.bert.bert(ids, token_type_ids=types).last_hidden_state
            picked = states.gather(1, at[:, None, None].expand(-1, 1, states.shape[2]))[:, 0]
            logp = self.bert.cls(picked).log_softmax(dim=1)
            return logp, logp.gather(1, own[:, None])[:, 0]

    ids = torch.tensor([[2, 11, 4, 13, 3]] * 2)
    names = ["input_ids", "token_type_ids", "at", "own"]
    sizes = {**{name: {0: "batch"} for name in names}, "logp": {0: "batch"}, "own_logp": {0: "batch"}}
    sizes |= {name: {0: "batch", 1: "length"} for name in names[:2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's age
        example = (ids, torch.zeros_like(ids), torch.tensor([2, 2]), torch.tensor([12, 12]))
        outputs = {"output_names": ["logp", "own_logp"], "dynamic_axes": sizes, "opset_version": 17}
        torch.onnx.export(AtTheMask().eval(), example, str(path), input_names=names, dynamo=False, **outputs)
    model = onnx.load(path)
    model.graph.node.append(onnx.helper.make_node("TopK", ["logp", "k"], ["top_logp", "top_ids"], axis=1))
    info = onnx.helper.make_tensor_value_info
    model.graph.input.append(info("k", onnx.TensorProto.INT64, [1]))
    kept = [output for output in model.graph.output if output.name == "own_logp"]
    del model.graph.output[:]
    top = [
        info("top_ids", onnx.TensorProto.INT64, ["batch", "k"]),
        info("top_logp", onnx.TensorProto.FLOAT, ["batch", "k"]),
    ]
    model.graph.output.extend([*top, *kept])
    onnx.save(model, path)
