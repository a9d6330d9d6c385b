"""Tiny models that all tests of this folder share: masked-LMs as a module and as a graph, and models that write."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_models import KNOWN, SIZES, SPECIAL, WRITER_WORDS, save_writer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

PIECES = ["play", "##ing", "##s", "run", "##ner", "."]
VOCABULARY = [*SPECIAL, *PIECES, *KNOWN]


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
def masked_bert() -> Any:
    """A BERT of two layers with its masked-LM head, whose logits are the golden values."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(11)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        max_position_embeddings=32,
        initializer_range=0.5,
        attn_implementation="eager",
        **SIZES,
    )
    return transformers.BertForMaskedLM(config).eval()


@pytest.fixture(scope="session")
def masked_folder(masked_bert: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as the graph that `onnx:` reads, with tokenizer and config."""
    place = tmp_path_factory.mktemp("masked") / "tiny"
    place.mkdir()
    write_graph(masked_bert, place / "model.onnx")
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


@pytest.fixture(scope="session")
def saved_writer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of a tiny model that writes: `saved_writer("t5")`, `saved_writer("llama", chat=True)`."""
    pytest.importorskip("transformers")
    folders: dict[tuple[str, bool], Path] = {}

    def folder(family: str, chat: bool = False) -> Path:
        if (family, chat) not in folders:
            folders[family, chat] = save_writer(tmp_path_factory.mktemp(family) / "tiny", family, chat=chat)
        return folders[family, chat]

    return folder


@pytest.fixture(scope="session")
def prompts() -> list[str]:
    """Prompts of one to eight words, in no order of length."""
    chance = random.Random(1)
    return [" ".join(chance.choices(WRITER_WORDS, k=chance.randrange(1, 9))) for _ in range(8)]
