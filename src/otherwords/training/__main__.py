"""Train prepared folders on a machine where only torch, transformers and numpy are installed."""

import sys
from pathlib import Path

from ..errors import OtherwordsError
from ..progress import Progress, reporting_to
from .history import FILE
from .prepared import train_prepared
from .trainer import finish_if_begun


class _Lines(Progress):
    """Prints a line for every stage: there may be no terminal."""

    def start(self, stage: str, total: int | None = None) -> None:
        print(f"{stage}: {total}", flush=True)


def main() -> int:
    """`python -m otherwords.training FOLDER...`: train what `otherwords train --prepare` wrote."""
    if len(sys.argv) < 2:
        print("usage: python -m otherwords.training FOLDER...", file=sys.stderr)
        return 2
    for folder in map(Path, sys.argv[1:]):
        try:
            with reporting_to(_Lines()):
                print(folder, finish_if_begun(folder, train_prepared(folder)), flush=True)
        except KeyboardInterrupt:
            print("interrupted; run again to resume from the last checkpoint", file=sys.stderr)
            return 130
        except OtherwordsError as error:
            print(error, file=sys.stderr)
            return error.exit_code
        print((folder / FILE).read_text(encoding="utf-8"), end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
