"""One verdict from all checks: what is empty or exchanges roles is dropped, the rest is weighed together.

Label safety alone drops one in six paraphrases that people accept, and a judge every second: free paraphrases change
words that carry labels, and models of entailment are made for other texts. Together, and compared with how much of a
text was kept, they tell a broken text from one in other words: a broken one changes little else. Two who stand in each
other's places around other words are a suspicion, which counts more where the judge of equivalence shares it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from ..errors import BadInput
from ..grammar.exchanges import crossed
from ..grammar.parsing import Parser, ParseTree, parser, why_unreadable
from ..grammar.roles import roles
from ..grammar.sides import Crossing
from ..models.predictions import Cached
from ..problem import Bucket, Verdict, changed_fields
from ..registry import checks
from .changes import Changes, changes
from .checking import Check, Pair, too_long, warn_too_long
from .contradictions import contradictions, with_exchanges
from .equivalence import load_judge as load_equivalence
from .label_safety import read_text, violations
from .mutual_entailment import EntailmentJudge, entailment_of, load_judge
from .roles import role_changes, warn_unparsed
from .surface import surface

#: Each change counts at most so often.
_MOST = 2
#: Probabilities nearer to 0 or 1 are taken for this.
_EDGE = 1e-3
#: From this probability on, mpnet is asked about the original with two phrases exchanged, too: its logit that this says
#: the same as the variant must be more by so much.
_COMPARED, _MORE = 0.05, 0.5
#: A logistic model of "says the same", fitted by scripts/fit_stack.py on what scripts/stack_pairs.py makes: broken
#: SNLI and MNLI sentences (training part), sound paraphrases of half of ParaNLU, and texts that were written to be
#: broken or sound, of these only such as no judge was trained on. Each term has a weight of its own and one times the
#: share of words that stand in the same order (`frame`). It is shifted so that 0.5 drops 9.5 % of the accepted
#: paraphrases of that half. Without a judge:
WITHOUT_JUDGE: Mapping[str, tuple[float, float]] = {
    "constant": (2.359, 0.867),
    "denied": (1.202, -6.616),
    "opposed": (-1.034, -0.297),
    "quantifier_became": (-1.824, -2.420),
    "quantifier_moved": (0.343, -5.016),
    "number_became": (0.244, -6.096),
    "number_moved": (-0.667, -2.632),
    "names": (-3.833, -3.257),
    "nouns": (-0.542, -1.909),
    "others": (-0.940, 1.339),
    "replaced": (2.477, -4.980),
    "kept": (-0.604, 0.545),
    "turned": (-1.498, -0.057),
    "crossed": (-2.094, 1.456),
    "facing": (-3.069, -1.093),
}
#: With a judge of entailment and the small judge of equivalence.
WITH_JUDGE: Mapping[str, tuple[float, float]] = {
    "constant": (2.656, 1.466),
    "denied": (1.016, -1.949),
    "opposed": (-0.951, -0.061),
    "quantifier_became": (-3.338, 3.468),
    "quantifier_moved": (0.346, -3.175),
    "number_became": (0.268, -3.004),
    "number_moved": (-1.408, 0.999),
    "names": (-2.090, -3.713),
    "nouns": (-0.352, -1.043),
    "others": (-0.745, 0.761),
    "replaced": (1.671, -2.720),
    "kept": (-1.368, -0.654),
    "turned": (-0.813, -1.299),
    "crossed": (-2.337, 3.482),
    "facing": (-3.847, -1.320),
    "same": (0.636, 0.301),
    "least entailment": (0.120, -0.431),
    "most contradiction": (0.096, -0.647),
}
#: With the judge mpnet alone.
WITH_MPNET: Mapping[str, tuple[float, float]] = {
    "constant": (3.129, 6.251),
    "denied": (0.711, -3.848),
    "opposed": (-0.340, -3.075),
    "quantifier_became": (-0.891, -1.283),
    "quantifier_moved": (0.976, -4.216),
    "number_became": (0.448, -6.105),
    "number_moved": (-0.893, 0.987),
    "names": (-2.347, -3.374),
    "nouns": (-0.105, -2.711),
    "others": (-0.685, -0.065),
    "replaced": (1.396, -1.926),
    "kept": (-2.445, -1.448),
    "turned": (-0.261, -2.532),
    "crossed": (-2.343, 1.415),
    "facing": (-4.177, -1.445),
    "same": (0.558, 1.266),
}


class Opinion(NamedTuple):
    """What the judges find: whether both texts say the same, and entailment and contradiction in both directions.

    The judge mpnet is asked alone, for the first.
    """

    same: float
    entailment: tuple[float, ...] = ()
    contradiction: tuple[float, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What is known of one changed field: exchanged roles, changes in numbers and in words, who stands crosswise."""

    exchanged: Sequence[str]
    changes: Changes
    lines: Sequence[str]
    crossed: Sequence[Crossing] = ()
    judged: Opinion | None = None
    contradicted: Sequence[str] = ()


