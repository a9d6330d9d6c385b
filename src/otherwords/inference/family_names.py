"""What transformers calls the parts of the common encoders and their heads."""

from __future__ import annotations

#: Activations that a description knows; exact GELU, or its tanh approximation under two names.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "tanh-gelu",
    "gelu_pytorch_tanh": "tanh-gelu",
    "relu": "relu",
    "tanh": "tanh",
}
#: Where a layer's parts are: (all layers, query, key, value, output, norm, up, down, norm).
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
    "DistilBertForMaskedLM": ("vocab_transform", "", "vocab_layer_norm", "vocab_projector"),
}
ROBERTAS = ("Roberta", "XLMRoberta", "Camembert")
for _family in ROBERTAS:
    HEADS[f"{_family}ForSequenceClassification"] = ("classifier.dense", "tanh", "", "classifier.out_proj")
    HEADS[f"{_family}ForMaskedLM"] = ("lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder")
