"""otherwords convert"""

from typing import Annotated

import typer

from . import options as opt
from .display import print_json, print_line


def convert(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model with pickled weights: hf:NAME, a hub name or a folder.")
    ],
    out: Annotated[str, typer.Option("-o", "--out", metavar="FOLDER", help="A new folder for the converted model.")],
    revision: Annotated[
        str, typer.Option("--revision", metavar="NAME", help="A branch, tag or commit on the hub.")
    ] = "",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Convert a model's pickled weights to safetensors.

    Weights in .bin files become safetensors, which hf: loads. Loading a pickle can run code, so the file is read in a
    separate process that accepts only weights; a file with anything else is refused. The result is loaded once, as a
    test, before the folder gets its name.
    """
    from ..exporting.converting import convert as write

    folder = write(model, out, revision)
    if json:
        print_json({"folder": str(folder), "model": f"hf:{folder}"})
    elif not quiet:
        print_line(f"converted to {folder}: use it as -m hf:{folder}")
