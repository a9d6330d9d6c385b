"""NL-Augmenter's test cases of a transformation: inputs and outputs.

The tool does not write perturbed data sets (its evaluation prints figures); `test.json` is its only file with pairs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput, shorten
from ..registry import datasets
from .records import Dataset
from .rewordings import PAIR, RecordedRewording, label_text, numbered_labels, read_json, same_label, suite

#: Keys of inputs that are not texts to reword.
_NO_TEXT = frozenset({"id", "target", "label"})
#: A single sentence has no field name.
_NAMES = {**PAIR, "sentence": ""}
_LAYOUT = '{"type": ..., "test_cases": [{"class": ..., "inputs": {...}, "outputs": [{...}]}]}'


@datasets("nl_augmenter.v1")
def nl_augmenter(path: Path, labels: tuple[str, ...] = ()) -> Dataset:
    """NL-Augmenter's test cases (test.json) of pairs of sentences: inputs, and outputs with the same target.

    `labels` names the targets 0, 1, ... in order if they are numbers. An output with another target is not a
    rewording; it is left out and counted.
    """
    translated = numbered_labels(labels, "nl_augmenter.v1")
    return Dataset(lambda: suite(rewordings(path), "nl_augmenter", path), files=(path,), labels=translated)


def rewordings(path: Path) -> Iterator[RecordedRewording]:
    """Read the test cases: one rewording for every output."""
    content = read_json(path)
    cases = content.get("test_cases") if isinstance(content, dict) else None
    if not isinstance(cases, list):
        raise BadInput("has no list of test_cases", where=str(path), fix=f"NL-Augmenter's files are {_LAYOUT}")
    for number, case in enumerate(cases, 1):
        yield from _outputs(f"{path}, test case {number}", case)


def _outputs(where: str, case: Any) -> Iterator[RecordedRewording]:
    inputs = case.get("inputs") if isinstance(case, dict) else None
    if not isinstance(inputs, dict) or not _texts(inputs):
        yield RecordedRewording(where, {}, {}, {"case": case}, error="found no texts under inputs")
        return
    outputs = case.get("outputs")
    if isinstance(outputs, bool):  # a filter's output says whether it accepts the text
        yield RecordedRewording(where, {}, {}, {}, reason="by a filter")
        return
    if not isinstance(outputs, list):
        outputs = [outputs]
    for number, output in enumerate(outputs, 1):
        yield _rewording(f"{where}, output {number}", case, inputs, output)


def _rewording(where: str, case: dict[str, Any], inputs: dict[str, Any], output: Any) -> RecordedRewording:
    original = _texts(inputs)
    reworded = _texts(output) if isinstance(output, dict) else {}
    extra = {"transformation": case.get("class"), "args": case.get("args")}
    extra = {name: value for name, value in extra.items() if value is not None}
    identity = inputs.get("id", case.get("id"))
    of = "" if identity is None else str(identity).strip()
    label = label_text(inputs.get("target", inputs.get("label")))
    error = reason = ""
    if not reworded or not reworded.keys() <= original.keys():
        keys = ", ".join(output) if isinstance(output, dict) else shorten(output)
        error = f"found {keys} where inputs have {', '.join(inputs)}"
    elif (target := label_text(output.get("target", output.get("label")))) and not same_label(target, label):
        reason = "with another target"
    return RecordedRewording(where, original, reworded, extra, label, of, reason, error)


def _texts(values: dict[str, Any]) -> dict[str, str]:
    texts = {name: value for name, value in values.items() if isinstance(value, str) and name not in _NO_TEXT}
    return {_NAMES.get(name, name): text for name, text in texts.items()}
