"""The manual page is current, and reads without warnings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from scripts.man_page import PAGE, _text, page


def program(name: str) -> str:
    """Return the path of a program of Debian; without it the test is skipped, or fails in CI."""
    found = shutil.which(name)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"{name} is not installed; install it with: make engines")
    if found is None:
        pytest.skip(f"{name} is not installed; install it with: make engines")
    return found


def rendered(source: str) -> str:
    """Return what man shows; any warning of groff fails."""
    words = [program("groff"), "-man", "-Tutf8", "-ww", "-P-cbou"]
    result = subprocess.run(words, input=source, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return result.stdout


def test_the_page_is_that_of_the_present_commands():
    assert PAGE.read_text() == page(), "the help has changed; run: make man"


def test_the_page_shows_every_command_with_its_options(run):
    text = " ".join(rendered(PAGE.read_text()).split()).replace("\N{HYPHEN} ", "")
    commands = run("--help").stdout.partition("Commands:")[2]
    listed = re.findall(r"^  ([a-z]+) ", commands, re.MULTILINE)
    assert len(listed) > 10
    for name in listed:
        assert f" moldable {name} " in text
    for words in ("moldable slurm submit", "moldable slurm install", "moldable live report"):
        assert words in text
    for option in ("--max-blocking", "--heartbeat", "--install-completion", "--class-by"):
        assert option in text


def test_mandoc_finds_no_errors():
    words = [program("mandoc"), "-T", "lint", "-W", "error", str(PAGE)]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize(
    "text", [r"a \fBb\n", ".SH no section", "'br", "--option", 'a "quoted" word', "plain"]
)
def test_texts_are_shown_as_they_are(text):
    shown = rendered(f".TH T 1\n{_text(text)}\n")
    assert text in shown.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
