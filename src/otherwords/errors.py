"""What can go wrong, as a tree: every error says what was found, where, and what would work."""

from __future__ import annotations


class OtherwordsError(Exception):
    """The root: whatever the toolkit itself refuses to do. The command line ends with `exit_code`."""

    exit_code = 2


class BadInput(OtherwordsError):
    """Input that cannot be used, pinned to a place: "dev.jsonl, line 4711: label: found 'maybe'; use ..."."""

    def __init__(self, message: str, *, where: str = "", field: str = "", found: object = None, fix: str = ""):
        self.message, self.where, self.field, self.found, self.fix = message, where, field, found, fix
        place = ": ".join(part for part in (where, field) if part)
        text = f"{place}: {message}" if place else message
        super().__init__(f"{text}; {fix}" if fix else text)


class Unmeasurable(BadInput):
    """A metric needs what the answers table does not have: probabilities, texts, a second model."""


class UnknownName(OtherwordsError):
    """A name that no registry, task or column has; the message lists those that exist."""


class MissingExtra(OtherwordsError):
    """A part that needs an optional dependency; the message is the command that installs it."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part: pip install 'otherwords[{extra}]'")


class WrongAnswer(OtherwordsError):
    """A model returned something that is not one answer per problem."""


class LabelOrder(OtherwordsError):
    """The canary shows that the model's labels are permuted."""

    exit_code = 1


class GateFailed(OtherwordsError):
    """A score does not meet what the user required of it."""

    exit_code = 1


class Busy(OtherwordsError):
    """Another process is writing to the same run folder."""


def shorten(value: object, limit: int = 60) -> str:
    """Show a found value in an error message without flooding the terminal."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
