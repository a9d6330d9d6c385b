"""The page: from a run folder to one HTML file, which loads nothing from elsewhere."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup, escape

from ..answers.reading import answered
from ..answers.roles import CONTRAST
from ..errors import BadInput
from ..problem import ALL_MODELS, Score, Task
from ..scoring.grouped import MEAN_OF_MODELS
from ..scoring.measure import FEW_CLUSTERS
from ..scoring.select import explain_no_pairs
from ..storage.files import refuse_overwriting, write_text
from ..storage.run_folder import RunFolder
from ..storage.specs import short_names
from ..validity.funnel import funnel
from . import accounts, browse, flips, numbers, plot
from .figures import STYLE
from .methods import methods
from .noise import mass_sentence, noise_sentence, noise_unknown
from .reading import count_answers, finished_run
from .run_exhibits import MOST_COMPARED, RunExhibits, beyond_scores

#: The order of the footer; entries of the manifest that are not named here follow in their own order.
_FOOTER = ("otherwords", "seed", "study", "signatures", "inputs", "counts", "versions", "timings")
#: Letters of a name up to which it stays on one line.
_SHORT = 20
_KINDS = {"vary": "generators", "check": "checks"}


def write_report(folder: RunFolder, scores: Sequence[Score], out: Path | None = None) -> Path:
    """Render the report of a run folder."""
    manifest = folder.manifest
    task = Task(**manifest["task"])
    with folder.naming_damage():
        page = render_parts(scores, folder.batches("answers"), folder.batches("buckets"), task, manifest, folder)
    path = out or folder.path / "report.html"
    write_text(path, page)
    return path


def rerender(path: str | Path, out: Path | None = None) -> Path:
    """Render the report of a finished run again, from what its folder holds."""
    own = RunFolder(path).path / "report.html"  # which may be written again
    refuse_overwriting(out or own, *(() if out in (None, own) else (path,)))
    return write_report(*finished_run(path), out)


def render(
    scores: Sequence[Score],
    answers: pl.DataFrame,
    buckets: pl.DataFrame,
    task: Task,
    manifest: Mapping[str, Any],
) -> str:
    """Write the report of a study as one HTML page. The same input gives the same bytes.

    `answers` may hold several models; `buckets` has the texts and the verdicts of the checks; of the `manifest`,
    whatever is there is shown.
    """
    return render_parts(scores, [answers.lazy()], [buckets.lazy()], task, manifest)


def render_parts(
    scores: Sequence[Score],
    answers: Sequence[pl.LazyFrame],
    buckets: Sequence[pl.LazyFrame],
    task: Task,
    manifest: Mapping[str, Any],
    folder: RunFolder | None = None,
) -> str:
    """The same of tables that come in parts, of which one is in memory at a time; none splits a bucket.

    With the `folder` that they are of, the page has the models compared, figures and substitutions, too.
    """
    about = count_answers(answers)
    if not scores or about.answers == 0:
        raise BadInput("no scores or no answers", fix="give at least one score and one answer")
    marked, texts = _look_up(about.flips.shown(), answers, buckets)
    constant = about.constant
    several = [score for score in scores if score.model in (ALL_MODELS, MEAN_OF_MODELS)]
    own = [score for score in scores if score.model not in (ALL_MODELS, MEAN_OF_MODELS)]
    models, bars = about.ranked(own)
    own.sort(key=lambda score: models.index(score.model))
    names = short_names(_generators(manifest, buckets))
    balance = accounts.balance(own, about.marks)
    wordings = browse.look_up(about.browsable(buckets, task), answers, buckets, task)
    shown = beyond_scores(folder, models, about, wordings, MOST_COMPARED) if folder else RunExhibits()
    return _template().render(
        title=_title(manifest),
        models=models,
        anchors={model: f"m{place}" for place, model in enumerate(models, 1)},
        constant=constant,
        canary=not _is_off(manifest, "canary"),
        mass=mass_sentence(own),
        noise=noise_sentence(own),
        noise_unknown=noise_unknown(manifest),
        sentence=plot.sentence(own, bars, constant),
        tables=numbers.tables(accounts.without_contrasts(own), names),
        balance=balance,
        more=numbers.tables(balance.more)[1:] if balance else [],
        together=numbers.tables(several, names),
        meanings={metric: numbers.meaning(metric) for metric in dict.fromkeys(score.metric for score in scores)},
        intervals=numbers.intervals(scores),
        confidence=numbers.confidence(scores),
        resampled=numbers.resampled(scores),
        few=FEW_CLUSTERS,
        no_pairs=explain_no_pairs(scores),
        bars=bars,
        described=plot.describe(bars),
        unread=accounts.unread(about.given),
        listings={m: flips.listings(m, about.flips, marked, texts, task, names) for m in models},
        parts=plot.PARTS,
        browse=browse.browsed(wordings, about.wavering, models, task, names),
        exhibits=shown,
        exhibit={one.name: one for one in shown.figures} | {one.name: one for one in shown.tables},
        methods=methods(manifest, scores, task, models, shown.names),
        funnel=funnel(*buckets),
        given_up=accounts.given_up(manifest, names),
        accepted=accounts.accepted(manifest),
        task=task,
        gates=manifest.get("gates") or [],
        warnings=[_plain(warning) for warning in manifest.get("warnings") or ()],
        signed=list(dict.fromkeys(score.signature for score in scores)),
        footer=list(_footer(manifest, scores, names)),
    )


def _look_up(
    wanted: set[str], answers: Sequence[pl.LazyFrame], buckets: Sequence[pl.LazyFrame]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers to some problems, marked, and their texts."""
    names = pl.Series(sorted(wanted), dtype=pl.String).implode()
    some = [part.filter(pl.col("bucket").cast(pl.String).is_in(names)).collect() for part in answers]
    marked = flips.mark_flips(accounts.rewordings(answered(pl.concat(some, how="diagonal_relaxed"))[0]))
    ids = pl.Series(sorted(wanted | set(marked["variant"].drop_nulls())), dtype=pl.String).implode()
    texts = [part.filter(pl.col("id").cast(pl.String).is_in(ids)).collect() for part in buckets]
    return marked, accounts.problems(pl.concat(texts, how="diagonal_relaxed"))


