"""What was found out about texts, each distinct text looked at once.

It is kept on disk for the life of the process, so that a second pass over the same texts costs little and memory stays
flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from threading import Lock

from ..storage.scratch import Scratch

#: Texts looked up, and looked at where they are new, at a time.
CHUNK = 1024


class Remembering:
    """Asks `look` about texts, some at a time, and remembers the strings that it answers, one for each.

    >>> asked = []
    >>> lengths = Remembering(lambda texts: asked.extend(texts) or (str(len(text)) for text in texts))
    >>> list(lengths(["a", "bb", "a"])), list(lengths(["bb"])), asked
    ([('a', '1'), ('bb', '2'), ('a', '1')], [('bb', '2')], ['a', 'bb'])
    """

    def __init__(self, look: Callable[[Sequence[str]], Iterable[str]]):
        self._look = look
        self._lock = Lock()
        self._known = Scratch()
        self._known.execute("create table known (text blob primary key, found text) without rowid")

    def __call__(self, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Every text with what was found, in order."""
        stream = iter(texts)
        while some := list(islice(stream, CHUNK)):
            with self._lock:  # neither the database nor a pipeline is made for two at a time
                found = self._found(some)
            yield from ((text, found[text]) for text in some)

    def _found(self, texts: Sequence[str]) -> dict[str, str]:
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        found = {key: self._look_up(key) for key in keys.values()}
        if fresh := [text for text, key in keys.items() if found[key] is None]:
            told = {keys[text]: one for text, one in zip(fresh, self._look(fresh), strict=True)}
            self._known.execute("begin")
            self._known.executemany("insert into known values (?, ?)", told.items())
            self._known.execute("commit")
            found.update(told)
        return {text: found[key] or "" for text, key in keys.items()}

    def _look_up(self, key: bytes) -> str | None:
        row = self._known.execute("select found from known where text = ?", (key,)).fetchone()
        return None if row is None else str(row[0])
