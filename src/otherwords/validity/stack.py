"""One verdict from all checks: what is empty or exchanges roles is dropped, the rest is weighed together.

Label safety alone drops one in six paraphrases that people accept, and a judge every second: free paraphrases change
words that carry labels, and models of entailment are made for other texts. Together, and compared with how much of a
text was kept, they tell a broken text from one in other words: a broken one changes little else.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from ..grammar.parsing import Parser, ParseTree, parser, why_unreadable
from ..grammar.roles import roles
from ..models.predictions import Cached
from ..problem import Bucket, Verdict, changed_fields
from ..registry import checks
from .changes import Changes, changes
from .checking import Check, Pair, too_long, warn_too_long
from .label_safety import read_text, violations
from .mutual_entailment import EntailmentJudge, entailment_of, load_judge
from .roles import role_changes, warn_unparsed
from .surface import surface

#: Each change counts at most so often.
_MOST = 2
#: Probabilities nearer to 0 or 1 are taken for this.
_EDGE = 1e-3
#: A logistic model of "says the same", fitted by scripts/fit_stack.py on what scripts/stack_pairs.py makes: broken
#: SNLI and MNLI sentences (training part), broken and sound paraphrases of ParaNLU's d-SNLI. Each change has a weight
#: of its own and one times the share of words that stand in the same order (`frame`). It is shifted so that 0.5 drops
#: 8 % of the accepted paraphrases.
WITH_JUDGE: Mapping[str, tuple[float, float]] = {
    "constant": (3.942, -1.274),
    "denied": (-1.589, -3.661),
    "opposed": (-0.919, -1.606),
    "quantifier_became": (-3.490, -4.046),
    "quantifier_moved": (-0.457, -5.297),
    "number_became": (-3.206, -2.917),
    "number_moved": (-2.123, -0.130),
    "names": (-1.180, -1.456),
    "nouns": (-0.171, -2.336),
    "others": (-0.337, 2.063),
    "replaced": (2.408, -5.189),
    "kept": (-0.207, -2.149),
    "least entailment": (0.192, 0.245),
    "most entailment": (0.251, -0.249),
    "most contradiction": (0.178, -0.372),
    "least contradiction": (-0.356, 0.389),
    "replaced, entailment": (0.080, -0.165),
}
#: The same without a judge.
WITHOUT_JUDGE: Mapping[str, tuple[float, float]] = {
    "constant": (4.311, -1.631),
    "denied": (-1.749, -5.203),
    "opposed": (-1.744, -2.783),
    "quantifier_became": (-2.868, -4.405),
    "quantifier_moved": (0.063, -6.064),
    "number_became": (-3.697, -4.370),
    "number_moved": (-1.272, -1.704),
    "names": (-1.420, -1.927),
    "nouns": (-0.143, -3.241),
    "others": (-0.317, 1.927),
    "replaced": (2.992, -6.309),
    "kept": (-0.375, 0.179),
}


@dataclass(frozen=True)
class Evidence:
    """What is known of one changed field: exchanged roles, changes in numbers and in words, what the judge finds."""

    exchanged: Sequence[str]
    changes: Changes
    lines: Sequence[str]
    entailment: Sequence[float] = field(default=())
    contradiction: Sequence[float] = field(default=())


@checks(
    "stack.v1",
    unsigned=("judge", "canary"),
    language="en",
    extra="spacy",
    measured="drops 100 % of changed negations, 97 % of numbers, 100 % of quantifiers, 97 % of names or nouns, 89 % of "
    "exchanged roles (70 each, by somebody who did not know its rules), and 8-9 % of paraphrases that people accepted; "
    "without a judge 99, 96, 99, 79, 89 and 8-10 %; in a paraphrase that is broken 83, 90, 59, 43 and 15 %",
)
def stack(judge: str = "nli-small", least: float = 0.5, pipeline: str = "", canary: bool = True) -> Any:
    """Drop variants that probably do not say the same, from all that checks find: one verdict for each.

    Dropped is what `surface` drops, what exchanges roles, and what has a probability below `least` by its changes of
    negations, quantifiers, numbers, opposites, names and other words, by how much of the text was kept, and by what
    `judge` finds (a model of entailment; "" for none). The score is that probability. A text that cannot be parsed gets
    no verdict, and a warning counts those; a changed field that is longer than the judge reads is dropped. `pipeline`
    names a spaCy pipeline for English with a parser. Unless `canary` is false, a judge must first answer questions with
    well-known answers.
    """
    if not 0 <= least <= 1:
        raise BadInput(f"found {least!r}", where="stack", field="least", fix="give a probability from 0 to 1")
    parse, on_surface = parser(pipeline), surface()
    asked = EntailmentJudge(load_judge(judge), canary) if judge else None

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        pairs = [changed_fields(bucket.problem, one) for bucket in buckets for one in bucket.variants]
        known = evidence(list(dict.fromkeys(pair for some in pairs for pair in some.values())), parse, asked)
        verdicts = [
            first if first.keep is False else _verdict([known[pair] for pair in some.values()], least)
            for first, some in zip(on_surface(buckets), pairs, strict=True)
        ]
        warn_unparsed("stack", verdicts)
        warn_too_long("stack", "the judge", verdicts)
        return iter(verdicts)

    return Check(check, identity="+".join([parse.identity, *([asked.model.signature] if asked else [])]))


def evidence(pairs: Sequence[Pair], parse: Parser, judge: EntailmentJudge | None) -> dict[Pair, Evidence | str | None]:
    """What is known of each pair of texts; a reason to drop it, or None where one of them cannot be parsed."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair if text and not why_unreadable(text)))
    trees = {text: ParseTree(text, nodes) for text, nodes in zip(texts, parse(texts), strict=True) if nodes}
    readable = [pair for pair in pairs if pair[0] in trees and pair[1] in trees]
    answers = judge([one for pair in readable for one in (pair, pair[::-1])]) if judge and readable else {}
    read, placed = {text: read_text(text) for text in trees}, {text: roles(tree) for text, tree in trees.items()}
    known: dict[Pair, Evidence | str | None] = dict.fromkeys(pairs)
    for old, new in readable:
        both = [answers[old, new], answers[new, old]] if judge else []
        if any(one.cut for one in both):
            known[old, new] = too_long("judge")
            continue
        known[old, new] = Evidence(
            role_changes(placed[old], placed[new]),
            changes(read[old], read[new], trees[old], trees[new]),
            violations(read[old], read[new], ("negation", "quantifier", "number"), antonyms=True),
            *(zip(*(_probabilities(one, judge) for one in both), strict=True) if judge else ()),
        )
    return known


