"""Graphs traced by torch, for every architecture that is not built by hand: slower, the same answers.

The tracing exporter is deprecated, but part of every torch from 2.6 on, and needs no package of its own. What it gets
wrong, such as a length taken for a constant, the comparison with the original shows.
"""

import hashlib
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadInput
from ..inference.hf_folders import quietly
from ..language_models.masked_lm_hf import logits_at
from .graphs import ASKED, CHOSEN, OPSET, ROWS, Array, onnx

#: Rows and tokens of the example that is traced: any numbers that are not another size of the model.
_EXAMPLE = (3, 11)


def classifier(model: Any, *, types: bool, who: str) -> Any:
    """A graph from `input_ids` (and `token_type_ids`) to `logits`."""
    tokens = _tokens(model, types)

    def logits(*given: Any) -> Any:
        return model(**dict(zip(tokens, given, strict=True))).logits

    return _trace(model, logits, tokens, {"logits": ("batch",)}, who)


def masked_lm(model: Any, *, types: bool, who: str) -> Any:
    """A graph like that of `graphs.masked_lm`: only the masked token's state goes through the head."""
    import torch

    tokens = _tokens(model, types)
    asked = {"at": torch.tensor([1, 2, 3]), "own": torch.tensor([5, 6, 7]), "k": torch.tensor([2])}

    def chosen(*given: Any) -> Any:
        *rest, at, own, k = given
        logp = torch.log_softmax(logits_at(model, at, **dict(zip(tokens, rest, strict=True))), dim=-1)
        top = torch.topk(logp, k.squeeze() if torch.jit.is_tracing() else int(k))
        return top.indices, top.values, logp.gather(1, own[:, None]).squeeze(1)

    return _trace(model, chosen, tokens | asked, {name: shape for name, (_, shape) in CHOSEN.items()}, who)


def _tokens(model: Any, types: bool) -> dict[str, Any]:
    import torch

    count = torch.arange(_EXAMPLE[0] * _EXAMPLE[1]).reshape(_EXAMPLE)
    ids = count % (model.config.vocab_size - 6) + 5
    return {"input_ids": ids, **({"token_type_ids": count % 2} if types else {})}


def _trace(model: Any, function: Any, given: Mapping[str, Any], outputs: Mapping[str, Sequence[Any]], who: str) -> Any:
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *arguments: Any) -> Any:
            return function(*arguments)

    shapes = {**dict.fromkeys(("input_ids", "token_type_ids"), ROWS), "at": ASKED["at"], "own": ASKED["own"]}
    axes = {name: dict(enumerate(shape)) for name, shape in {**shapes, **outputs}.items() if name in {*given, *outputs}}
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation("eager")  # others make masks of a size known at tracing
    file = io.BytesIO()
    names = {"input_names": list(given), "output_names": list(outputs), "dynamic_axes": axes}
    try:
        with warnings.catch_warnings(), quietly(), torch.no_grad():
            warnings.simplefilter("ignore")  # about deprecation, and about shapes that a trace may freeze
            torch.onnx.export(Module().eval(), tuple(given.values()), file, opset_version=OPSET, dynamo=False, **names)
    except Exception as error:  # whatever the code of a model raises while it is traced
        cause = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        fix = "BERT, RoBERTa, XLM-R, CamemBERT, ELECTRA and DistilBERT need no tracing; or use the model as hf:PATH"
        raise BadInput(f"torch cannot trace {type(model).__name__}: {cause}", where=who, fix=fix) from error
    return _tied(onnx().load_model_from_string(file.getvalue()))


def _tied(model: Any) -> Any:
    """Store a table once that is there also transposed: a head that shares the embedding is exported like that."""
    read, make = onnx().numpy_helper.to_array, onnx().helper.make_node
    tables = {one.name: read(one) for one in model.graph.initializer if len(one.dims) == 2}
    as_stored = {_content(table): name for name, table in tables.items()}
    for name, table in tables.items():
        other = as_stored.get(_content(table.T))
        if other is not None and table.shape[0] < table.shape[1]:
            model.graph.initializer.remove(next(one for one in model.graph.initializer if one.name == name))
            model.graph.node.insert(0, make("Transpose", [other], [name], perm=[1, 0]))
    return model


def _content(table: Array) -> tuple[Any, ...]:
    return table.shape, hashlib.sha256(table.tobytes()).digest()
