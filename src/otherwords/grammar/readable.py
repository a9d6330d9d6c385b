"""Which texts are put to a parser: not the empty, not those that are too long, and none with letters that are none."""

from __future__ import annotations

import re

#: Letters of a text that is rewritten.
LONGEST = 20_000
#: Byte order marks, control characters, halves of surrogate pairs.
_NO_LETTERS = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\ufeff\\ud800-\\udfff]")


def why_unreadable(text: str) -> str:
    """Why a text is not parsed; nothing where it is.

    >>> why_unreadable("A dog."), why_unreadable(" "), why_unreadable("A dog. " * 3000)
    ('', 'empty', 'longer than 20,000 letters')
    """
    if not text.strip():
        return "empty"
    if len(text) > LONGEST:
        return f"longer than {LONGEST:,} letters"
    return "it has control characters" if _NO_LETTERS.search(text) else ""
