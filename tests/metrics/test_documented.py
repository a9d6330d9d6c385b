"""The page of metrics names those that are pinned, and none that does not exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from otherwords.registry import metrics

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_every_pinned_metric_is_on_the_page() -> None:
    pinned = json.loads((TESTS / "golden" / "plugins.json").read_text(encoding="utf-8"))
    names = {name.partition(".")[0] for kind, name in map(str.split, pinned) if kind == "metrics"}
    assert {name for name in names if not re.search(rf"`{name}[`(]", PAGE)} == set()
    assert len(names) > 50


def test_every_metric_in_a_table_exists() -> None:
    cells = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `") and line.count("|") == 4]
    named = {name for cell in cells for name in re.findall(r"`(\w+)[`(]", cell)}
    suites, tests = {"breaking_nli", "monli", "med"}, {"mcnemar", "cochran", "tost", "ie"}
    assert named - suites - tests <= {plugin.name for plugin in metrics}
    assert len(named) > 40
