"""Run a page of the documentation as a reader would: every block, in order, in an empty folder.

    python tests/support/pages.py docs/for-practitioners.md            # run it: is what it shows what comes out?
    python tests/support/pages.py --update docs/for-practitioners.md   # write what came out into it; read the diff

Blocks are marked `sh` or `python`; a `text` block after one shows its output, where a line `...` stands for anything.
A comment before a block marks it: `<!-- slow -->` (only with `--slow`), `<!-- alone -->` (a process of its own),
`<!-- not run -->` (it installs something), `<!-- numbers vary -->` (its output is compared without its numbers).
A plain `otherwords ...` line runs in this process, because starting one takes a second; `--processes` starts them all.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FENCE = re.compile(r"(?:^<!-- (?P<marks>[^>]*) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
ASSIGNMENT = re.compile(r"(?:export )?([A-Z_]+)=(\S+)\s*(?:#.*)?")
OR_CODE = ' || echo "exit code $?"'
HEREDOC = re.compile(r"<<\s*'?(\w+)'?")
RUN = ("sh", "python")
ANYTHING = "..."
#: A number, or an interval; and lines or blanks that are as long as numbers make them.
NUMBER, FILLING = re.compile(r"-?\d[\d,.]*(?: – -?\d[\d.]*)?|(?<=│)(?: +–)+(?= )"), re.compile(r"[━─ ]+")
DEFINE = f'''
python() {{ "{sys.executable}" "$@"; }}
otherwords() {{ python -c "from otherwords.cli import main; main()" "$@"; }}
'''


@dataclass
class Block:
    """A block of a page, and what the page shows as its output."""

    language: str
    text: str
    line: int
    marks: tuple[str, ...] = ()
    shown: Block | None = None
    start: int = 0


def read_blocks(page: Path) -> list[Block]:
    """All blocks of a page, each with the `text` block that comes after it."""
    text, found = page.read_text(encoding="utf-8"), []
    for match in FENCE.finditer(text):
        marks = tuple(mark.strip() for mark in (match["marks"] or "").split(",") if mark.strip())
        line = text.count("\n", 0, match.start("text"))
        block = Block(match["language"], match["text"], line, marks, start=match.start("text"))
        if block.language == "text" and found and found[-1].shown is None:
            found[-1].shown = block
        else:
            found.append(block)
    return found


def commands(text: str) -> Iterator[str]:
    """The commands of a block: continued lines are joined, a here-document stays with its command."""
    lines = iter(text.splitlines())
    for line in lines:
        command = line
        while command.endswith("\\"):
            command = command[:-1] + next(lines).strip()
        if end := HEREDOC.search(command):
            for more in lines:
                command += "\n" + more
                if more == end[1]:
                    break
        if command.strip() and not command.lstrip().startswith("#"):
            yield command


@dataclass
class Reader:
    """Somebody who follows a page; knows the folder, the variables and the names that earlier blocks left."""

    processes: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def follow(self, block: Block) -> tuple[str, str]:
        """Run a block; return what it wrote to standard output and to standard error."""
        if block.language == "python":
            return self.python(block)
        out, err = zip(*(self.command(one) for one in commands(block.text)), strict=True)
        return "".join(out), "".join(err)

    def python(self, block: Block) -> tuple[str, str]:
        if "alone" in block.marks:
            return in_shell(f"python - <<'END'\n{block.text}END")
        forget_own_modules()
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            exec(compile(block.text, f"block at line {block.line}", "exec"), self.names)
        return out.getvalue(), err.getvalue()

    def command(self, text: str) -> tuple[str, str]:
        if assignment := ASSIGNMENT.fullmatch(text):
            os.environ.setdefault(assignment[1], assignment[2])
            return "", ""
        if text.startswith("cd "):
            os.chdir(os.path.expandvars(text.removeprefix("cd ").strip()))
            return "", ""
        plain = text.removesuffix(OR_CODE)
        if self.processes or not is_plain(plain):
            return in_shell(text)
        return in_this_process(plain, tolerant=plain != text)


def is_plain(text: str) -> bool:
    """Whether it is one call of `otherwords`, without pipes or redirection."""
    if not text.startswith("otherwords "):
        return False
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    return not any(set(word) <= set("|&;<>()") for word in words)


def in_shell(text: str) -> tuple[str, str]:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{DEFINE}{text}"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def in_this_process(text: str, tolerant: bool) -> tuple[str, str]:
    """Call the application; with `tolerant`, print the exit code where it is not 0."""
    from typer.testing import CliRunner

    from otherwords.cli.app import app

    forget_own_modules()
    result = CliRunner().invoke(app, shlex.split(os.path.expandvars(text), comments=True)[1:])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code != 0 and not tolerant:
        raise RuntimeError(f"exit code {result.exit_code}\n{result.stdout}{result.stderr}")
    code = f"exit code {result.exit_code}\n" if result.exit_code != 0 else ""
    return result.stdout + code, result.stderr


def forget_own_modules() -> None:
    """Modules that the page wrote are imported afresh, as a new process would."""
    here = str(Path.cwd().resolve())
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(here):
            del sys.modules[name]


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def without_numbers(text: str) -> str:
    """A text whose numbers are all alike.

    >>> without_numbers("│ flip_rate │  5.0 % │ 0.0 – 9.9 │") == without_numbers("│ flip_rate │ 50.0 % │ 10.0 – 99.9 │")
    True
    """
    return FILLING.sub(" ", NUMBER.sub(" 0", text))


def differs(shown: str, out: str, err: str, vary: bool = False) -> bool:
    """Whether a page shows what did not come out: one of the streams, both, or parts of either around `...`."""
    if vary:
        shown, out, err = map(without_numbers, (shown, out, err))
    streams = [tidy(text) for text in (out, err, f"{err}\n{out}") if text]
    parts = [part.strip("\n") for part in re.split(rf"^{re.escape(ANYTHING)}$", tidy(shown), flags=re.M)]
    if len(parts) == 1:
        return parts[0] not in streams
    return any(not any(f"\n{part}\n" in f"\n{text}\n" for text in streams) for part in parts if part)


def run_page(page: Path, options: argparse.Namespace) -> list[str]:
    """Run a page in the current folder; return what went wrong, and write outputs into it with `update`."""
    reader = Reader(options.processes)
    failures, changes = [], []
    for block in read_blocks(page):
        skipped = "not run" in block.marks or ("slow" in block.marks and not options.slow)
        if skipped or block.language not in RUN:
            continue
        place, began = f"{page.parent.name}/{page.name}, line {block.line + 1}", time.process_time()
        try:
            out, err = reader.follow(block)
        except (Exception, SystemExit):
            failures.append(f"{place}\n{block.text}\n{traceback.format_exc()}")
            continue
        if options.times:
            print(f"{time.process_time() - began:6.2f} s  {place}", file=sys.stderr)
        if block.shown and differs(block.shown.text, out, err, vary="numbers vary" in block.marks):
            changes.append((block.shown, shown_of(out, err)))
            shown = block.shown.text
            failures.append(f"{place}\n{block.text}\nshown:\n{shown}\nfound:\n{out}\n--- standard error:\n{err}")
    if options.update:
        write_shown(page, changes)
    return failures


def shown_of(out: str, err: str) -> str:
    """What a page shows of an output; of a refusal, the reason is worth as much as the exit code."""
    return tidy(f"{err}\n{out}" if out.startswith("exit code") else out or err)


def write_shown(page: Path, changes: list[tuple[Block, str]]) -> None:
    """Put new outputs into a page; those with `...` are left for a person."""
    text = page.read_text(encoding="utf-8")
    for shown, new in reversed(changes):
        if ANYTHING not in shown.text.splitlines():
            text = text[: shown.start] + new + "\n" + text[shown.start + len(shown.text) :]
    page.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--slow", action="store_true", help="run the blocks marked slow, too")
    parser.add_argument("--processes", action="store_true", help="start a process for every command")
    parser.add_argument("--update", action="store_true", help="write what came out into the page")
    parser.add_argument("--times", action="store_true", help="print the CPU time of each block")
    options = parser.parse_args()
    os.environ["COLUMNS"] = "110"
    sys.path.insert(0, "")
    given, failures = dict(os.environ), []
    for page in [page.resolve() for page in options.pages]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ.clear()
            os.environ.update(given, OTHERWORDS_CACHE=str(Path(folder, "cache.sqlite")))
            work = Path(folder, "work")
            work.mkdir()
            os.chdir(work)
            failures += run_page(page, options)
            os.chdir("/")
    print("\n\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
