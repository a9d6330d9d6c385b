"""The canary: a dozen trivial questions that every model is asked first, to detect permuted labels."""

import itertools
import warnings
from collections.abc import Sequence

from ..errors import ON_COMMAND_LINE, LabelOrder, caller_level
from ..problem import TASKS, UNREADABLE, Batch, Task
from .model import Answerer

# Four of each label; RTE takes neutral and contradiction for not-entailed.
_NLI = {
    "entailment": [
        ("A man is sleeping on the sofa.", "A man is asleep."),
        ("Two dogs are running through the snow.", "Two dogs are running."),
        ("The woman is eating a red apple.", "A woman is eating fruit."),
        ("All of the children are singing.", "Some of the children are singing."),
    ],
    "neutral": [
        ("A man is reading a book.", "The man is a teacher."),
        ("A woman is walking down the street.", "The woman is going to meet her sister."),
        ("Two boys are playing football.", "The boys are brothers."),
        ("A girl is eating ice cream.", "The ice cream is chocolate flavoured."),
    ],
    "contradiction": [
        ("A man is sleeping on the sofa.", "The man is awake and dancing."),
        ("The room is completely empty.", "The room is full of people."),
        ("A woman is standing outside in the sun.", "The woman is inside a dark cave."),
        ("Nobody is in the kitchen.", "A man is cooking in the kitchen."),
    ],
}
_SUPPORT = ("strengthener", "weakener")
#: Premise, hypothesis, strengthener, weakener.
_DEFEASIBLE = """
A man is outside with a dog.| The man is walking his dog.| The dog is on a leash.| The dog belongs to someone else.
A woman is in a kitchen.| The woman is cooking dinner.| She is stirring a pot on the stove.| She is painting the walls.
A boy holds a ball.| The boy is about to play.| His friends are waiting on the field.| He is putting the ball away.
Two people are talking.| The two people are friends.| They are laughing and hugging.| They have never met before.
A girl is reading.| The girl enjoys the book.| She smiles at every page.| She yawns and looks bored.
A man is running.| The man is late for a train.| He keeps looking at his watch.| He is running laps in a stadium.
"""
#: Two observations, the right hypothesis, the wrong one.
_ABDUCTIVE = """
Tom's car would not start.| He arrived at work an hour late.| Tom had to take a slow bus.| Tom's car started at once.
Ann planted seeds in spring.| She had fresh tomatoes in summer.| The seeds grew well.| All of the seeds died.
Sam was very hungry.| He felt full and happy.| Sam ate a big meal.| Sam did not eat anything.
It was sunny in the morning.| Lisa came home soaking wet.| It began to rain hard.| It stayed dry all day.
Ben lost his phone.| He was glad to have it back.| A neighbour found and returned it.| Nobody ever found the phone.
Mia studied every night.| She passed the exam easily.| She knew all of the answers.| She failed every question.
"""


def questions(task: Task) -> list[tuple[tuple[str, ...], str]]:
    """The canary's texts and right answers for a task; none for a task of the user's own."""
    known = TASKS.get(task.name)
    if known is None or known.fields != task.fields or set(known.labels) != set(task.labels):
        return []
    if task.name == "nli":
        return [(pair, label) for label, pairs in _NLI.items() for pair in pairs]
    if task.name == "rte":
        names = {"entailment": "entailed"}
        return [(pair, names.get(label, "not-entailed")) for label, pairs in _NLI.items() for pair in pairs]
    if task.name == "d-nli":
        return [((p, h, (s, w)[i]), _SUPPORT[i]) for p, h, s, w in _rows(_DEFEASIBLE) for i in (0, 1)]
    if task.name == "a-nli":
        rows = _rows(_ABDUCTIVE)
        return [((a, b, *((y, n) if i == 0 else (n, y))), f"hyp{i + 1}") for a, b, y, n in rows for i in (0, 1)]
    return []


def _rows(table: str) -> list[list[str]]:
    return [line.split("| ") for line in table.strip().splitlines()]


def assess_canary(pred: Sequence[str], gold: Sequence[str], labels: Sequence[str]) -> tuple[int, int, dict[str, str]]:
    """Count right answers as they are and under the best renaming of the labels, and return that renaming.

    >>> assess_canary(["no", "no", "yes"], ["yes", "yes", "no"], ["yes", "no"])
    (0, 3, {'yes': 'no', 'no': 'yes'})
    """
    plain = sum(p == g for p, g in zip(pred, gold, strict=True))
    best, renaming = plain, {label: label for label in labels}
    for order in itertools.permutations(labels):
        names = dict(zip(labels, order, strict=True))
        right = sum(names.get(p) == g for p, g in zip(pred, gold, strict=True))
        if right > best:
            best, renaming = right, names
    return plain, best, renaming


def refuse_permuted(model: Answerer, pred: Sequence[str]) -> None:
    """Refuse a model whose labels are clearly permuted; warn of one that is only weak.

    Clearly: another order gets all but one right (all but two, where there are three labels), and at least half of the
    questions more than the order given. A model that guesses meets that less than once in 300 times.
    """
    gold = [label for _, label in questions(model.task)]
    plain, best, renaming = assess_canary(pred, gold, model.task.labels)
    slips = 1 if len(model.task.labels) == 2 else 2
    if best >= len(gold) - slips and best - plain >= len(gold) / 2:
        own = dict(zip(model.model.labels or model.task.labels, model.targets, strict=True))
        if not model.model.labels:
            own |= model.label_map  # it may answer with names that only the map has
        fix = ",".join(f"{label}={renaming[target]}" for label, target in own.items())
        renamed = {label: renaming[target] for label, target in own.items()}
        here = "" if ON_COMMAND_LINE.get() else f" (in Python label_map={renamed}, or canary=False)"
        raise LabelOrder(
            f"{model.name} seems to have permuted labels: {plain} of {len(gold)} trivial questions right as they are, "
            f"{best} if renamed; use --label-map {fix}, or --no-canary if the labels are correct{here}"
        )
    if plain < 2 * len(gold) / 3:
        message = f"{model.name} is weak: {plain} of {len(gold)} trivial questions right{_one_answer(pred)}"
        advice = "do not rely on its scores before you have looked at its answers and the names of its labels"
        warnings.warn(f"{message}; {advice}", stacklevel=caller_level())


def _one_answer(pred: Sequence[str]) -> str:
    """What is to be said of answers that are all the same, or that could not be read."""
    if len(set(pred)) == 1 and pred[0] != UNREADABLE:
        return f", because it answers {pred[0]} to all of them (one answer to everything never flips)"
    unread = list(pred).count(UNREADABLE)
    return f", {'none' if unread == len(pred) else len(pred) - unread} of its answers could be read" if unread else ""


def canary_batch(task: Task) -> Batch:
    """The canary's questions as a batch."""
    texts = [text for text, _ in questions(task)]
    return Batch(task, {name: [text[i] for text in texts] for i, name in enumerate(task.fields)})
