"""Models as judges of entailment: whatever its labels are called, one of them must mean entailment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import BadInput, LabelOrder
from ..models.answering import ask, sing
from ..models.cache import Cache, Cached
from ..models.canary import questions
from ..models.model import Answerer, as_model
from ..problem import TASKS, Task, plain
from ..registry import models, split_name
from .changed import Pair
from .entailing import ENTAILMENT, entailment_of


def load_judge(spec: str, label_map: str = "") -> Answerer:
    """Make a model ready to say whether one text entails another.

    It may have two labels or three, or more: what is not entailment is kept under the model's own name, and told in
    the reason of a drop. `label_map` says what odd names mean, as in "LABEL_0=entailment,LABEL_1=neutral".

    >>> load_judge("scripted(otherwise=entailment)").task.labels
    ('entailment', 'neutral', 'contradiction')
    """
    name, spec = split_name(spec)
    meaning = _read_map(label_map)
    bound = models.make(spec, task=TASKS["nli"])
    model = as_model(bound.function)
    task = _task(name, model.labels, meaning)
    told = f"[{','.join(f'{mine}={theirs}' for mine, theirs in sorted(meaning.items()))}]" if meaning else ""
    return Answerer(name, bound.signature + told, model, task, meaning)


def asking(model: Answerer, cache: Cache, pairs: Sequence[Pair], batch_size: int = 0) -> dict[Pair, Cached]:
    """Ask a model whether the first text of each pair entails the second."""
    premise, hypothesis = model.task.fields
    columns = {premise: [one for one, _ in pairs], hypothesis: [other for _, other in pairs]}
    return dict(zip(pairs, ask(columns, model, cache, batch_size), strict=True))


def sing_judge(model: Answerer, cache: Cache) -> None:
    """Run the canary on a judge: with labels in another order it would accept next to nothing, and not say why."""
    try:
        sing(model if questions(model.task) else _twin(model), cache)
    except LabelOrder as error:
        raise LabelOrder(f"{error}; of a judge, these are its options label_map and canary=false") from error


def _twin(model: Answerer) -> Answerer:
    """A judge whose labels are no task's, as one that tells what is entailed from what is not."""
    yes, rte = model.task.labels[entailment_of(model.task)], TASKS["rte"]
    own = zip(model.model.labels, model.targets, strict=True)
    meaning = {label: rte.labels[0] if target == yes else rte.labels[1] for label, target in own}
    return Answerer(model.name, f"{model.signature}[twin]", model.model, rte, meaning)


def _read_map(text: str) -> dict[str, str]:
    """Read "MODEL'S=MEANING,..." by the rules by which labels are compared."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if wrong := [name for name, mark, meaning in parts if not (name.strip() and mark and meaning.strip())]:
        fix = 'write label_map="LABEL_0=entailment,LABEL_1=neutral,LABEL_2=contradiction"'
        raise BadInput(f"cannot read {wrong[0]!r}", where="mutual-entailment", field="label_map", fix=fix)
    return {plain(name): plain(meaning) for name, _, meaning in parts}


def _task(name: str, own: Sequence[str], meaning: Mapping[str, str]) -> Task:
    """What a judge is asked: premise and hypothesis, to be answered in its own labels."""
    nli = TASKS["nli"]
    labels = list(dict.fromkeys(meaning.get(plain(label), plain(label)) for label in own)) or list(nli.labels)
    where, known = "mutual-entailment", ", ".join(own)
    if own and (strange := [label for label in meaning if label not in map(plain, own)]):
        found = f"{name} does not answer {', '.join(strange)}"
        raise BadInput(found, where=where, field="label_map", fix=f"its labels are {known}")
    if len(labels) < 2 or sum(label in ENTAILMENT for label in labels) != 1:
        found = f"{name} answers {known}: which of them means entailment?"
        fix = f'say so, as in label_map="{own[0]}=entailment"' if own else "name a model of natural language inference"
        raise BadInput(found, where=where, field="judge", fix=fix)
    same = [task for task in (nli, TASKS["rte"]) if set(task.labels) == set(labels)]
    return same[0] if same else Task("judging", nli.fields, tuple(labels), nli.targets)
