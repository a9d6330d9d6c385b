"""Words that betray a label in SNLI and MultiNLI: the five strongest of each (Gururangan et al. 2018, Table 4)."""

from __future__ import annotations

#: By corpus and label, the strongest first, as the paper prints them.
ARTIFACTS: dict[str, dict[str, tuple[str, ...]]] = {
    "snli": {
        "entailment": ("outdoors", "least", "instrument", "outside", "animal"),
        "neutral": ("tall", "first", "competition", "sad", "favorite"),
        "contradiction": ("nobody", "sleeping", "no", "tv", "cat"),
    },
    "mnli": {
        "entailment": ("some", "yes", "something", "sometimes", "various"),
        "neutral": ("also", "because", "popular", "many", "most"),
        "contradiction": ("never", "no", "nothing", "any", "none"),
    },
}
