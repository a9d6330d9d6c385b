"""The encoders of most NLI models (BERT, RoBERTa, ELECTRA, DistilBERT and similar ones), read into one description.

They differ in the names of their weights, in how positions are counted and in their heads, not in their arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

#: Known activations, by their names in transformers: exact GELU, or its tanh approximation under two names.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "tanh-gelu",
    "gelu_pytorch_tanh": "tanh-gelu",
    "relu": "relu",
    "tanh": "tanh",
}
#: Names of a layer's parts: (all layers, query, key, value, output, norm, up, down, norm).
BERT = (
    "encoder.layer",
    *(f"attention.self.{part}" for part in ("query", "key", "value")),
    *("attention.output.dense", "attention.output.LayerNorm"),
    *("intermediate.dense", "output.dense", "output.LayerNorm"),
)
DISTILBERT = (
    "transformer.layer",
    *(f"attention.{part}" for part in ("q_lin", "k_lin", "v_lin", "out_lin")),
    *("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
)
#: A head by class: hidden layer, activation ("" for the encoder's), norm, outputs.
HEADS = {
    "BertForSequenceClassification": ("bert.pooler.dense", "tanh", "", "classifier"),
    "BertForMultipleChoice": ("bert.pooler.dense", "tanh", "", "classifier"),
    "BertForMaskedLM": (
        *("cls.predictions.transform.dense", "", "cls.predictions.transform.LayerNorm"),
        "cls.predictions.decoder",
    ),
    "ElectraForSequenceClassification": ("classifier.dense", "gelu", "", "classifier.out_proj"),
    "ElectraForMaskedLM": (
        *("generator_predictions.dense", "gelu", "generator_predictions.LayerNorm"),
        "generator_lm_head",
    ),
    "DistilBertForSequenceClassification": ("pre_classifier", "relu", "", "classifier"),
    "DistilBertForMultipleChoice": ("pre_classifier", "relu", "", "classifier"),
    "DistilBertForMaskedLM": ("vocab_transform", "", "vocab_layer_norm", "vocab_projector"),
}
ROBERTAS = ("Roberta", "XLMRoberta", "Camembert")
for _family in ROBERTAS:
    HEADS[f"{_family}ForSequenceClassification"] = ("classifier.dense", "tanh", "", "classifier.out_proj")
    HEADS[f"{_family}ForMultipleChoice"] = ("roberta.pooler.dense", "tanh", "", "classifier")
    HEADS[f"{_family}ForMaskedLM"] = ("lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder")


#: A tensor of torch, or an array of numpy: `describe` gives the one, `read` the other.
Array = Any


@dataclass(frozen=True)
class Linear:
    """A weight of outputs x inputs, as torch has it, and a bias."""

    weight: Array
    bias: Array


@dataclass(frozen=True)
class Norm:
    """Layer normalisation."""

    weight: Array
    bias: Array
    epsilon: float


@dataclass(frozen=True)
class Layer:
    """Attention and feed-forward, each with a residual connection and normalised afterwards."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    attention_norm: Norm
    up: Linear
    down: Linear
    norm: Norm


@dataclass(frozen=True)
class Encoder:
    """Embeddings and layers. `pad` is the padding token, where positions are counted from behind it, as in RoBERTa."""

    words: Array
    positions: Array
    types: Array | None
    norm: Norm
    projection: Linear | None
    layers: tuple[Layer, ...]
    heads: int
    activation: str
    pad: int | None


@dataclass(frozen=True)
class Head:
    """One hidden layer over the state of one token, and the outputs: labels, or the vocabulary."""

    dense: Linear
    activation: str
    norm: Norm | None
    out: Linear


@dataclass(frozen=True)
class Network:
    """All weights of a classifier or a masked-LM."""

    encoder: Encoder
    head: Head


def read(model: Any) -> Network | None:
    """Describe a model of transformers, with weights as numpy arrays in single precision.

    None where it is not of one of these families in their usual form.
    """
    return converted(describe(model), lambda tensor: tensor.cpu().float().numpy())  # type: ignore[no-any-return]


def describe(model: Any) -> Network | None:
    """The same with the model's own tensors, on their device."""
    config, head = model.config, HEADS.get(type(model).__name__)
    activation = ACTIVATIONS.get(str(getattr(config, "activation", None) or getattr(config, "hidden_act", "")))
    usual = getattr(config, "position_embedding_type", "absolute") == "absolute"
    if head is None or activation is None or not usual or getattr(config, "is_decoder", False):
        return None
    dense, own_activation, norm, out = head
    return Network(
        _encoder(model, activation),
        Head(
            _linear(model, dense),
            own_activation or activation,
            _norm(model, norm) if norm else None,
            _linear(model, out),
        ),
    )


def converted(part: Any, convert: Callable[[Any], Any]) -> Any:
    """A description, or a part of one, with all its weights converted."""
    if isinstance(part, tuple):
        return tuple(converted(one, convert) for one in part)
    if is_dataclass(part) and not isinstance(part, type):
        return type(part)(*(converted(getattr(part, field.name), convert) for field in fields(part)))
    return convert(part) if hasattr(part, "shape") else part


def _encoder(model: Any, activation: str) -> Encoder:
    base, tables = model.base_model, model.base_model.embeddings
    types = getattr(tables, "token_type_embeddings", None)
    names = DISTILBERT if type(model).__name__.startswith("DistilBert") else BERT
    return Encoder(
        tables.word_embeddings.weight.detach(),
        tables.position_embeddings.weight.detach(),
        None if types is None else types.weight.detach(),
        _norm(tables, "LayerNorm"),
        _linear(base, "embeddings_project") if hasattr(base, "embeddings_project") else None,
        tuple(_layer(layer, names) for layer in base.get_submodule(names[0])),
        int(model.config.num_attention_heads),
        activation,
        int(tables.padding_idx) if type(model).__name__.startswith(ROBERTAS) else None,
    )


def _layer(layer: Any, names: tuple[str, ...]) -> Layer:
    _, *parts = names
    query, key, value, output = (_linear(layer, name) for name in parts[:4])
    up, down = (_linear(layer, name) for name in parts[5:7])
    return Layer(query, key, value, output, _norm(layer, parts[4]), up, down, _norm(layer, parts[7]))


def _linear(module: Any, name: str) -> Linear:
    part = module.get_submodule(name)
    return Linear(part.weight.detach(), part.bias.detach())


def _norm(module: Any, name: str) -> Norm:
    part = module.get_submodule(name)
    return Norm(part.weight.detach(), part.bias.detach(), float(part.eps))
