"""CheckList's invariance tests: groups of examples, the original first (Ribeiro et al. 2020).

CheckList saves suites with dill, a kind of pickle, which runs code when it is loaded: here a suite is read from JSON.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..registry import datasets
from .records import Dataset
from .rewordings import PAIR, RecordedRewording, label_text, numbered_labels, read_json, same_label, suite

#: How to export a suite. CheckList's own exports lack groups (to_raw_file) or types and labels (to_dict).
EXPORT = (
    'save it as JSON from Python: json.dump({name: {"type": suite.info[name]["type"], "data": test.data, '
    '"labels": test.labels} for name, test in suite.tests.items()}, open("suite.json", "w"), default=list)'
)
_TYPES = ("INV", "MFT", "DIR")


@datasets("checklist.v1")
def checklist(path: Path, labels: tuple[str, ...] = ()) -> Dataset:
    """CheckList's invariance tests (INV) of pairs of sentences, from JSON: {name: {type, data, labels}}.

    `labels` names the classes 0, 1, ... in order if the labels are numbers. Tests of other types (MFT, DIR) are not
    rewordings; they are left out and counted. To use a suite without labels, give it to `recorded` with problems.
    """
    translated = numbered_labels(labels, "checklist.v1")
    return Dataset(lambda: suite(rewordings(path), "checklist", path), files=(path,), labels=translated)


def rewordings(path: Path) -> Iterator[RecordedRewording]:
    """Read a suite: one rewording for every example after the first of its group."""
    for name, test in load_tests(path).items():
        kind = str(test.get("type")).upper()
        for number, group in enumerate(test["data"], 1):
            where = f"{path}, test {name!r}, case {number}"
            if kind != "INV":
                yield RecordedRewording(where, {}, {}, {}, reason=f"from {kind} tests")
                continue
            extra = {"test": name, **{key: test[key] for key in ("capability",) if test.get(key)}}
            yield from _group(where, group, _labels(where, test, number - 1), extra)


def load_tests(path: Path) -> dict[str, dict[str, Any]]:
    """Read the tests of a suite by name; refuse any other file with the way to export one."""
    if not path.is_file():
        raise BadInput("no such file", where=str(path))
    with path.open("rb") as file:
        if file.read(1) == b"\x80":  # how every pickle since protocol 2 begins
            raise BadInput("is a pickle, which runs code when it is loaded", where=str(path), fix=EXPORT)
    try:
        content = read_json(path)
    except BadInput as error:
        if error.fix:  # another encoding
            raise
        message = f"{error.message}: CheckList's raw files (to_raw_file) do not record which examples belong together"
        raise BadInput(message, where=error.where, fix=EXPORT) from error
    if isinstance(content, dict) and {"test_name", "test_case"} <= set(content):
        raise BadInput("comes from to_dict, which drops the types of tests", where=str(path), fix=EXPORT)
    if not isinstance(content, dict) or not content or not all(map(_is_test, content.values())):
        message = "has no tests as in {name: {type, data, labels}}, type one of " + ", ".join(_TYPES)
        raise BadInput(message, where=str(path), fix=EXPORT)
    return content


def _is_test(value: Any) -> bool:
    return isinstance(value, dict) and str(value.get("type")).upper() in _TYPES and isinstance(value.get("data"), list)


def _group(where: str, group: Any, labels: Any, extra: dict[str, Any]) -> Iterator[RecordedRewording]:
    examples = [_texts(example) for example in group] if isinstance(group, list) else [{}]
    if not examples or not all(examples):
        error = "a test case is a list of examples, each [premise, hypothesis] or {premise: ..., hypothesis: ...}"
        yield RecordedRewording(where, {}, {}, {**extra, "case": group}, error=error)
        return
    labels = [label_text(label) for label in (labels if isinstance(labels, list) else [labels] * len(examples))]
    if len(labels) != len(examples):
        error = f"found {len(labels)} labels for {len(examples)} examples"
        yield RecordedRewording(where, examples[0], {}, extra, error=error)
    elif len(examples) == 1:
        yield RecordedRewording(where, examples[0], {}, extra, labels[0], reason="without a perturbation")
    else:
        for number, (texts, label) in enumerate(zip(examples[1:], labels[1:], strict=True), 2):
            reason = "" if same_label(label, labels[0]) else "with another label"
            yield RecordedRewording(f"{where}, example {number}", examples[0], texts, extra, labels[0], reason=reason)


def _texts(example: Any) -> dict[str, str]:
    if isinstance(example, (list, tuple)) and len(example) == 2:
        example = dict(zip(PAIR.values(), example, strict=True))
    if not isinstance(example, dict) or not all(isinstance(text, str) for text in example.values()):
        return {}
    return {PAIR.get(str(name), str(name)): text for name, text in example.items()}


def _labels(where: str, test: dict[str, Any], position: int) -> Any:
    """The label of one group: CheckList has one for all groups, one per group, or one per example."""
    labels = test.get("labels")
    if not isinstance(labels, list):
        return labels
    if len(labels) != len(test["data"]):
        message = f"found {len(labels)} labels for {len(test['data'])} test cases"
        raise BadInput(message, where=where, field="labels", fix="give one label for all test cases, or one for each")
    return labels[position]
