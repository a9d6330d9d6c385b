"""Classifiers, multiple-choice and causal models of the Hugging Face ecosystem, by name or folder, with torch."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from ..errors import BadInput
from ..inference.hf_folders import CLASSIFIER, MULTIPLE_CHOICE, Folder, OpenModel, find, open_model
from ..inference.joining import JOIN_KEY, Join, LazyRows, Row
from ..inference.lean import LeanClassifier, lean_classifier
from ..inference.tokens import Beginning, Tokens, clean, lost_pairs, mark_lost, row_encoder
from ..inference.torch_device import compile_layers
from ..problem import TASKS, Batch, Task
from ..registry import models
from .model import Model, label_names, reply, texts_of
from .predictions import Floats
from .repeating import local_ways

#: How many pairs are asked at a time: seconds of work, so that the device is seldom idle.
PAIRS = {"cuda": 131_072, "cpu": 512}
#: The same for causal models, whose prompts are longer.
PROMPTS = {"cuda": 16_384, "cpu": 64}
FORWARDS = ("auto", "transformers", "compiled", "lean", "fused")
#: How the names of causal architectures end.
_CAUSAL = ("ForCausalLM", "LMHeadModel")
_UNSIGNED = (
    *("name", "device", "dtype", "tokens", "forward", "revision", "join"),
    *("template", "readout", "shots", "shots_from", "seed", "task"),
)
#: What to give instead of an option that needs the lean pass, where a model has none.
_WITHOUT_LEAN = {
    "forward": "give auto; the lean pass supports BERT and similar models; on a GPU it needs Triton and half precision",
    "dtype": "give dtype=bfloat16; float8 needs a model like BERT or RoBERTa, and Triton",
}


# `name` is not signed as given, since it may be a path of this machine: the identity has the model's name and its
# commit or content. It also has the dtype that was chosen, which `auto` leaves to the device, the forward pass that was
# asked for, and a join that was given: that of the folder is among its content. The device itself, like the batch,
# changes last bits only, which `batch_invariant` declares. Of a causal model, it has the content of template and shots.
@models("hf.v1", unsigned=_UNSIGNED, extra="hf")
def hf(
    name: str,
    max_length: int = 256,
    device: str = "auto",
    dtype: str = "auto",
    tokens: int = 0,
    forward: str = "auto",
    revision: str = "",
    join: str = "",
    template: str = "",
    readout: str = "auto",
    shots: int = -1,
    shots_from: str | list[str] = "",
    seed: int = 0,
    task: Any = None,
) -> Model:
    """Ask a model of the Hugging Face hub, or of a local folder: a classifier, a multiple-choice or a causal model.

    `join` says how the fields of a problem become one text or two: `premise + hypothesis | update` is how d-NLI is
    asked, `obs1 | option + obs2` how a-NLI, with `option` for each hypothesis in turn. By itself a model is asked as it
    was trained (`otherwords train`), or as suits the task. Texts of more than `max_length` tokens are cut, or of more
    than the model has positions for. `device` is auto (cuda where there is one), cpu or cuda:N; `dtype` is auto
    (bfloat16 on GPUs that have it), float32, bfloat16, float16 or float8. A batch holds up to `tokens` tokens (0: as
    suits the device). `revision` is a branch, tag or commit on the hub. Weights are safetensors only, and code that
    comes with a model is never run.

    `forward` says by whom the model is computed: transformers, its layers `compiled` by torch (seconds at first), or a
    `lean` pass of our own for the common encoders (BERT, RoBERTa, ELECTRA, DistilBERT and kin) that never pads; `fused`
    is the same with GELU inside the matrix products, in its tanh form, which is the fastest. By itself it is fused on a
    GPU in half precision and lean on a CPU, where there is such a pass. `dtype=float8` multiplies numbers of 8 bits in
    the fused pass, on GPUs that can: a third more pairs a second, and more other labels (docs/models.md has figures).

    A causal model is asked by a `template`, with so many `shots` drawn by `seed` from `shots_from`, and its answers are
    read by a `readout`, as those of any language model. Its prompts are never cut: one that is too long is refused.
    """
    folder = find(name, revision)
    classifying = {"max_length": max_length, "forward": forward, "join": join}
    prompting = {"template": template, "readout": readout, "shots": shots, "shots_from": shots_from, "seed": seed}
    if is_causal(folder):
        _refuse_given(folder, classifying, "a causal model")
        place = {"device": device, "dtype": dtype, "tokens": tokens}
        return _causal(folder, task or TASKS["nli"], place, prompting)
    _refuse_given(folder, prompting, "a classifier")
    way, choice = _join(folder, join), is_choice(folder)
    auto = MULTIPLE_CHOICE if choice else CLASSIFIER
    opened = open_model(folder, auto, max_length=max_length, device=device, dtype=dtype, tokens=tokens, fast=False)
    labels = () if choice else label_names(opened.model.config.id2label, f"{folder.who}: config.json")
    chosen, compute = _forward(opened, forward)
    packed = chosen in ("lean", "fused")
    scheduler = opened.scheduler(_encoder(opened.tokenizer, opened.length), compute, packed=packed)

    # On a GPU the lean pass has other last bits than transformers', and so some other labels, whoever chose it.
    plain = forward == "auto" and (chosen == "transformers" or opened.device.type == "cpu")
    return Model(
        partial(reply, scheduler, labels, folder.who, join=way, choice=choice),
        labels,
        opened.identity + ("" if plain else f":{chosen}") + (f":{way.replace(' ', '')}" if join else ""),
        batch_invariant=False,  # the choice of kernels depends on the batch, and with it the last bits
        batch_size=PAIRS.get(opened.device.type, PAIRS["cpu"]),
        max_length=opened.length,
        positions=opened.room,
        uses_all_cores=True,
        ways=local_ways(batch_invariant=False),
        embed=partial(_first_tokens, opened, way, choice),
    )


def _first_tokens(opened: OpenModel, join: str, choice: bool, batch: Batch) -> Floats:
    """The last layer's first token of each problem; in a choice, those of all options side by side."""
    way, options = texts_of(batch.task, join, opened.who, choice=choice)
    encode = _encoder(opened.tokenizer, opened.length)
    (states,), _ = opened.scheduler(encode, partial(_first_states, opened.model))(LazyRows(batch, way, options))
    return np.asarray(states, np.float64).reshape(len(batch), -1)


