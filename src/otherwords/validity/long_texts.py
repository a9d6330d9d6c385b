"""Texts longer than a judge or an encoder reads: what it did not see may say anything, and it cannot vouch for them.

Such variants are dropped. To keep them without a verdict would be to let them pass: what no check drops is asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..problem import Verdict

_LONG = "longer than the"


def too_long(reader: str) -> str:
    """The reason of a drop.

    >>> too_long("judge")
    'longer than the judge reads'
    """
    return f"{_LONG} {reader} reads"


def tell_long(where: str, reader: str, verdicts: Sequence[Verdict]) -> None:
    """Warn, once for all these verdicts, of variants that could not be read to their end."""
    if count := sum(_LONG in verdict.reason for verdict in verdicts):
        found = f"{count:,} of {len(verdicts):,} variants have texts longer than {reader} reads, and do not pass"
        fix = "a larger max_length of it, where it has the option, changes that"
        warnings.warn(f"{where}: {found}: what was cut off may say anything; {fix}", stacklevel=3)
