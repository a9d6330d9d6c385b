"""otherwords list"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as opt
from .display import console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from ..problem import Task
    from ..registry import Plugin

#: What stands for a value that the user must give, by its name or type.
_PLACEHOLDERS = {"path": "FILE", "name": "NAME_OR_FOLDER", "target": "module:function", "train": "FILE", "Path": "FILE"}
#: A command that uses a plug-in of each kind.
_EXAMPLES = {
    "datasets": "otherwords vary {spec} --with contractions -o variants.jsonl",
    "generators": "otherwords vary everyday --with {spec} -o variants.jsonl",
    "checks": "otherwords vary everyday --with recorded --suite | otherwords check - --with {spec} -o suite.jsonl",
    "masked_lms": "otherwords vary everyday --with 'masked-lm(models={bare})' -o variants.jsonl",
    "writers": "otherwords vary everyday --with 'paraphrase(model={bare})' -o variants.jsonl",
    "encoders": "otherwords check suite.jsonl --with 'similarity(encoder={bare})' -o checked.jsonl",
    "models": "otherwords answer everyday --model {spec} -o answers.jsonl",
    "trainers": "otherwords train {name} --data everyday -o FOLDER",
    "metrics": "otherwords score answers.jsonl --metric {spec}",
    "papers": "otherwords reproduce {name} --data FOLDER",
    "templates": "otherwords answer everyday --model gguf:FILE --template {name} -o answers.jsonl",
    "tasks": "otherwords answer problems.jsonl --task {name} --model python:module:function -o answers.jsonl",
}


#: Kinds of things that are data, and no plug-ins.
_DATA = ("templates", "tasks")


def list_plugins(
    what: Annotated[
        str,
        typer.Argument(
            metavar="KIND|NAME",
            help="datasets, generators, checks, masked_lms, writers, encoders, models, trainers, metrics, papers, "
            "templates or tasks; or the name of one of them, for its full description.",
        ),
    ] = "",
    plugin: opt.Plugins = [],  # noqa: B006
    json: opt.Json = False,
) -> None:
    """List models, metrics and other plug-ins, or describe one.

    Lists every data set, generator, check, masked-LM, writer, encoder, model, trainer, metric, paper, template and
    task, with its options.
    """
    from ..models.templates import presets
    from ..problem import TASKS
    from ..registry import KINDS

    kind = what.replace("-", "_")  # masked-lms, as one writes it elsewhere
    if what and kind not in (*KINDS, *_DATA):
        found = _named(what)
        if json:
            print_json(found)
        for one in () if json else found:
            _print_one(one)
        return
    rows = [_row(registry.kind, one) for registry in KINDS.values() if kind in ("", registry.kind) for one in registry]
    templates = [_template(name) for name in presets()] if kind in ("", "templates") else []
    tasks = [_task(task) for task in TASKS.values()] if kind in ("", "tasks") else []
    if json:
        print_json([*rows, *templates, *tasks])
        return
    for some in filter(None, (rows, templates, tasks)):
        _print_table(some)


def _row(kind: str, plugin: Plugin) -> dict[str, Any]:
    needs = {}
    if kind == "metrics":
        from ..metrics.metric import needs_of

        needs = {"needs": needs_of(plugin)}
    return {
        "kind": kind,
        "name": plugin.full_name,
        "options": plugin.shown_options(),
        "summary": plugin.summary,
        "language": plugin.language,
        "extra": plugin.extra,
        "measured": plugin.measured,
        **needs,
    }


def _task(task: Task) -> dict[str, Any]:
    from ..problem import ABOUT_TASKS

    lists = {name: list(getattr(task, name)) for name in ("fields", "labels", "targets", "optional", "cluster")}
    return {"kind": "tasks", "name": task.name, **lists, "summary": ABOUT_TASKS[task.name]}


def _template(name: str) -> dict[str, Any]:
    from ..models.templates import read_preset

    template = read_preset(name)
    about = {"task": template.task.name, "words": [*template.words.values()], "summary": template.summary}
    return {"kind": "templates", "name": name, **about}


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = [{**_shown(row), "summary": "\n".join([row["summary"], *_needs(row)])} for row in rows]
    table = Table(header_style="bold")
    for name in shown[0]:
        table.add_column(name, overflow="fold", no_wrap=name in ("kind", "name"))
    for before, row in zip([shown[0], *shown], shown, strict=False):
        if before["kind"] != row["kind"]:
            table.add_section()
        table.add_row(*map(Text, row.values()))  # brackets are brackets here, not markup
    console().print(table)


def _shown(row: dict[str, Any]) -> dict[str, str]:
    hidden = ("language", "extra", "measured", "needs", "optional", "cluster")
    return {k: ", ".join(v) if isinstance(v, list) else v for k, v in row.items() if k not in hidden}


def _needs(row: dict[str, Any]) -> list[str]:
    """What a user must know before using it: its language, the part to install, and how sound its variants were."""
    lines = ["English only"] if row.get("language") == "en" else []
    lines += [f"looks at: {row['uses']}"] if row.get("uses") else []
    lines += [f"needs {row['needs']}"] if row.get("needs", "–")[0] not in "–(" else []
    lines += [f"needs: pip install 'otherwords[{row['extra']}]'"] if row.get("extra") else []
    return lines + ([row["measured"]] if row.get("measured") else [])


# One thing in full


def _named(name: str) -> list[dict[str, Any]]:
    """All things of that name, of any kind and version."""
    from ..models.templates import presets
    from ..problem import TASKS
    from ..registry import KINDS

    found = [
        _full(registry.kind, plugin)
        for registry in KINDS.values()
        for plugin in registry
        if name in (plugin.name, plugin.full_name)
    ]
    if name in presets():
        example, text = _EXAMPLES["templates"].format(name=name), presets()[name].read_text(encoding="utf-8")
        found.append({**_template(name), "about": text, "example": example})
    found += [{**_task(TASKS[name]), "example": _EXAMPLES["tasks"].format(name=name)}] if name in TASKS else []
    if not found:
        from difflib import get_close_matches

        from ..errors import UnknownName

        kinds = [*KINDS, *_DATA]
        known = [*kinds, *TASKS, *presets(), *(plugin.name for registry in KINDS.values() for plugin in registry)]
        asked = name.partition("(")[0].partition(":")[0].lower()  # of a whole spec, what comes before its options
        inside = [one for one in known if asked in (one, one.split("_")[0], one.split("-")[0])]
        near = ", ".join(dict.fromkeys([*inside, *get_close_matches(asked, known, n=3, cutoff=0.75)][:5]))
        hint = f"did you mean {near}? The" if near else "the"
        raise UnknownName(f"no kind and nothing named {name!r}; {hint} kinds are: {', '.join(kinds)}.")
    return found


def _full(kind: str, plugin: Plugin) -> dict[str, Any]:
    import inspect
    import typing

    from ..registry import KINDS

    hints = typing.get_type_hints(plugin.factory)
    options = [
        {"name": name, "type": _type(hints.get(name)), "required": default is ..., "default": _default(default)}
        for name, default in plugin.options().items()
        if name != "task"
    ]
    newest = KINDS[kind].get(plugin.name)
    name = plugin.name if plugin.full_name == newest.full_name else plugin.full_name
    example = _EXAMPLES[kind].format(name=name, **_spec(name, options))
    about = inspect.getdoc(plugin.factory) or ""
    more = {**_of_metric(kind, plugin), **_of_structural(plugin)}
    return {**_row(kind, plugin), **more, "options": options, "about": about, "example": example}


def _of_structural(plugin: Plugin) -> dict[str, Any]:
    """The kinds of rewriting, with their rates."""
    if plugin.full_name != "structural.v2":
        return {}
    from ..variants.soundness import describe_kinds

    return {"kinds": [row._asdict() for row in describe_kinds()]}


def _of_metric(kind: str, plugin: Plugin) -> dict[str, Any]:
    """Which answers a metric looks at; unknown where making it loads a model."""
    if kind != "metrics" or plugin.extra or ... in plugin.options().values():
        return {}
    from ..metrics.metric import as_metric

    metric = as_metric(plugin.factory())
    return {"uses": metric.uses}


def _type(hint: Any) -> str:
    return str(getattr(hint, "__name__", "") if isinstance(hint, type) else hint).replace("pathlib.", "")


def _default(value: Any) -> Any:
    """A default as JSON has it; a required option, and a path that is not given, have none."""
    if value is ...:
        return None
    return value if isinstance(value, (str, int, float, bool, list, type(None))) else getattr(value, "name", str(value))


def _spec(name: str, options: list[dict[str, Any]]) -> dict[str, str]:
    """How a plug-in is written in a command: with a placeholder for what it cannot do without."""
    needed = [(one["name"], _PLACEHOLDERS.get(one["name"], _PLACEHOLDERS.get(one["type"], "..."))) for one in options]
    required = [pair for pair, one in zip(needed, options, strict=True) if one["required"]]
    if not required:
        return {"spec": name, "bare": name}
    if len(required) == 1 and required[0][0] == options[0]["name"]:
        return {"spec": f"{name}:{required[0][1]}", "bare": f"{name}:{required[0][1]}"}
    written = f"{name}({', '.join(f'{option}={value}' for option, value in required)})"
    return {"spec": f"'{written}'", "bare": written}


def _print_one(one: dict[str, Any]) -> None:
    from rich.text import Text

    screen, kind = console(), "masked-LM" if one["kind"] == "masked_lms" else one["kind"].removesuffix("s")
    article = "an" if kind == "encoder" else "a"
    lines = [f"{one['name']}: {article} {kind}", "", *one.get("about", one["summary"]).splitlines(), ""]
    if one["kind"] == "tasks":
        lists = (name for name in ("fields", "labels", "targets", "optional", "cluster") if one[name])
        lines += [f"{name}: {', '.join(one[name])}" for name in lists]
    elif "options" in one:
        lines += ["options:" if one["options"] else "no options"]
        lines += [f"  {option['name']}: {option['type']}{_ending(option)}" for option in one["options"]]
    lines += [*_needs(one), f"example: {one['example']}", ""]
    for line in lines:
        screen.print(Text(line), soft_wrap=True)
    if "kinds" in one:
        screen.print(_kinds_table(one["kinds"]))


def _kinds_table(kinds: list[dict[str, Any]]) -> Table:
    """Kinds of rewriting, with how many variants were sound of how many that were read, and whether they are on."""
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", show_lines=True)
    for name in ("kind", "example", "what it leaves alone", *kinds[0]["domains"]):
        table.add_column(name, overflow="fold", no_wrap=name == "kind" or name in kinds[0]["domains"])
    for row in kinds:
        table.add_row(*map(Text, (row["kind"], row["example"], row["left_alone"], *row["domains"].values())))
    return table


def _ending(option: dict[str, Any]) -> str:
    import json

    return " (required)" if option["required"] else f" = {json.dumps(option['default'], ensure_ascii=False)}"
