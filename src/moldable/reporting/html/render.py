"""A report as HTML: a template that escapes every text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from moldable.errors import InputError, printable
from moldable.reporting.html.document import Document
from moldable.system.provenance import version
from moldable.text_files import check_writable, write_whole

OPTION: Final = "--report"
NEEDED: Final = {"jinja2": "Jinja2", "matplotlib": "matplotlib"}
"""Modules that a report needs, and the names of their packages."""


def check_report(path: Path, source: Path | None = None) -> None:
    """Refuse a report that could not be written, before the work begins.

    Args:
        path: of the report.
        source: the file that is read; a report does not replace it.
    """
    import importlib.util

    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise InputError(
            f"{OPTION} needs {' and '.join(missing)}; install the extra: "
            f"pip install 'moldable[report]'"
        )
    check_writable(path, OPTION, source)


def write_report(document: Document, path: Path) -> None:
    """Write a report atomically."""
    write_whole(path, to_html(document).encode(), OPTION)


def to_html(document: Document) -> str:
    """Return the page; texts of files are escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def plain(value: Any) -> Any:
        return value if isinstance(value, Markup) else printable(str(value))

    environment = Environment(
        loader=PackageLoader("moldable.reporting.html", ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=plain,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    # Drawings are made by matplotlib and an XML writer, which escape their texts.
    environment.filters["drawing"] = Markup
    page = environment.get_template("page.html.jinja")
    return page.render(document=document, version=version("moldable"), newline=Markup("\n"))
