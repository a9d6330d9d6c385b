"""Settings of a controlled paraphraser, one after the other: prefixes as they are, or qualities by their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import BadInput

#: The control tokens of QCPG (Bandel et al. 2022), in the order in which the released models expect them, right before
#: the text, as the model card of ibm/qcpg-sentences shows it; numbers are multiples of 5.
QCPG = {"semantic": "COND_SEMANTIC_SIM_{}", "lexical": "COND_LEXICAL_DIV_{}", "syntactic": "COND_SYNTACTIC_DIV_{}"}
#: As far as the control tokens of the released models go (captions: lexical up to 90; questions: 90, syntactic 75).
_MOST = {"semantic": 95, "lexical": 100, "syntactic": 80}
_SETTING = re.compile(r"\s*(semantic|lexical|syntactic)\s*=\s*(\d+)\s*(?:,|\s|$)")


def prefixes(sweep: Sequence[str], where: str) -> dict[str, str]:
    """What each setting puts before the text; a setting that names qualities becomes control tokens.

    >>> prefixes(["semantic=80 lexical=30 syntactic=50"], "paraphrase.v1")
    {'semantic=80 lexical=30 syntactic=50': 'COND_SEMANTIC_SIM_80 COND_LEXICAL_DIV_30 COND_SYNTACTIC_DIV_50'}
    >>> prefixes(["paraphrase: "], "paraphrase.v1")
    {'paraphrase: ': 'paraphrase: '}
    """
    if not isinstance(sweep, (list, tuple)) or not all(isinstance(one, str) for one in sweep):
        fix = 'give a list, as in ["semantic=80 lexical=30 syntactic=50", "semantic=80 lexical=60 syntactic=50"]'
        raise BadInput(f"found {sweep!r}", where=where, field="sweep", fix=fix)
    if len(set(sweep)) < len(sweep):
        raise BadInput("names a setting twice", where=where, field="sweep", fix="name it once")
    return {setting: _tokens(setting, where) if is_controlled(setting) else setting for setting in sweep}


def is_controlled(setting: str) -> bool:
    """Whether a setting names qualities, and is not a prefix as it stands."""
    return bool(_SETTING.match(setting))


def _tokens(setting: str, where: str) -> str:
    given = {name: int(number) for name, number in _SETTING.findall(setting)}
    wrong = [name for name in QCPG if name not in given or given[name] % 5 or given[name] > _MOST[name]]
    if wrong or _SETTING.sub("", setting).strip():
        most = ", ".join(f"{name} up to {_MOST[name]}" for name in QCPG)
        fix = f"give all three, as multiples of 5: {most}"
        raise BadInput(f"found {setting!r}", where=where, field="sweep", fix=fix)
    return " ".join(token.format(given[name]) for name, token in QCPG.items())
