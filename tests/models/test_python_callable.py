"""Functions in files written here, asked by name; each mistake gets the message that helps."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName, WrongAnswer
from otherwords.models.answering import ask
from otherwords.models.answering import load as load_model
from otherwords.models.cache import Cache
from otherwords.models.model import Answerer, Model, as_model
from otherwords.problem import TASKS, Batch
from otherwords.registry import models as registry

SOURCE = '''
"""Models of a user."""
from dataclasses import dataclass
from math import sqrt

LIMIT = 3

def by_length(batch):
    return ["entailment" if len(text) > LIMIT else "neutral" for text in batch["hypothesis"]]

def mine(batch):
    return [[0.25, 0.75] for _ in batch]

mine.labels = ["no", "yes"]
mine.batch_invariant = False

def broken(batch):
    return {}["no such field"]

@dataclass
class Word:
    text: "str"

def _hidden(batch):
    return []
'''


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The current directory, with a file of models in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ow_user.py").write_text(SOURCE, encoding="utf-8")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("ow_")]:
        del sys.modules[name]


def load(spec: str, label_map=None) -> Answerer:
    bound = registry.make(spec)
    return Answerer(spec, bound.signature, as_model(bound.function), TASKS["nli"], label_map or {})


def batch(*hypotheses: str) -> Batch:
    return Batch(TASKS["nli"], {"premise": ["It rains."] * len(hypotheses), "hypothesis": hypotheses})


@pytest.mark.parametrize("target", ["ow_user:by_length", "ow_user.py:by_length", "./ow_user.py:by_length"])
def test_a_function_answers(here, target):
    path = list(sys.path)
    assert load(f"python:{target}")(batch("wet", "It is wet.")).pred.tolist() == [1, 0]
    assert sys.path == path


def test_a_function_of_two_texts_is_no_model(here):
    Path("ow_pairs.py").write_text("def ask(premise, hypothesis): return 'neutral'\n")
    fix = "a model takes one Batch, def ask(batch): ... batch['premise'] ..., and gives an answer for each problem"
    with refuses(BadInput, where="python:ow_pairs.py:ask", fix=fix):
        load("python:ow_pairs.py:ask")
    with refuses(BadInput, where="the model pairs"):
        ow.answer(ow.load("everyday").head(2), pairs, canary=False, cache=None)


def pairs(premise, hypothesis):
    return "neutral"


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("ow_user.py", "python:ow_user.py:FUNCTION"),
        ("./ow_user.py:by_length", "python:./ow_user.py:by_length"),
    ],
)
def test_a_file_alone_is_told_apart_from_a_name(here, spec, meant):
    with refuses(BadInput, fix=f"a function in a file is {meant}"):
        load(spec)


def test_the_functions_attributes_are_honoured(here):
    model = load("python:ow_user:mine", {"no": "contradiction", "yes": "entailment"})
    assert model(batch("wet", "dry")).p.tolist() == [[0.75, 0, 0.25]] * 2
    assert model.model.labels == ("no", "yes")
    assert not model.model.batch_invariant
    assert as_model(registry.make("python:ow_user:by_length").function).batch_invariant
    assert as_model(registry.make("python:ow_user:by_length(batch_size=9)").function).batch_size == 9


@pytest.mark.parametrize("target", ["ow_user:by_length", "ow_user.py:by_length"])
def test_an_edited_function_is_another_model_and_is_asked_afresh(here, target):
    before = registry.make(f"python:{target}")
    (here / "ow_user.py").write_text(SOURCE.replace("LIMIT = 3", "LIMIT = 2"), encoding="utf-8")
    after = registry.make(f"python:{target}")
    assert before.signature != after.signature
    assert after.function(batch("wet")) == ["entailment"]
    (here / "ow_user.py").write_text(SOURCE, encoding="utf-8")
    assert registry.make(f"python:{target}").signature == before.signature


def test_the_signature_has_no_path_and_distinguishes_functions(here):
    signature = registry.make(f"python:{here}/ow_user.py:by_length(batch_size=3)").signature
    assert signature == registry.make("python:ow_user.py:by_length").signature
    assert signature.startswith("python.v1()#ow_user.py:by_length@")
    assert registry.make("python:ow_user.py:mine").signature != signature


def test_a_function_from_elsewhere_is_signed_by_its_own_file(here):
    (here / "ow_front.py").write_text("from ow_back import f", encoding="utf-8")
    (here / "ow_back.py").write_text("def f(batch): return ['neutral'] * len(batch)", encoding="utf-8")
    before = registry.make("python:ow_front:f").signature
    (here / "ow_back.py").write_text("def f(batch): return ['entailment'] * len(batch)", encoding="utf-8")
    assert registry.make("python:ow_front:f").signature != before


def test_a_file_can_import_its_neighbours(here):
    (here / "sub").mkdir()
    (here / "sub" / "ow_helper.py").write_text("ANSWER = 'neutral'", encoding="utf-8")
    (here / "sub" / "main.py").write_text("import ow_helper, ow_user\ndef f(b): return [ow_helper.ANSWER] * len(b)")
    assert load("python:sub/main.py:f")(batch("wet")).pred.tolist() == [1]


@pytest.mark.parametrize(
    "target",
    [
        "ow_nowhere:f",
        "ow_user.deeper:f",
        "nowhere.py:f",
        "ow_user",
        "ow_user:",
        "ow_user:LIMIT",
        "ow_user:by_length(batch_size=0)",
        "sys:intern",
    ],
)
def test_a_wrong_name_says_how_to_fix_it(here, target):
    with refuses(BadInput):
        registry.make(f"python:{target}")


@pytest.mark.parametrize("place", ["ow_user", "ow_user.py"])
def test_an_unknown_function_lists_those_that_exist(here, place):
    with refuses(UnknownName):
        registry.make(f"python:{place}:by_lenght")


@pytest.mark.parametrize("place", ["ow_bad", "ow_bad.py"])
@pytest.mark.parametrize("source", ["import ow_not_installed", "def f(batch) return 1", "1 / 0", "raise SystemExit(1)"])
def test_an_import_that_fails_shows_its_cause(here, place, source):
    (here / "ow_bad.py").write_text(source, encoding="utf-8")
    with refuses(BadInput) as caught:
        registry.make(f"python:{place}:f")
    assert caught.value.__cause__ is not None


def test_labels_must_be_names(here):
    (here / "ow_labels.py").write_text("def f(batch): return []\nf.labels = 'yes'", encoding="utf-8")
    with refuses(BadInput):
        registry.make("python:ow_labels:f")


def test_a_function_that_raises_is_named_with_the_cause(here):
    with refuses(WrongAnswer) as caught:
        load("python:ow_user:broken")(batch("wet"))
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("source", ["def ask():\n    return []", "class ask:\n    pass"])
def test_a_factory_that_makes_no_function_is_refused(here, source):
    (here / "ow_made.py").write_text(source)
    with refuses(BadInput, where="python:ow_made.py:ask"):
        load("python:ow_made.py:ask")


def test_a_function_that_yields_is_told_to_return(here):
    (here / "ow_yields.py").write_text("def ask(batch):\n    yield 'neutral'")
    with refuses(WrongAnswer):
        load("python:ow_yields.py:ask")(batch("wet"))


def test_our_own_errors_pass_unchanged(here):
    (here / "ow_own.py").write_text(
        "from otherwords.errors import BadInput\ndef f(batch): raise BadInput('asked in vain')", encoding="utf-8"
    )
    with refuses(BadInput):
        registry.make("python:ow_own:f").function(batch("wet"))


# The function itself instead of its name


class Constant:
    """A model that is an object: its label is its state."""

    def __init__(self, label: str, held: object = None):
        self.label, self.held = label, held

    def __call__(self, batch: Batch) -> list[str]:
        return [self.label] * len(batch)


def neutral(batch: Batch) -> list[str]:
    return ["neutral"] * len(batch)


def stored(given: object) -> tuple[Answerer, int]:
    """A model that answered two problems, and how many of its answers are in the cache."""
    model = load_model(given, TASKS["nli"])
    with Cache() as cache:
        assert len(ask(batch("wet", "dry").columns, model, cache)) == 2
        return model, sum(row["answers"] for row in cache.info())


@pytest.mark.parametrize("given", [neutral, Constant("neutral"), Model(neutral), Constant("neutral").__call__])
def test_a_function_may_be_given_itself(given):
    model, count = stored(given)
    assert count == 2
    assert model.name in ("neutral", "Constant", "__call__")
    assert model.signature == load_model(given, TASKS["nli"]).signature


def test_what_decides_its_answers_is_signed(here):
    (here / "prompt.txt").write_text("one")
    given = [
        neutral,
        Constant("neutral"),
        Constant("entailment"),
        Model(neutral, version="1"),
        Model(neutral, version="2"),
    ]
    given += [Model(neutral, files=[str(here / "prompt.txt")]), lambda batch: ["neutral"] * len(batch)]
    signatures = [load_model(one, TASKS["nli"]).signature for one in given]
    assert len(set(signatures)) == len(given)
    (here / "prompt.txt").write_text("two")
    assert load_model(given[5], TASKS["nli"]).signature != signatures[5]


#: A model as a user writes it in a cell or a script: what it answers stands in a global, a class or a wrapped function.
ELSEWHERE = {
    "a global": 'WORD = "{0}"\ndef model(batch): return [WORD] * len(batch)',
    "a dict": 'WORD = {{"it": "{0}"}}\ndef model(batch): return [WORD["it"]] * len(batch)',
    "a set": 'WORD = {{"{0}"}}\ndef model(batch): return [*WORD] * len(batch)',
    "a default": "import collections\nWORD = collections.defaultdict(lambda: '{0}')\n"
    "def model(batch): return [WORD[0]] * len(batch)",
    "an object": "import types\nWORD = types.SimpleNamespace(it='{0}')\n"
    "def model(batch): return [WORD.it] * len(batch)",
    "a class": "class Own:\n    word = ['{0}']\n"
    "    def __call__(self, batch): return self.word * len(batch)\nmodel = Own()",
    "a class inside": "class Own:\n    class Inner:\n        word = '{0}'\n"
    "    def __call__(self, batch): return [self.Inner.word] * len(batch)\nmodel = Own()",
    "a property": "import functools\nclass Own:\n    @functools.cached_property\n    def word(self): return '{0}'\n"
    "    def __call__(self, batch): return [self.word] * len(batch)\nmodel = Own()",
    "a cached function": "import functools\n@functools.cache\ndef word(): return '{0}'\n"
    "def model(batch): return [word()] * len(batch)",
    "slots": "class Own:\n    __slots__ = ('word',)\n    def __init__(self): self.word = '{0}'\n"
    "    def __call__(self, batch): return [self.word] * len(batch)\nmodel = Own()",
}


@pytest.mark.parametrize("source", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("place", ["a cell", "a script"])
def test_a_changed_global_class_or_helper_is_another_model(here, monkeypatch, source, place):
    module = ModuleType("ow_cell")
    if place == "a script":  # whose file says the same all the time: the value came from elsewhere
        module.__file__ = str(here / "ow_user.py")
    monkeypatch.setitem(sys.modules, "ow_cell" if place == "a script" else "__main__", module)
    module.__name__ = "ow_cell" if place == "a script" else "__main__"
    signatures = []
    for label in ("neutral", "entailment", "neutral"):
        exec(source.format(label), vars(module))
        signatures.append(stored(module.model)[0].signature)
    assert signatures[0] == signatures[2] != signatures[1]


def test_what_cannot_be_signed_is_not_cached_until_it_declares_a_version():
    with pytest.warns(UserWarning, match="Constant: answers are not cached: .* type lock .*`version`") as caught:
        assert stored(Constant("neutral", threading.Lock()))[1] == 0
    assert len(caught) == 1
    versioned = Constant("neutral", threading.Lock())
    versioned.version = 3
    assert stored(versioned)[1] == 2


@pytest.mark.parametrize("given", [3, None, ["neutral"]])
def test_what_cannot_be_called_is_refused(given):
    with refuses(BadInput, where="model"):
        load_model(given, TASKS["nli"])
