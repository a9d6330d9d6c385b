"""What pages say: a person's item as texts and questions, answers read from a form, templates filled in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jinja2
from starlette.responses import HTMLResponse, Response

from ..problem import ABOUT_TASKS, Task
from ..significance.agreement import AgreementReport
from ..words.distance import jaccard
from .assignment import Page
from .forms import AnnotationForm, FormQuestion, reworded_targets
from .items import stored_form
from .people import Person
from .security import RateLimit
from .store import Store

#: What people who are no linguists call the fields of the tasks (ParaNLU, Figure 7).
FIELD_NAMES = {
    "obs1": "Beginning",
    "obs2": "Ending",
    "hyp1": "Middle 1",
    "hyp2": "Middle 2",
    "premise": "Premise",
    "hypothesis": "Hypothesis",
    "update": "Evidence",
}
#: Beside evidence, the two texts before it are called so.
SCENARIO_NAMES = {"premise": "Context", "hypothesis": "Inference"}
#: Why a page may be skipped; the last is explained in words.
REASONS = ("I cannot decide", "The text is broken", "The text is offensive", "I know this text", "Another reason")
#: What the coefficients of agreement are called.
COEFFICIENTS = {
    "cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa", "alpha": "Krippendorff's alpha", "ac1": "Gwet's AC1",
    "ac2": "Gwet's AC2",
}  # fmt: skip
#: From these distances on, a rewording is not too close any more, and different enough (ParaNLU, Figure 7).
CLOSE, FAR = 20.0, 40.0


#: Answers, or what is wrong with them, by part and question.
Given = Mapping[tuple[int, str], str]


class Distance(NamedTuple):
    """How many of a hundred words two texts do not share, and what to think of it."""

    number: int
    level: str
    meaning: str


def distance(original: str, text: str) -> Distance | None:
    """What the widget beside a rewording shows; nothing while the text is empty.

    >>> distance("They are wearing hiking gear.", "They are dressed in hiking attire.")
    Distance(number=63, level='green', meaning='different enough')
    """
    if not text.strip():
        return None
    value = 100 * (1 - jaccard(original, text))
    shown = int(value + 0.5)
    if value < CLOSE:
        return Distance(shown, "red", "too close to the original")
    return Distance(shown, "yellow", "some overlap") if value < FAR else Distance(shown, "green", "different enough")


class Text(NamedTuple):
    """A text with its heading; `is_new` marks what was reworded."""

    name: str
    text: str
    is_new: bool = False


class ShownQuestion(NamedTuple):
    """A question as a page shows it: the name of its input, what may be chosen, what was answered, what is wrong."""

    key: str
    question: FormQuestion
    options: Sequence[tuple[str, str]]
    answer: str
    error: str
    target: str = ""
    number: int = 0
    distance: Distance | None = None


class Section(NamedTuple):
    """A part of a page: its texts and its questions; `tab` names it where parts are on tabs."""

    texts: Sequence[Text]
    asked: Sequence[ShownQuestion]
    tab: str = ""
    heading: str = ""


class View(NamedTuple):
    """All that a page shows of an item."""

    item: int
    context: Sequence[Text]
    label: str
    sections: Sequence[Section]
    has_errors: bool


def view_page(
    page: Page, form: AnnotationForm, task: Task, person: Person | None, seed: int,
    answers: Given | None = None, errors: Given | None = None,
) -> View:  # fmt: skip
    """An item as its form shows it to a person, with what they answered and what is wrong with that.

    Each annotator has an order of sentences of their own; for nobody in particular, it is that of the disagreements.
    """
    given, wrong = page.answers if answers is None else answers, errors or {}
    is_on_tabs = form.show == "target" and page.label in task.targets  # whose names say which is plausible
    label = FIELD_NAMES.get(page.label, page.label) if form.label == "shown" and not is_on_tabs else ""
    if form.show == "target":
        context, sections = _target(page, form, task, given, wrong)
    elif form.show == "reference":
        name = page.fields[0]
        context = [Text("Reference", page.original[name])]
        order = page.order(seed, person) if person else range(len(page.parts))
        sections = [
            Section([Text("", page.parts[part][name])], _asked(part, form, task, given, wrong), heading=f"Sentence {n}")
            for n, part in enumerate(order, 1)
        ]
    else:
        context, texts = _pair(page, form) if form.show == "pair" else ([], _texts(page.parts[0], task))
        sections = [Section(texts, _asked(0, form, task, given, wrong))]
    return View(page.item, context, label, sections, bool(wrong))


def _pair(page: Page, form: AnnotationForm) -> tuple[list[Text], list[Text]]:
    """The context, which both share, and the texts before and after."""
    new = page.parts[0]
    shared = [name for name in page.original if name not in page.fields]
    context = [Text(_name(name, page.original), page.original[name]) for name in shared]
    context = context if form.context == "shown" else []
    texts = []
    for name in page.fields or list(new):
        called = (
            f" ({_name(name, page.original).lower()})" if len(page.original) > 1 and form.context == "shown" else ""
        )
        texts.append(Text(f"Original{called}", page.original.get(name, "")))
        texts.append(Text(f"Rewording{called}", new.get(name, ""), True))
    return context, texts


def _target(
    page: Page,
    form: AnnotationForm,
    task: Task,
    given: Given,
    wrong: Given,
) -> tuple[list[Text], list[Section]]:
    """The sentences to reword, each on a tab where there are two, and their context."""
    targets = reworded_targets(task)
    context = [Text(_name(name, page.original), text) for name, text in page.original.items() if name not in targets]
    every, sections = _asked(0, form, task, given, wrong, page.original), []
    for target in targets:
        heading = _name(target, page.original)
        if form.label == "shown" and page.label in targets:
            heading += " (plausible)" if page.label == target else " (implausible)"
        own = [one for one in every if one.target in ("", target)]
        sections.append(Section([Text(heading, page.original[target])], own, heading if len(targets) > 1 else ""))
    return (context if form.context == "shown" else []), sections


def _texts(texts: Mapping[str, str], task: Task) -> list[Text]:
    return [Text(_name(name, texts), texts[name]) for name in task.fields if name in texts]


def _name(field: str, texts: Mapping[str, str]) -> str:
    """What a field is called among the texts of its problem."""
    names = {**FIELD_NAMES, **(SCENARIO_NAMES if "update" in texts else {})}
    return names.get(field, field)


def _asked(
    part: int, form: AnnotationForm, task: Task,
    given: Given, wrong: Given, original: Mapping[str, str] = {},
) -> list[ShownQuestion]:  # fmt: skip
    found = []
    for name, question, target in form.asked(task):
        options = [(one, FIELD_NAMES.get(one, one)) for one in question.options(task)]
        answer = given.get((part, name), "")
        number = int(name.rpartition(":")[2]) if target else 0
        near = distance(original[target], answer) if target in original else None
        error = wrong.get((part, name), "")
        found.append(ShownQuestion(f"{part}.{name}", question, options, answer, error, target, number, near))
    return found


def read_answers(
    fields: Mapping[str, str], page: Page, form: AnnotationForm, task: Task
) -> tuple[dict[tuple[int, str], str], dict[tuple[int, str], str]]:
    """The answers of a page from what its form sent, and what is wrong with them; other fields are ignored."""
    answers, errors = {}, {}
    for part in range(len(page.parts)):
        for name, question, target in form.asked(task):
            sent = fields.get(f"{part}.{name}", "")
            answer, error = question.read(sent, task)
            if answer and target and distance(page.original[target], answer).number == 0:  # type: ignore[union-attr]
                error = "This has the same words as the original."
            answers[part, name] = sent if error else answer
            if error:
                errors[part, name] = error
    if not errors:
        errors = _repeated(answers, form, task)
    return answers, errors


def _repeated(answers: Given, form: AnnotationForm, task: Task) -> dict[tuple[int, str], str]:
    """Rewordings of one text that are the same."""
    seen: dict[tuple[str, str], str] = {}
    errors = {}
    for name, _, target in form.asked(task):
        text = answers.get((0, name), "").casefold() if target else ""
        if text and seen.setdefault((target, text), name) != name:
            errors[0, name] = "This is the same as an earlier rewording."
    return errors


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader(__package__, "templates")
    found = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters["number"] = lambda value: "–" if value is None else f"{value:.2f}".replace("-", "−")
    found.filters["coefficient"] = lambda name: COEFFICIENTS.get(name, name)
    return found


def render(template: str, **values: Any) -> str:
    """Fill in a template; all texts are escaped."""
    return _templates().get_template(template).render(reasons=REASONS, **values)


def about_task(task: Task) -> str:
    """What a task asks, in a sentence."""
    return ABOUT_TASKS.get(task.name, "")


class Site:
    """All that pages need: the database, what it says of itself, where the site is, how often links are tried."""

    def __init__(self, store: Store, address: str, behind_tls: bool = False):
        self.store, self.address, self.behind_tls = store, address, behind_tls
        self.about = store.about()
        self.form, self.task = stored_form(self.about)
        self.tokens = RateLimit(each=20, together=200)
        self.agreement: tuple[Any, AgreementReport | None] = (None, None)  # from what, and what came out

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers take one that begins with __Host- only over TLS, for this host alone.

        It names the project, too: to a browser, all ports of a machine are one place, and a second project served
        there would end the sessions of the first.
        """
        return f"{'__Host-' if self.behind_tls else ''}otherwords-{self.about['key'][:12]}"

    def link(self, token: str) -> str:
        """An invitation link."""
        return f"{self.address}/join/{token}"


@dataclass(frozen=True)
class Asking:
    """One request: who asks (None before they joined), what the path and the form say."""

    site: Site
    person: Person | None
    path: Mapping[str, Any]
    fields: Mapping[str, str]
    secret: str = ""
    client: str = ""

    @property
    def who(self) -> Person:
        """Who asks, on pages that only people who joined can ask for."""
        assert self.person is not None
        return self.person

    @property
    def item(self) -> int:
        """The number of the item in the path; one that no database can hold is nobody's."""
        return min(int(self.path["item"]), 2**31 - 1)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page, with what all of them show."""
        site = self.site
        values = {"form": site.form, "task": site.task, "person": self.person, "about": site.about, **values}
        return HTMLResponse(render(template, **values), status)

    def refused(self, status: int, message: str) -> Response:
        """A page that says why not."""
        return self.page("message.html", status, title="Not possible", message=message)
