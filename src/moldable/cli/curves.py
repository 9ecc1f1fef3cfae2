"""`moldable curves`: published measured curves."""

from __future__ import annotations

from typing import Annotated

import typer

from moldable.cli import output
from moldable.cli.options import JsonOption


def curves(
    *,
    name: Annotated[str | None, typer.Argument(help="Show one curve.", metavar="[NAME]")] = None,
    json: JsonOption = False,
) -> None:
    """List published speed-up curves, or show one.

    Every curve has its source. Use one with --speedup curve:NAME.

    \b
    Examples:
      moldable curves
      moldable curves bert-aws-t4
      moldable optimum --speedup curve:bert-aws-t4 --load 0.8
    """
    from moldable.files.published_curves import published_curve, published_curves

    if name is not None:
        curve = published_curve(name)
        if json:
            output.print_json(curve.to_dict())
            return
        from moldable.reporting.curves_text import show_curve

        show_curve(output.console(), curve)
        return
    known = published_curves()
    if json:
        output.print_json({"curves": [curve.to_dict() for curve in known]})
        return
    from moldable.reporting.curves_text import show_curves

    show_curves(output.console(), known)
