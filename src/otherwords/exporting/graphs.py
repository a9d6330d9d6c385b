"""ONNX graphs: built by hand for the common encoders, traced by torch for all others (slower, the same answers).

Built: a classifier reads the first token only, a masked-LM the masked one; in the last layer, query, output and
feed-forward are computed for that token alone. Rows are never padded, so there is no mask. Measured on MiniLM-L6 (two
threads, 27 tokens), a sixth faster than an exported graph; onnxruntime's fused SkipLayerNormalization costs more than
its parts.

Traced: the tracing exporter is deprecated, but part of every torch from 2.6 on, and needs no package of its own. What
it gets wrong, such as a length taken for a constant, the comparison with the original shows.
"""

import hashlib
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingExtra
from ..inference.families import Encoder, Head, Layer, Linear, Network, Norm
from ..inference.hf_folders import quietly
from ..language_models.masked_lm_hf import logits_at

Array = npt.NDArray[Any]
Given = str | Array | np.int64
#: The domain of onnxruntime's own operations, which are fused and faster.
FUSED = "com.microsoft"
#: LayerNormalization is standard since 17, Split without sizes since 18; onnxruntime 1.20 knows up to 21.
OPSET, IR = 18, 9
ROWS = ("batch", "length")
#: The inputs of a masked-LM besides its tokens, and its outputs.
ASKED = {"at": ("batch",), "own": ("batch",), "k": (1,)}
CHOSEN = {
    "top_ids": ("INT64", ("batch", "k_best")),
    "top_logp": ("FLOAT", ("batch", "k_best")),
    "own_logp": ("FLOAT", ("batch",)),
}
#: Rows and tokens of the example that is traced: any numbers that are not another size of the model.
_EXAMPLE = (3, 11)


def classifier(network: Network, *, types: bool) -> Any:
    """A graph from `input_ids` (and `token_type_ids`) to `logits`."""
    graph = Graph()
    state = _encode(graph, network.encoder, types, lambda x: graph("Slice", x, *map(_ints, ([0], [1], [1]))))
    _outputs(graph, network.head, state, name="logits")
    inputs = dict.fromkeys(("input_ids", *(["token_type_ids"] if types else [])), ROWS)
    return graph.finish(inputs, {"logits": ("FLOAT", ("batch", len(network.head.out.bias)))})


def masked_lm(network: Network, *, types: bool) -> Any:
    """A graph that also takes `at` (the position of the mask), `own` (a token) and `k`.

    Outputs are the best k tokens (`top_ids`), and log-probabilities over the whole vocabulary: `top_logp`, `own_logp`.
    """
    graph = Graph()

    def masked(x: str) -> str:
        found = graph("GatherND", x, graph("Unsqueeze", "at", _ints([1])), batch_dims=1)
        return graph("Unsqueeze", found, _ints([1]))

    state = _encode(graph, network.encoder, types, masked)
    choose(graph, _outputs(graph, network.head, state))
    inputs = dict.fromkeys(("input_ids", *(["token_type_ids"] if types else [])), ROWS)
    return graph.finish({**inputs, **ASKED}, CHOSEN)


class Graph:
    """Nodes and constants of a graph under construction. A constant given twice is stored once."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._tensors: list[Any] = []

    def constant(self, value: Any, kind: Any = None) -> str:
        """Store an array, unless one with the same content exists, and return its name."""
        array = np.asarray(value, kind)
        array = array if array.ndim == 0 else np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            self._tensors.append(onnx().numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def __call__(self, operation: str, *inputs: Given, domain: str = "", name: str = "", **settings: Any) -> str:
        """Add an operation with one output, and return the output's name; arrays become constants."""
        return self.split(operation, 1, *inputs, domain=domain, names=[name] if name else (), **settings)[0]

    def split(
        self, operation: str, count: int, *inputs: Given, domain: str = "", names: Sequence[str] = (), **more: Any
    ) -> list[str]:
        """Add an operation with several outputs."""
        given = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        outputs = list(names) or [f"{operation.lower()}_{len(self._nodes)}_{i}" for i in range(count)]
        self._nodes.append(onnx().helper.make_node(operation, given, outputs, domain=domain, **more))
        return outputs

    def finish(self, inputs: Mapping[str, Sequence[Any]], outputs: Mapping[str, tuple[str, Sequence[Any]]]) -> Any:
        """The graph as a model. All inputs are int64; an output is "FLOAT" or "INT64" and has a shape."""
        helper, kinds = onnx().helper, onnx().TensorProto
        graph = helper.make_graph(
            self._nodes,
            "otherwords",
            [helper.make_tensor_value_info(name, kinds.INT64, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, getattr(kinds, k), shape) for name, (k, shape) in outputs.items()],
            self._tensors,
        )
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=IR, producer_name="otherwords")


def onnx() -> Any:
    """The onnx library, or an error that names the extra."""
    try:
        import onnx as library
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingExtra("export", "train") from error
    return library


