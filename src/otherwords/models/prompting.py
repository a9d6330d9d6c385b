"""A language model as an ordinary model: template -> requests -> completions -> labels, whatever is asked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import BadInput, caller_level
from ..language_models.completion import Capabilities, LanguageModel
from ..problem import FIRST_TIME, Batch, Task
from .model import Model, Reply
from .readouts import AUTO, CHOICES, TEXT, Read, Readout, choose
from .repeating import local_ways, server_ways
from .shots import Shots, draw
from .templates import Template, read_template

#: Problems that are asked at a time, unless the caller says otherwise.
BATCH = 256


def prompted(
    model: LanguageModel,
    task: Task,
    *,
    template: str = "",
    readout: str = AUTO,
    shots: int = -1,
    shots_from: str | Sequence[str] = "",
    seed: int = 0,
    where: str = "",
    batch_size: int = BATCH,
    batch_invariant: bool | None = None,
) -> Model:
    """Make a model of a language model: problems are put as the `template` says, answers read as `readout` says.

    `template` is a preset or a TOML file ("": the preset of the task). So many `shots` (-1: as the template says) are
    drawn by `seed` from the data set `shots_from`, or from several. `where` names the model in errors. Of a model that
    runs here, `batch_invariant` says whether its numbers are the same whatever else it reads. What the caller knows
    besides (`by_driver`, `keep_replies`, ...) it adds with dataclasses.replace. The identity has that of the language
    model, the content of template and shots, the readout and what this needs of the model: sign no option of these by
    itself.
    """
    can = model.capabilities
    chosen = _accepted(read_template(template, task), can, where)
    chat = _is_chat(chosen, can.chat, can.plain, where)
    try:
        kind, needs = choose(model, readout, chosen, chat=chat)
        read = Readout(kind, model, chosen, chat)
        read.check()
    except BadInput as error:
        place = f"{where}, template {chosen.name}" if where else f"template {chosen.name}"
        raise BadInput(error.message, where=error.where or place, field=error.field, fix=error.fix) from None
    solved = draw(chosen, task, count=shots, source=shots_from, seed=seed)
    form = "chat" if chat else "plain"
    drawn = f"+{len(solved.slots)}@{solved.identity}" if solved.slots else ""
    draws = bool(chosen.parameters.temperature) and kind in (CHOICES, TEXT)
    forgets = bool(can.cold)
    ways = (
        server_ways(forgets) if batch_invariant is None else local_ways(batch_invariant, draws=draws, forgets=forgets)
    )
    asked = Questioner(read, chosen, chat, solved)
    return Model(
        asked,
        labels=tuple(task.labels),
        identity=f"{model.identity}:{chosen.name}@{chosen.identity}{drawn}:{form}:{kind}({needs})",
        batch_invariant=bool(batch_invariant) and not draws,
        batch_size=batch_size,
        by_original=bool(solved.slots),
        ways=ways,
        columns={"template": chosen.name},
        unread=asked.unread,
    )


def _is_chat(template: Template, chat: bool, plain: bool, where: str) -> bool:
    """Whether the model is asked in a chat."""
    wanted = template.form or ("chat" if chat else "plain")
    if not {"chat": chat, "plain": plain}[wanted]:
        other = "plain" if wanted == "chat" else "chat"
        message = f"the template {template.name} is {wanted}, and {where or 'the model'} can be asked {other} only"
        raise BadInput(message, where=template.where, field="form", fix=f"use a template whose form is {other}")
    return wanted == "chat"


def _accepted(template: Template, can: Capabilities, where: str) -> Template:
    """The template, without a temperature where the model refuses one: it then answers as it pleases."""
    given = template.parameters.temperature
    if can.temperature or given is None:
        return template
    message = f"{where or 'the model'} accepts no temperature, and answers at its own instead of {given:g}"
    warnings.warn(f"{message}: ask again (repeats) to see how far its answers vary", stacklevel=caller_level())
    return replace(template, parameters=replace(template.parameters, temperature=None))


@dataclass(frozen=True)
class Questioner:
    """Answers batches of problems by asking a language model."""

    readout: Readout
    template: Template
    chat: bool
    shots: Shots
    unread: list[str] = field(default_factory=list, compare=False)

    def __call__(self, batch: Batch) -> Reply:
        """Ask about each problem, and read the answers."""
        way = "" if batch.repeat.way == FIRST_TIME.way else batch.repeat.way
        columns = [batch[name] for name in batch.task.fields]
        problems = [dict(zip(batch.task.fields, texts, strict=True)) for texts in zip(*columns, strict=True)]
        first = zip(*(batch.originals[name] for name in batch.task.fields), strict=True)
        originals = [dict(zip(batch.task.fields, texts, strict=True)) for texts in first]
        requests = [
            self.template.request(one, self.shots.before(one, original), chat=self.chat)
            for one, original in zip(problems, originals, strict=True)
        ]
        if way or batch.repeat.number:
            requests = [replace(one, way=way, repeat=batch.repeat.number) for one in requests]
        answers = self.readout(requests)
        if not self.unread:
            self.unread.extend([one.reply for one in answers if one.label is None and one.storable][:1])
        return as_reply(answers, list(self.template.words), batch.task)


def as_reply(answers: Sequence[Read], order: Sequence[str], task: Task) -> Reply:
    """Answers as a model returns them: labels, probabilities where all labels' are known, and the mass of all."""
    labels = [one.label for one in answers]
    transient = None if all(one.storable for one in answers) else np.array([not one.storable for one in answers])
    if all(one.logs is None for one in answers):
        return Reply(labels, transient=transient)
    logs = np.array([one.logs or [np.nan] * len(order) for one in answers], np.float64)
    logs = logs[:, [list(order).index(label) for label in task.labels]]
    powers = np.exp(logs)
    mass = np.minimum(np.nansum(powers, axis=1), 1.0)
    mass[[one.logs is None for one in answers]] = np.nan
    with np.errstate(invalid="ignore"):
        p = np.exp(logs - np.where(np.isnan(logs), -np.inf, logs).max(axis=1, keepdims=True, initial=-np.inf))
        p = p / p.sum(axis=1, keepdims=True)
    p[np.isnan(logs).any(axis=1)] = np.nan
    return Reply(labels, p=p, mass=mass, transient=transient)
