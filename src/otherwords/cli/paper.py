"""otherwords paper"""

import typer

app = typer.Typer(help="Run a paper's whole protocol on your own data and models.", no_args_is_help=True)
