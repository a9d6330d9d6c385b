"""How often words occur in a corpus: a data set or a text file, signed by its content."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..datasets.source import Source, find
from ..errors import BadInput, caller_level, decode, refuse_other_encoding
from ..storage.files import digest, fingerprint

#: A word as corpora are counted: letters alone.
LETTERS = re.compile(r"[^\W\d_]+")


class Frequencies:
    """Columns with the frequency of a lower-case word in a corpus; none where there is no corpus."""

    def __init__(self, corpus: Path):
        self._corpus = corpus
        self.identity = () if corpus == Path() else (f"corpus-{content(corpus)}",)

    def __call__(self, word: str) -> dict[str, Any]:
        """The columns `frequency` and `frequency_band` of a word."""
        if self._corpus == Path():
            return {}
        count = _counted(self._corpus, self.identity)[word]
        return {"frequency": count, "frequency_band": band(count)}


def band(count: int) -> str:
    """The power of ten that a count lies in.

    >>> [band(count) for count in (0, 1, 9, 10, 1234)]
    ['0', '1-9', '1-9', '10-99', '1000-9999']
    """
    low = 10 ** (len(str(count)) - 1)
    return f"{low}-{10 * low - 1}" if count else "0"


def content(corpus: Path) -> str:
    """A digest of the files of a corpus, which may be named as a data set (snli:FILE)."""
    files = [corpus] if corpus.suffix == ".txt" else find(str(corpus)).function.files
    if lost := [file for file in files if not file.exists()]:
        raise BadInput("no such file", where=f"the corpus {lost[0]}", fix="give a data set or a .txt file")
    return digest(*(fingerprint(file) for file in files))[:12]


def texts(corpus: Path) -> Iterator[str]:
    """The texts of a corpus: all fields of a data set, or the lines of a text file."""
    if corpus.suffix == ".txt":
        yield from _lines(corpus)
        return
    source = Source((str(corpus),), skip_bad=True, gold="any")
    try:
        for row in source:
            yield from (row[name] for name in source.chosen.fields if row[name])
    except BadInput as error:
        fix = "--task, --field and --label do not apply to a corpus: give a data set in a known layout, or a .txt file"
        raise BadInput(str(error), where=f"the corpus {corpus}", fix=fix) from error
    if left := source.intake.rejected:
        warnings.warn(
            f"the corpus {corpus}: {len(left)} rows left out, the first: {left[0]['reason']}", stacklevel=caller_level()
        )


def word_counts(corpus: Path) -> Counter[str]:
    """How often each lower-case word occurs in a corpus."""
    return _counted(corpus, (f"corpus-{content(corpus)}",))


@lru_cache(maxsize=4)
def _counted(corpus: Path, identity: tuple[str, ...]) -> Counter[str]:
    """All words of a corpus, counted when first needed, and again only after its content has changed."""
    return Counter(word for text in texts(corpus) for word in LETTERS.findall(text.lower()))


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            refuse_other_encoding(file.peek(), str(path))
            lines = (decode(line, str(path)).strip() for line in file)
            yield from (line for line in lines if line)
    except OSError as error:
        raise BadInput(f"cannot be read: {error}", where=str(path), fix="give one sentence per line, UTF-8") from error
