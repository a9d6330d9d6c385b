"""A paragraph for one's own methods section, the works it cites as BibTeX, and the commands that repeat a run."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ..problem import Score, Task
from ..storage.run_folder import BY_WHOM
from ..storage.specs import short_names, to_toml
from . import numbers
from .substitutions import FEWEST

#: What is cited for metrics, kinds of intervals and generators, by their names.
_METRICS = {
    **dict.fromkeys(("p_c", "p_c_distinct", "pvap", "pvap_distinct", "accuracy_buckets"), "srikanth2024often"),
    **dict.fromkeys(("pa", "pa_curve"), "zgreaban2025merge"),
    **dict.fromkeys(("r_r", "r_s", "ks", "ks_split", "ks_labels"), "arakelyan2024semantic"),
    "contrast_consistency": "gardner2020evaluating", "fleiss_kappa": "fleiss1971measuring",
    "flip_rate": "verma2023parte",
}  # fmt: skip
_INTERVALS = {
    "wilson": "wilson1927probable", "mover": "zou2008construction", "bca": "efron1987better",
    "anytime": "waudbysmith2024estimating",
}  # fmt: skip
_GENERATORS = {
    "masked-lm": "zgreaban2025merge", "wordnet": "miller1995wordnet", "wordnet-ie": "salvatore2023resampling",
    "structural": "salvatore2023resampling",
}  # fmt: skip
#: Settings that a study has even where they are empty: their defaults are not.
_KEPT = ("check", "cache", "canary")


@dataclass(frozen=True)
class Methods:
    """The paragraph, the BibTeX entries of what it cites, and how to repeat the run: its study and the commands.

    Without a study, there are no commands. `in_memory` if a table of the data has no name to read it by.
    """

    sentences: tuple[str, ...]
    bibtex: tuple[str, ...]
    study: str
    commands: tuple[str, ...]
    in_memory: bool


def methods(
    manifest: Mapping[str, Any], scores: Sequence[Score], task: Task, models: Sequence[str], shown: Iterable[str] = ()
) -> Methods:
    """What was done, from what the manifest and the scores say; `shown` are the names of further tables."""
    cited: dict[str, None] = {}
    parts = [
        *_design(manifest, task, models, cited),
        *_measures(scores, cited),
        *_intervals(scores, task, cited),
        *_further(set(shown), cited),
        _signed(manifest),
    ]
    study = manifest.get("study")
    own = study if isinstance(study, Mapping) and study.get("data") and study.get("models") else {}
    in_memory = any(str(one).startswith("memory#") for one in own.get("data") or ())
    entries = tuple(_entries()[key] for key in cited)
    commands = tuple(_commands(manifest, models)) if own else ()
    return Methods(tuple(parts), entries, _study(own), commands, in_memory)


def _cite(cited: dict[str, None], *keys: str) -> str:
    """A citation, which is noted; nothing for no keys."""
    found = [key for key in dict.fromkeys(keys) if key]
    cited |= dict.fromkeys(found)
    return f" ({'; '.join(label(key) for key in found)})" if found else ""


# The sentences


def _design(manifest: Mapping[str, Any], task: Task, models: Sequence[str], cited: dict[str, None]) -> Iterable[str]:
    signatures = manifest.get("signatures")
    signed: Mapping[str, Any] = signatures if isinstance(signatures, Mapping) else {}
    generators, checks = ([str(one) for one in signed.get(kind) or ()] for kind in ("vary", "check"))
    made = f"made by {_join(list(short_names(generators).values()))}" if generators else "that came with the data"
    sources = _cite(cited, *(_GENERATORS.get(_plugin(one), "") for one in generators))
    asked = _join([f"“{model}”" for model in models])
    yield f"Problems of the task {task.name} were put to {asked}, in their own words and in rewordings {made}{sources}."
    if checks:
        named = _join(list(short_names(checks).values()))
        yield f"Rewordings that did not pass {named} were left out before any model saw them."


def _plugin(signature: str) -> str:
    """The name of a plug-in in its signature.

    >>> _plugin("syn=wordnet.v1(n=3)"), _plugin("contractions.v1(field=hypothesis)")
    ('wordnet', 'contractions')
    """
    return re.split(r"\.v\d", signature.partition("(")[0].rpartition("=")[2])[0]


def _measures(scores: Sequence[Score], cited: dict[str, None]) -> Iterable[str]:
    names = dict.fromkeys(re.split("[(:]", one.metric)[0] for one in scores)
    parts = [f"{_lower(numbers.meaning(name)[0])}{_cite(cited, _METRICS.get(name, ''))}" for name in names]
    if parts:
        yield f"Reported are: {'; '.join(parts)}."


def _intervals(scores: Sequence[Score], task: Task, cited: dict[str, None]) -> Iterable[str]:
    kinds = dict.fromkeys(one.interval for one in scores if one.interval)
    if not kinds:
        return
    names = [f"{numbers.KINDS.get(kind, (kind,))[0]}{_cite(cited, _INTERVALS.get(kind, ''))}" for kind in kinds]
    level = numbers.confidence(scores)
    shared = " and ".join(task.cluster)
    over = f"clusters of problems that share their {shared}" if shared else "clusters"
    units = "problems with all their rewordings" if numbers.resampled(scores) == "bucket" else over
    share = f" ({level} %)" if level else ""
    yield f"Intervals{share} are {_join(names)}, and take {units} for independent of each other."


def _further(shown: set[str], cited: dict[str, None]) -> Iterable[str]:
    if "comparison" in shown:
        yield (
            "Models were compared on the answers that both gave: differences are paired, p is the larger of that of "
            "swapping whole clusters between the models and that of the interval, and it is adjusted for all metrics "
            f"of a pair by the largest statistic{_cite(cited, 'westfall1993resampling')}."
        )
    if "substitutions" in shown:
        yield (
            f"Substitutions of words that occur in at least {FEWEST} clusters are in the order of their shares of "
            "changed answers, shrunk towards the mean of all of them by empirical "
            f"Bayes{_cite(cited, 'christiansen1997hierarchical')}."
        )


def _signed(manifest: Mapping[str, Any]) -> str:
    version, seed = manifest.get("otherwords"), manifest.get("seed")
    tool = f"otherwords {version}" if version else "otherwords"
    drawn = f", with seed {seed}" if seed is not None else ""
    return (
        f"All numbers were computed with {tool}{drawn}; the signatures name every method with its version and options."
    )


def _lower(heading: str) -> str:
    """A heading inside a sentence: abbreviations keep their capitals.

    >>> _lower("Flip rate"), _lower("P_C")
    ('flip rate', 'P_C')
    """
    return heading if heading[1:2].isupper() or "_" in heading else heading[:1].lower() + heading[1:]


def _join(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


# References


@cache
def _entries() -> dict[str, str]:
    """The entries of references.bib by their keys."""
    text = (resources.files(__package__) / "references.bib").read_text(encoding="utf-8")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in text.strip().split("\n\n")}


def label(key: str) -> str:
    r"""How an entry is cited in a sentence.

    >>> [label(key) for key in ("wilson1927probable", "zou2008construction", "verma2023parte", "gardner2020evaluating")]
    ['Wilson 1927', 'Zou and Donner 2008', 'Verma et al. 2023', 'Gardner et al. 2020']
    """
    entry = _entries()[key]
    fields = dict(re.findall(r"^\s+(\w+) = \{(.*?)\},?$", entry, re.M))
    authors = [re.sub(r"\{\\u a\}", "ă", name.partition(",")[0]) for name in fields["author"].split(" and ")]
    shown = authors[0] + (f" and {authors[1]}" if len(authors) == 2 and authors[1] != "others" else "")
    return f"{shown}{' et al.' if len(authors) > 2 or authors[-1] == 'others' else ''} {fields['year']}"


# Commands


def _study(study: Mapping[str, Any]) -> str:
    """The study as TOML, without settings that are as usual or that say by whom the work is done."""
    shown = {name: value for name, value in study.items() if name not in BY_WHOM}
    own = {name: value for name, value in shown.items() if name in _KEPT or value not in ("", [], {}, None, 0, False)}
    return to_toml(own) if own else ""


def _commands(manifest: Mapping[str, Any], models: Sequence[str]) -> Iterable[str]:
    version = manifest.get("otherwords")
    yield f"pip install {shlex.quote(f'otherwords=={version}' if version else 'otherwords')}"
    yield "otherwords run study.toml -o again"
    yield "otherwords report again --tables exhibits"
    if len(models) > 1:
        yield f"otherwords compare again --model {shlex.quote(models[0])} --model {shlex.quote(models[1])}"
