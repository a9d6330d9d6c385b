"""What a paraphraser is told: a prompt with a place for the text, and one for the rest of the problem if it sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import BadInput
from ..problem import Problem

#: Arakelyan et al. (2024), section 3.
PLAIN = "Rephrase the following sentence while preserving its original meaning: {text}"
#: Ours.
IN_CONTEXT = "{context}\nRephrase the following sentence while preserving its original meaning in this context: {text}"
#: For models that take the sentence itself, behind control tokens or alone.
BARE = "{text}"
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """A template: {text} is the sentence to rewrite, {context} all other fields, {premise} and its like one field.

    >>> from otherwords.problem import TASKS
    >>> p = Problem("p1", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "neutral")
    >>> Prompt("{premise} So {text}").fill(p, "hypothesis")
    'It rains. So It is wet.'
    """

    template: str
    where: str = "paraphrase.v1"

    def fill(self, problem: Problem, field: str, prefix: str = "") -> str:
        """The prompt for one field of a problem; `prefix` comes before the text."""
        text = problem.text[field] or ""
        others = [problem.text[name] for name in problem.task.fields if name != field and problem.text[name]]
        values = {**problem.text, "context": "\n".join(others), "text": prefix + text}

        def value(match: re.Match[str]) -> str:
            if match[1] not in values:
                known = ", ".join(f"{{{name}}}" for name in ("text", "context", *problem.task.fields))
                raise BadInput(f"no place {match[0]}", where=self.where, field="prompt", fix=f"use {known}")
            return str(values[match[1]] or "")

        return _PLACE.sub(value, self.template)


def choose_prompt(prompt: str, context: bool, bare: bool, where: str) -> Prompt:
    """The prompt that is given, or the one for the purpose; with `bare`, that is the text alone."""
    template = prompt or (IN_CONTEXT if context else BARE if bare else PLAIN)
    places = set(_PLACE.findall(template))
    if "text" not in places:
        fix = 'write {text} where the sentence goes, as in "Say it in other words: {text}"'
        raise BadInput(f"found {template!r}", where=where, field="prompt", fix=fix)
    if context and places == {"text"}:
        fix = "give the prompt a place for the rest of the problem: {context}, or {premise} and its like"
        raise BadInput("is shown to no one by this prompt", where=where, field="context", fix=fix)
    if not context and places != {"text"}:
        fix = "set context=true to show it the rest of the problem"
        raise BadInput(f"has a place for {sorted(places - {'text'})[0]}", where=where, field="prompt", fix=fix)
    return Prompt(template, where)