def choose(graph: Graph, logits: str) -> None:
    """From the logits at the mask to the best tokens and the log-probability of `own`."""
    logp = graph("LogSoftmax", logits, axis=-1)
    graph.split("TopK", 2, logp, "k", names=("top_logp", "top_ids"), axis=-1)
    own = graph("GatherElements", logp, graph("Unsqueeze", "own", _ints([1])), axis=1)
    graph("Squeeze", own, _ints([1]), name="own_logp")


def _encode(graph: Graph, encoder: Encoder, types: bool, pick: Any) -> str:
    """The state of the one token that `pick` takes out of a layer's states: batch x width."""
    x = _embed(graph, encoder, types)
    for layer in encoder.layers[:-1]:
        weight = np.concatenate([part.weight for part in (layer.query, layer.key, layer.value)]).T
        bias = np.concatenate([part.bias for part in (layer.query, layer.key, layer.value)])
        mixed = graph("Attention", x, weight, bias, domain=FUSED, num_heads=encoder.heads)
        x = _rest(graph, layer, encoder.activation, mixed, x)
    last, picked = encoder.layers[-1], pick(x)
    query, key, value = (
        _times(graph, given, part) for given, part in ((picked, last.query), (x, last.key), (x, last.value))
    )
    bias = np.concatenate([part.bias for part in (last.query, last.key, last.value)])
    mixed = graph("MultiHeadAttention", query, key, value, bias, domain=FUSED, num_heads=encoder.heads)
    return graph("Squeeze", _rest(graph, last, encoder.activation, mixed, picked), _ints([1]))


def _embed(graph: Graph, encoder: Encoder, types: bool) -> str:
    x = graph("Gather", encoder.words, "input_ids")
    x = graph("Add", x, graph("Gather", encoder.positions, _positions(graph, encoder.pad)))
    if encoder.types is not None:
        x = graph("Add", x, graph("Gather", encoder.types, "token_type_ids") if types else encoder.types[0])
    x = _normalise(graph, x, encoder.norm)
    return _linear(graph, x, encoder.projection) if encoder.projection else x


def _positions(graph: Graph, pad: int | None) -> str:
    """0, 1, 2 ...; RoBERTa counts from behind its padding token's number, and padding has no position."""
    if pad is None:
        length = graph("Squeeze", graph("Shape", "input_ids", start=1, end=2))
        return graph("Range", np.int64(0), length, np.int64(1))
    real = graph("Cast", graph("Not", graph("Equal", "input_ids", np.int64(pad))), to=7)  # 7 is int64
    counted = graph("Mul", graph("CumSum", real, np.int64(1)), real)
    return graph("Add", counted, np.int64(pad))


def _rest(graph: Graph, layer: Layer, activation: str, mixed: str, x: str) -> str:
    """What follows attention in a layer."""
    x = _normalise(graph, graph("Add", _linear(graph, mixed, layer.output), x), layer.attention_norm)
    raised = _activate(graph, _times(graph, x, layer.up), layer.up.bias, activation)
    return _normalise(graph, graph("Add", _linear(graph, raised, layer.down), x), layer.norm)


def _outputs(graph: Graph, head: Head, state: str, name: str = "") -> str:
    x = _activate(graph, _times(graph, state, head.dense), head.dense.bias, head.activation)
    x = _normalise(graph, x, head.norm) if head.norm else x
    return graph(
        "Gemm", x, head.out.weight, head.out.bias, name=name, transB=1
    )  # transposed like the embedding it may be tied to


def _activate(graph: Graph, x: str, bias: Any, activation: str) -> str:
    if activation == "gelu":
        return graph("BiasGelu", x, bias, domain=FUSED)
    if activation == "tanh-gelu":
        return graph("FastGelu", x, bias, domain=FUSED)
    return graph({"relu": "Relu", "tanh": "Tanh"}[activation], graph("Add", x, bias))


def _times(graph: Graph, x: str, linear: Linear) -> str:
    return graph("MatMul", x, linear.weight.T)


def _linear(graph: Graph, x: str, linear: Linear) -> str:
    return graph("Add", _times(graph, x, linear), linear.bias)


def _normalise(graph: Graph, x: str, norm: Norm) -> str:
    return graph("LayerNormalization", x, norm.weight, norm.bias, epsilon=norm.epsilon, axis=-1)


def _ints(values: list[int]) -> Any:
    return np.array(values, np.int64)


# Traced graphs


def traced_classifier(model: Any, *, types: bool, who: str) -> Any:
    """A graph from `input_ids` (and `token_type_ids`) to `logits`."""
    tokens = _tokens(model, types)

    def logits(*given: Any) -> Any:
        return model(**dict(zip(tokens, given, strict=True))).logits

    return _trace(model, logits, tokens, {"logits": ("batch",)}, who)


def traced_masked_lm(model: Any, *, types: bool, who: str) -> Any:
    """A graph like that of `masked_lm`: only the masked token's state goes through the head."""
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