class Judges:
    """A judge of entailment and the small one of equivalence, asked together; or mpnet, which is asked alone."""

    def __init__(self, judge: str, canary: bool = True):
        self.entailment = None if judge == "mpnet" else EntailmentJudge(load_judge(judge), canary)
        self._equivalence = load_equivalence() if self.entailment else load_equivalence(judge)
        names = [self.entailment.model.signature] if self.entailment else []
        self.identity = "+".join([*names, self._equivalence.identity])

    def __call__(self, pairs: Sequence[Pair]) -> dict[Pair, Opinion | str]:
        """What they find of each pair of texts, or the reason why they cannot read it."""
        answers: Mapping[Pair, Cached] = {}
        if self.entailment and pairs:
            answers = self.entailment([one for pair in pairs for one in (pair, pair[::-1])])
        found: dict[Pair, Opinion | str] = {}
        for pair, same in zip(pairs, self._equivalence(pairs), strict=True):
            both = [answers[pair], answers[pair[::-1]]] if self.entailment else []
            if isinstance(same, str) or any(one.cut for one in both):
                found[pair] = too_long("judge")
            else:
                probabilities = [_probabilities(one, self.entailment) for one in both if self.entailment]
                found[pair] = Opinion(
                    same, tuple(yes for yes, _ in probabilities), tuple(no for _, no in probabilities)
                )
        return found

    def exchanged(self, alike: Mapping[Pair, float], trees: Mapping[str, ParseTree]) -> dict[Pair, list[str]]:
        """Of each pair whose new text is more like the old one with two phrases exchanged, which two they are.

        `alike` has the probability of each pair. The judge mpnet compares; the small one does not see it well enough.
        """
        if self.entailment:
            return {}
        tried = {old: with_exchanges(trees[old]) for old, _ in alike}
        asked = list(dict.fromkeys((one.text, new) for old, new in alike for one in tried[old]))
        known = dict(zip(asked, map(_fine_logit, self._equivalence(asked)), strict=True))
        found = {}
        for (old, new), same in alike.items():
            best = max(tried[old], key=lambda one: known[one.text, new], default=None)
            if best and known[best.text, new] > _fine_logit(same) + _MORE:
                found[old, new] = [f'roles: "{best.first}" and "{best.second}" have changed places']
        return found


@checks(
    "stack.v4",
    unsigned=("judge", "canary"),
    language="en",
    extra="spacy",
    measured="with mpnet, on a set written without knowing its rules, scored once, drops 98 % (negation), 96 % "
    "(number), 94 % (quantifier), 100 % (name or noun) and 96 % (roles) of 120 to 160 broken ones a kind, "
    "of the third of them that is reworded besides 90 to 100 %; of 144 sound ones 11 %, of the free "
    "paraphrases among them 27 %; of paraphrases in ParaNLU that people accepted 9 %; without mpnet it "
    "misses more",
)
def stack(judge: str = "nli-small", least: float = 0.5, pipeline: str = "", canary: bool = True) -> Any:
    """Drop variants that probably do not say the same, from all that checks find: one verdict for each.

    Dropped is what `surface` drops, what exchanges roles, what contradicts by itself (forty minutes that became fifty,
    "at least" that became "at most", an opposite in a copy), and what has a probability below `least` by its changes
    of negations, quantifiers, numbers, opposites, names and other words, by how much of the text was kept, by who
    stands before whom, and by what `judge` finds. The score is that probability. `judge` is mpnet, which sees most
    (400 MB, see `equivalence`); or a model of entailment, which is asked beside the small judge of `equivalence`; or
    "" for none. A text that cannot be parsed gets no verdict, and a warning counts those; a changed field that is
    longer than the judge reads is dropped. `pipeline` names a spaCy pipeline for English with a parser. Unless
    `canary` is false, a model of entailment must first answer questions with well-known answers.
    """
    if not 0 <= least <= 1:
        raise BadInput(f"found {least!r}", where="stack", field="least", fix="give a probability from 0 to 1")
    parse, on_surface = parser(pipeline), surface()
    asked = Judges(judge, canary) if judge else None

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

    return Check(check, identity="+".join([parse.identity, *([asked.identity] if asked else [])]))


