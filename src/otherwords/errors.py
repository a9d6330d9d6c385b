"""The tree of errors: each says what is wrong, where, and how to fix it.

OtherwordsError
├── BadInput         input that cannot be used: `where`, `field`, `message`, `fix`
│   └── Unmeasurable a metric needs what the answers do not have
├── UnknownName      a name that does not exist; the message lists those that do
├── MissingExtra     an optional dependency is not installed
├── WrongAnswer      a model broke its contract
├── LabelOrder       a model's labels seem permuted (exit code 1)
├── GateFailed       a score misses a required value (exit code 1)
└── Busy             another process is using the folder
"""


class OtherwordsError(Exception):
    """The root of all errors that the package raises itself. The command line exits with `exit_code`."""

    exit_code = 2


class BadInput(OtherwordsError):
    """Input that cannot be used, with its place: "dev.jsonl, line 4711: label: found 'maybe'; use ...".

    `where` is a file and line, a plug-in or a setting; `field` a column or option in it; `fix` how to solve it.
    """

    def __init__(self, message: str, *, where: str = "", field: str = "", fix: str = ""):
        self.message, self.where, self.field, self.fix = message, where, field, fix
        place = ": ".join(part for part in (where, field) if part)
        text = f"{place}: {message}" if place else message
        super().__init__(f"{text}; {fix}" if fix else text)


class Unmeasurable(BadInput):
    """A metric needs what the answers table lacks: probabilities, texts, a second model."""


class UnknownName(OtherwordsError):
    """A name that no registry, task or column has; the message lists those that exist."""


class MissingExtra(OtherwordsError):
    """An optional dependency is not installed; the message names the command that installs it."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part: pip install 'otherwords[{extra}]'")


class WrongAnswer(OtherwordsError):
    """A model returned something that is not one answer per problem."""


class LabelOrder(OtherwordsError):
    """The canary questions show that the model's labels are permuted."""

    exit_code = 1


class GateFailed(OtherwordsError):
    """A score misses a value that the user required."""

    exit_code = 1


class Busy(OtherwordsError):
    """Another process is writing to the same folder."""


def shorten(value: object, limit: int = 60) -> str:
    """Return a value as an error message may show it: its `repr`, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