def _generators(manifest: Mapping[str, Any], buckets: Sequence[pl.LazyFrame]) -> list[str]:
    """All generators of the study, and those that made the variants of the data."""
    signatures = manifest.get("signatures")
    varied = signatures.get("vary") if isinstance(signatures, Mapping) else ()
    found: set[str] = set()
    for part in buckets:
        columns = [name for name in part.collect_schema() if name in ("how", CONTRAST)]
        if "how" in columns:
            found |= set(accounts.problems(part.select(columns).unique().collect())["how"].cast(pl.String).drop_nulls())
    return list(dict.fromkeys([*(str(one) for one in varied or ()), *sorted(found)]))


def _is_off(manifest: Mapping[str, Any], setting: str) -> bool:
    study = manifest.get("study")
    return isinstance(study, Mapping) and study.get(setting) is False


def _name(name: str) -> Markup:
    """A name that is not broken inside a word: a long one after a slash, hyphen or underscore, a short one nowhere.

    >>> str(_name("a<b>-c")), str(_name("organisation/a-long-name"))[23:]
    ('<bdi class="name">a&lt;b&gt;-c</bdi>', 'organisation/<wbr>a-<wbr>long-<wbr>name</bdi>')
    """
    if len(name) <= _SHORT:
        return Markup('<bdi class="name">{}</bdi>').format(name)
    return Markup(f'<bdi class="long name">{re.sub("(?<=[/_-])(?=[^/_-])", "<wbr>", str(escape(name)))}</bdi>')


@cache  # compiling takes longer than rendering
def _template() -> jinja2.Template:
    environment = make_environment(jinja2.FunctionLoader(asset))
    script = asset("browse.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {
        "style": Markup(STYLE + asset("page.css")),
        "script": Markup(script),
        "script_hash": f"sha256-{digest}",
    }
    return environment.get_template("page.html.jinja")


def make_environment(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """Where templates of pages about scores are filled in: all texts are escaped, nothing may be missing."""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=loader,
    )
    environment.filters |= {"percent": numbers.percent, "shown": numbers.shown, "count": numbers.count, "name": _name}
    return environment


def asset(name: str) -> str:
    """A file beside this module: the template, and what it puts into the page."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _title(manifest: Mapping[str, Any]) -> str:
    study = manifest.get("study")
    return str(study.get("title") or study.get("name") or "") if isinstance(study, Mapping) else ""


def _footer(
    manifest: Mapping[str, Any], scores: Sequence[Score], names: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections of the footer: a heading, and lines of a name (may be empty) and a value.

    Here alone a signature is written in full; `names` are what the rest of the page calls generators.
    """
    signed = list(dict.fromkeys(score.signature for score in scores))
    yield "metrics", [("", signature) for signature in signed]
    if named := [(short, title.removeprefix(f"{short}=")) for title, short in names.items() if title != short]:
        yield "generators", named
    rest = [key for key in manifest if key not in (*_FOOTER, *accounts.SECTIONS, "warnings")]
    for key in (*_FOOTER, *rest):
        value = manifest.get(key)
        if value in (None, {}, [], ""):
            continue
        if key == "signatures" and isinstance(value, Mapping):
            for kind, listed in value.items():
                known = [*signed, *(names if kind == "vary" else ())]
                lines = [line for line in _lines(listed) if not any(one.startswith(line[1]) for one in known)]
                if lines:
                    yield _KINDS.get(str(kind), str(kind)), lines
        elif key == "inputs" and isinstance(value, Sequence):
            yield key, [line for one in value for line in _input(one)]
        else:
            yield key, list(_lines(value))


def _lines(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        yield from ((str(name), _plain(part)) for name, part in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from (("", _plain(part)) for part in value)
    else:
        yield "", _plain(value)


def _input(one: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(one, Mapping):
        yield "", _plain(one)
        return
    about = {key: part for key, part in one.items() if key not in ("signature", "files")}
    yield "", _plain(about or one.get("signature", ""))
    for file in one.get("files") or ():
        known = file if isinstance(file, Mapping) else {"name": file}
        size = f"{known['bytes']:,} bytes" if isinstance(known.get("bytes"), int) else ""
        digest = f"sha256 {known.get('sha256', '–')}"
        yield _plain(known.get("name", "")), f"{size} {digest}".strip()


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(value, ensure_ascii=False, default=str)