def _first_states(classifier: Any, **inputs: Any) -> tuple[Any, ...]:
    states, mask = classifier.base_model(**inputs)[0], inputs.get("attention_mask")
    first = 0 if mask is None else mask.long().argmax(dim=1)  # texts may be padded on the left
    return (states[range(len(states)), first].float(),)


def is_choice(folder: Folder) -> bool:
    """Whether a folder has a model that scores the options of a choice."""
    return any(str(name).endswith("ForMultipleChoice") for name in folder.read_config().get("architectures") or ())


def is_causal(folder: Folder) -> bool:
    """Whether a folder has a causal language model, and no head for labels."""
    config = folder.read_config()
    heads = [str(name) for name in config.get("architectures") or ()]
    return not config.get("is_encoder_decoder") and bool(heads) and all(head.endswith(_CAUSAL) for head in heads)


def _causal(folder: Folder, task: Task, place: dict[str, Any], prompting: dict[str, Any]) -> Model:
    """A causal model as a classifier: what it is asked and how it is read is as for any language model."""
    from ..language_models.causal_hf import open_causal
    from .prompting import prompted

    causal = open_causal(folder, **place)
    size = PROMPTS.get(causal.opened.device.type, PROMPTS["cpu"])
    model = prompted(causal, task, **prompting, where=folder.who, batch_size=size, batch_invariant=False)
    return replace(model, uses_all_cores=True)


def _refuse_given(folder: Folder, options: dict[str, Any], kind: str) -> None:
    """Raise where options were given that a model of this kind does not have."""
    defaults = signature(hf).parameters
    if given := [name for name, value in options.items() if value != defaults[name].default]:
        head = next(iter(folder.read_config().get("architectures") or ["its architecture"]))
        message = f"{head} is {kind}, which has no option {given[0]}"
        raise BadInput(message, where=folder.who, field=given[0], fix="leave the option out")