def evidence(pairs: Sequence[Pair], parse: Parser, judges: Judges | None) -> dict[Pair, Evidence | str | None]:
    """What is known of each pair of texts; a reason to drop it, or None where one of them cannot be parsed."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair if text and not why_unreadable(text)))
    trees = {text: ParseTree(text, nodes) for text, nodes in zip(texts, parse(texts), strict=True) if nodes}
    readable = [pair for pair in pairs if pair[0] in trees and pair[1] in trees]
    judged: Mapping[Pair, Opinion | str] = judges(readable) if judges else {}
    known: dict[Pair, Evidence | str | None] = {**dict.fromkeys(pairs), **weigh(readable, trees, judged)}
    if judges:
        alike = {pair: same for pair, found in known.items() if (same := _alike(found)) >= _COMPARED}
        for pair, lines in judges.exchanged(alike, trees).items():
            known[pair] = replace(cast(Evidence, known[pair]), exchanged=lines)
    return known


def _alike(found: Evidence | str | None) -> float:
    """How likely a judge of equivalence finds it that texts say the same; 0 where a rule decides."""
    if not isinstance(found, Evidence) or found.judged is None or found.exchanged or found.contradicted:
        return 0.0
    return found.judged.same


def weigh(
    pairs: Sequence[Pair], trees: Mapping[str, ParseTree], judged: Mapping[Pair, Opinion | str]
) -> dict[Pair, Evidence | str]:
    """The evidence of parsed pairs, with what judges found of them; a reason where they could not read a pair."""
    read, placed = {text: read_text(text) for text in trees}, {text: roles(tree) for text, tree in trees.items()}
    known: dict[Pair, Evidence | str] = {}
    for old, new in pairs:
        found = judged.get((old, new))
        if isinstance(found, str):
            known[old, new] = found
            continue
        counted = changes(read[old], read[new], trees[old], trees[new])
        lines = violations(read[old], read[new], ("negation", "quantifier", "number"), antonyms=True)
        known[old, new] = Evidence(
            role_changes(placed[old], placed[new]),
            counted,
            lines,
            crossed(placed[old], placed[new]),
            found,
            contradictions(counted, lines, trees[old], trees[new]),
        )
    return known


def probability(found: Evidence) -> float:
    """How likely it is that both texts say the same: 0 where roles were exchanged or something contradicts by itself.

    >>> same = Changes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0, 1.0)
    >>> probability(Evidence([], same, [])) > 0.9 > 0.1 > probability(Evidence([], same._replace(denied=1), []))
    True
    """
    if found.exchanged or found.contradicted:
        return 0.0
    weights = weights_for(found.judged)
    frame = found.changes.frame
    total = sum(value * (weights[name][0] + weights[name][1] * frame) for name, value in terms(found).items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def weights_for(judged: Opinion | None) -> Mapping[str, tuple[float, float]]:
    """The weights for what was asked."""
    if judged is None:
        return WITHOUT_JUDGE
    return WITH_JUDGE if judged.entailment else WITH_MPNET


def terms(found: Evidence) -> dict[str, float]:
    """The numbers that are weighed, by name."""
    own = {name: float(min(_MOST, value)) for name, value in found.changes._asdict().items() if name != "frame"}
    own["constant"] = 1.0
    own["turned"] = float(bool(found.crossed))
    own["crossed"] = float(any(one.alike for one in found.crossed))
    own["facing"] = float(any(one.facing for one in found.crossed))
    if found.judged:
        same, entailment, contradiction = found.judged
        own["same"] = _logit(same)
        if entailment:
            own["least entailment"], own["most contradiction"] = _logit(min(entailment)), _logit(max(contradiction))
    return own


def _verdict(found: Sequence[Evidence | str | None], least: float) -> Verdict:
    if reasons := [one for one in found if isinstance(one, str)]:
        return Verdict(False, reasons[0])
    judged = [one for one in found if isinstance(one, Evidence)]
    chances = [probability(one) for one in judged]
    score = min(chances, default=1.0)
    if judged and score < least:
        worst = judged[chances.index(score)]
        return Verdict(
            False,
            "; ".join([*worst.exchanged, *worst.contradicted]) or f"probability {score:.2f}: {_why(worst)}",
            score,
        )
    return Verdict(None) if None in found else Verdict(True, "", score)


def _why(found: Evidence) -> str:
    """What speaks against a variant, in words."""
    if found.lines:
        return "; ".join(found.lines)
    if found.crossed and any(one.alike or one.facing for one in found.crossed):
        one = next(one for one in found.crossed if one.alike or one.facing)
        return f'roles: "{one.first}" and "{one.second}" have changed places'
    counted = {"names": found.changes.names, "nouns": found.changes.nouns, "words": found.changes.others}
    other = [f"other {name}" for name, count in counted.items() if count]
    judged = [f"the same {found.judged.same:.2f}"] if found.judged else []
    judged += [f"entailment {min(found.judged.entailment):.2f}"] if found.judged and found.judged.entailment else []
    return ", ".join([*other, *judged]) or "much was changed"


def _probabilities(answer: Cached, judge: EntailmentJudge) -> tuple[float, float]:
    """Those of entailment and of contradiction, or of no entailment; a bare answer counts as nearly certain."""
    labels, yes = judge.model.task.labels, entailment_of(judge.model.task)
    no = next((at for at, label in enumerate(labels) if label == "contradiction"), None)
    p = answer.p or [0.98 if at == answer.pred else 0.02 / (len(labels) - 1) for at in range(len(labels))]
    return p[yes], p[no] if no is not None else 1 - p[yes]


def _logit(p: float, edge: float = _EDGE) -> float:
    p = min(1 - edge, max(edge, p))
    return math.log(p / (1 - p))


def _fine_logit(same: float | str) -> float:
    """That of a probability near 0 or 1, too; a text that is too long is like nothing."""
    return -math.inf if isinstance(same, str) else _logit(same, 1e-5)