def probability(found: Evidence) -> float:
    """How likely it is that both texts say the same: 0 where roles were exchanged.

    >>> same = Changes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0, 1.0)
    >>> probability(Evidence([], same, [])) > 0.9 > 0.1 > probability(Evidence([], same._replace(denied=1), []))
    True
    """
    if found.exchanged:
        return 0.0
    weights = WITH_JUDGE if found.entailment else WITHOUT_JUDGE
    frame = found.changes.frame
    total = sum(
        value * (weights[name][0] + weights[name][1] * frame) for name, value in terms(found).items() if name in weights
    )
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def terms(found: Evidence) -> dict[str, float]:
    """The numbers that are weighed, by name."""
    own = {name: float(min(_MOST, value)) for name, value in found.changes._asdict().items() if name != "frame"}
    own["constant"] = 1.0
    if found.entailment:
        own["least entailment"], own["most entailment"] = (_logit(some(found.entailment)) for some in (min, max))
        own["most contradiction"], own["least contradiction"] = (
            _logit(some(found.contradiction)) for some in (max, min)
        )
        own["replaced, entailment"] = own["replaced"] * own["least entailment"]
    return own


def _verdict(found: Sequence[Evidence | str | None], least: float) -> Verdict:
    if reasons := [one for one in found if isinstance(one, str)]:
        return Verdict(False, reasons[0])
    judged = [one for one in found if isinstance(one, Evidence)]
    chances = [probability(one) for one in judged]
    score = min(chances, default=1.0)
    if judged and score < least:
        worst = judged[chances.index(score)]
        return Verdict(False, "; ".join(worst.exchanged) or f"probability {score:.2f}: {_why(worst)}", score)
    return Verdict(None) if None in found else Verdict(True, "", score)


def _why(found: Evidence) -> str:
    """What speaks against a variant, in words."""
    if found.lines:
        return "; ".join(found.lines)
    counted = {"names": found.changes.names, "nouns": found.changes.nouns, "words": found.changes.others}
    other = [f"other {name}" for name, count in counted.items() if count]
    judged = [f"entailment {min(found.entailment):.2f}"] if found.entailment else []
    return ", ".join([*other, *judged]) or "much was changed"


def _probabilities(answer: Cached, judge: EntailmentJudge) -> tuple[float, float]:
    """Those of entailment and of contradiction, or of no entailment; a bare answer counts as nearly certain."""
    labels, yes = judge.model.task.labels, entailment_of(judge.model.task)
    no = next((at for at, label in enumerate(labels) if label == "contradiction"), None)
    p = answer.p or [0.98 if at == answer.pred else 0.02 / (len(labels) - 1) for at in range(len(labels))]
    return p[yes], p[no] if no is not None else 1 - p[yes]


def _logit(p: float) -> float:
    p = min(1 - _EDGE, max(_EDGE, p))
    return math.log(p / (1 - p))
