"""otherwords export"""

from typing import Annotated

import typer

from ..problem import parse_label_map
from . import options as opt
from .display import bars, console, print_json, print_line


def export(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A classifier or masked-LM of transformers: a folder, or a hub name."),
    ],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="Where to write; an earlier export is replaced, other files are kept.",
        ),
    ],
    weights: Annotated[
        str,
        typer.Option("--weights", metavar="KIND", help="How weights are stored: int8, fp16 or fp32."),
    ] = "int8",
    on: Annotated[
        list[str],
        typer.Option("--on", metavar="DATA", help="Held-out problems to compare on, as in snli:FILE; may be repeated."),
    ] = ["everyday"],  # noqa: B006
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit",
            metavar="SHARE",
            help="Write nothing and exit with 1 if more than this share of answers changes. Default: 0.01 of the "
            "labels, 0.05 of a masked-LM's best words.",
        ),
    ] = None,
    revision: Annotated[
        str, typer.Option("--revision", metavar="NAME", help="A branch, tag or commit on the Hugging Face hub.")
    ] = "",
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    label_map: opt.LabelMap = [],  # noqa: B006
    plugin: opt.Plugins = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Export a model as a small ONNX file.

    The result loads as onnx:FOLDER, without torch. Weights are stored in a small format; arithmetic stays fp32, so no
    answer depends on the batch. The exported file and the original first answer the same problems; the export is
    refused if more than --limit of the answers change, or if they depend on the order of the problems.
    """
    from ..exporting.export import export as write
    from ..exporting.export import record
    from .tables import export_table

    columns, labels = opt.pairs(field, "--field"), opt.pairs(label, "--label")
    names = parse_label_map(",".join(label_map))
    data = {"task": task, "columns": columns, "labels": labels, "skip_bad": skip_bad, "label_map": names}
    with bars(quiet or json):
        exported = write(path, out, weights=weights, on=on, limit=limit, revision=revision, **data)  # type: ignore[arg-type]
    if json:
        print_json({"path": exported.path, **record(exported)})
    elif not quiet:
        console().print(export_table(exported))
        used = (
            f"-m onnx:{exported.path} --label-map {'=...,'.join(exported.labels)}=..."
            if exported.nameless
            else f"onnx:{exported.path}"
        )
        print_line(f"{exported.size / 1e6:,.1f} MB of {exported.weights} written to {exported.path}: use it as {used}")