def _join(folder: Folder, given: str) -> str:
    """The join as given, or as the model was trained with; "" where neither says."""
    if given:
        return str(Join.read(given, folder.who))
    kept = folder.read_config().get(JOIN_KEY, "")
    if not isinstance(kept, str):
        raise BadInput(f"found {kept!r}", where=f"{folder.who}: config.json", field=JOIN_KEY, fix="write a text")
    return str(Join.read(kept, f"{folder.who}: config.json")) if kept else ""


def _forward(opened: OpenModel, wanted: str) -> tuple[str, Callable[..., Any]]:
    """The name of the forward pass, and the function; the lean passes take packed rows."""
    who, classifier = opened.who, opened.model
    if wanted not in FORWARDS:
        raise BadInput(f"found {wanted!r}", where=who, field="forward", fix=f"give one of {', '.join(FORWARDS)}")
    if opened.float8 and wanted not in ("auto", "fused"):
        message = f"found {wanted!r} with dtype=float8, which the fused pass alone computes"
        raise BadInput(message, where=who, field="forward", fix="give auto or fused, or another dtype")
    for name in _lean_forms(opened, wanted):
        lean = lean_classifier(classifier, fused=name == "fused", float8=opened.float8)
        if lean is not None:
            return name, partial(_logits, lean)
    if wanted in ("lean", "fused") or opened.float8:
        field, message = "dtype" if opened.float8 else "forward", f"{type(classifier).__name__} has no lean pass here"
        raise BadInput(message, where=who, field=field, fix=_WITHOUT_LEAN[field])
    if wanted == "compiled":
        compile_layers(classifier)
    chosen = "compiled" if wanted == "compiled" else "transformers"
    return chosen, partial(_one_option if is_choice(opened.folder) else _plain, classifier)


def _lean_forms(opened: OpenModel, wanted: str) -> tuple[str, ...]:
    """The passes of our own to try, the fastest first."""
    if wanted == "auto":
        on_gpu = ("fused",) if opened.float8 else ("fused", "lean")
        return ("lean",) if opened.device.type == "cpu" else on_gpu
    return (wanted,) if wanted in ("lean", "fused") else ()


def _plain(classifier: Any, **inputs: Any) -> tuple[Any, ...]:
    return (classifier(**inputs).logits.float(),)


def _one_option(model: Any, **inputs: Any) -> tuple[Any, ...]:
    """The scores of rows that are options of any problems: each as a choice of one, since options need no company."""
    return (model(**{name: value.unsqueeze(1) for name, value in inputs.items()}).logits.float(),)


def _logits(lean: LeanClassifier, **inputs: Any) -> tuple[Any, ...]:
    return (lean(**inputs).float(),)


def _encoder(tokenizer: Any, max_length: int) -> Callable[[Sequence[Row]], Tokens]:
    types = "token_type_ids" in tokenizer.model_input_names
    if tokenizer.is_fast:
        return row_encoder(tokenizer.backend_tokenizer, max_length, types=types)

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    start = Beginning(count, max_length)

    def encode(texts: Sequence[Row]) -> Tokens:
        starts = [start.row(row) if tokenizer.truncation_side == "right" else row for row in texts]
        rows = tokenizer(*_sides(starts), truncation="longest_first", max_length=max_length, verbose=False)
        whole = tokenizer(*_sides(starts), verbose=False)
        cut = [len(full) > len(row) for full, row in zip(whole["input_ids"], rows["input_ids"], strict=True)]
        tokens = Tokens.of(rows["input_ids"], cut, types=rows["token_type_ids"] if types else None)
        return mark_lost(tokens, lost_pairs(texts, starts))

    return encode


def _sides(texts: Sequence[Row]) -> list[list[str]]:
    return [list(map(clean, side)) for side in zip(*texts, strict=True)]
