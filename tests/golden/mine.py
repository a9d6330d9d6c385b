"""A model that is a Python function."""


def by_length(batch):
    """The longer the hypothesis, the less it follows."""
    return [[0.5, 0.25, 0.25] if len(text) < 40 else [0.125, 0.125, 0.75] for text in batch["hypothesis"]]
