"""The pages of the documentation: links, navigation, and the list of the Python names.

`make docs` checks the links of the site, too, with the anchors of the generated reference.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import moldable
from verification import result_tables, results_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
OTHERS = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
FENCE = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
VERDICTS = """\
one: Whether *a* is b.
  holds  1.5 (bound 4)  a | b: standard errors
  10 refused
3056 inputs so far
  (0.3 min)
all hold
three beginstwo: Another.
  FAILS  5 (bound 4)  c
  (1.0 min)
three: It breaks.
  holds  0 (bound 0)  d
"""
REPLAYED = """\
linear: tuned policy idle share
rigid EASY   wait 4,974 s, response    14,702 s, slowdown    64.3; \
response / wait / slowdown +0.0 / +0.0 / +0.0 %; 0% earlier, 0% later
tuned        wait 2,870 s, response    14,690 s, slowdown    39.0; \
response / wait / slowdown +0.0 / -41.5 / -39.2 %; 24% earlier, 27% later
1 to 10 hours  4,339 jobs: mean response   20,200 s ->   17,163 s; 29% earlier, 19% later
"""
REFERENCE = DOCS / "reference/python.md"


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as the site and GitHub make them."""
    found: set[str] = set()
    for line in prose(page).splitlines():
        if heading := re.fullmatch(r"#+ (.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
            while slug in found:
                slug += "_1"
            found.add(slug)
    return found


@pytest.mark.parametrize("page", [*OTHERS, *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page):
    dead = []
    for link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert not dead


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == [str(page.relative_to(DOCS)) for page in PAGES]


def test_every_page_is_linked_from_the_home_page_or_from_the_contents_of_its_folder():
    contents = [DOCS / "index.md", DOCS / "paper/index.md", DOCS / "results/index.md"]
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in contents
        for link in LINK.findall(prose(page))
    }
    assert set(PAGES) - linked <= {DOCS / "index.md"}


def named(text: str) -> object:
    """Return the object with a dotted name."""
    value: object = moldable
    for part in text.split(".")[1:]:
        value = getattr(value, part)
    return value


def test_the_reference_lists_every_public_name_once():
    packages = {name: getattr(moldable, name) for name in moldable.__all__}
    packages = {name: value for name, value in packages.items() if inspect.ismodule(value)}
    public = {f"moldable.{name}": getattr(moldable, name) for name in moldable.__all__}
    public = {name: value for name, value in public.items() if not inspect.ismodule(value)}
    sub_packages = packages | {
        name: importlib.import_module(f"moldable.{name}")
        for name in ("live.report", "live.rehearsal", "live.learning")
    }
    for package, module in sub_packages.items():
        public |= {f"moldable.{package}.{name}": getattr(module, name) for name in module.__all__}
    text = REFERENCE.read_text()
    listed = re.findall(r"^::: (\S+)", text, re.MULTILINE)
    listed = [name for name in listed if name != "moldable.errors"]
    members = re.search(r"members: \[(.*?)\]", text, re.DOTALL)
    listed += [f"moldable.errors.{name}" for name in re.split(r",\s+", members[1])]
    documented = [id(named(name)) for name in listed]
    assert len(set(documented)) == len(documented)
    assert {name for name, value in public.items() if id(value) not in documented} == set()


def test_the_page_of_verdicts_counts_what_fails_and_what_did_not_end():
    page = results_page.page(VERDICTS, ["one", "two", "three", "four"])
    assert "3 checks in 4 experiments. Experiments that failed: 3." in page
    assert "| [one](#one) | Whether \\*a\\* is b. | 1 | all hold | 0.3 |" in page
    assert "| a \\| b: standard errors | 1.5 | 4 | yes |" in page
    assert "\n- 10 refused\n" in page
    assert "| [two](#two) | Another. | 1 | **1 fail** | 1.0 |" in page
    assert "| [three](#three) | It breaks. | 1 | **did not end** |  |" in page
    assert "| [four](#four) |  | 0 | **did not end** |  |" in page


def test_tables_of_the_results_are_made_of_what_experiments_print():
    system = (
        "Amdahl 0.95, n = 10, load 0.5: optimum 0.311; % above: tuned 0.03, value policy 0.1, "
        "even-price 1.20, idle-share 9.00, greedy inf, fixed:4 7.00 (value policy)"
    )
    made = result_tables.queue_policies(["a line of another kind", system])
    row = "0.311 | 0.03 | 0.1 | 1.20 | 9.00 | unstable | 7.00 (fixed:4)"
    assert made.splitlines()[2:] == [f"| Amdahl 0.95, n = 10, load 0.5 | {row} |"]
    limit = "n = 8, load 0.7, 3 places, limit 0.04: 0.27 % above, 99.9 % of the limit is used"
    made = result_tables.queue_limits([limit])
    assert made.splitlines()[2:] == ["| n = 8, load 0.7, 3 places | 0.04 | 0.27 | 99.9 |"]
    made = result_tables.kth_replay(REPLAYED.splitlines())
    assert "| any | rigid EASY | 4,974 | 14,702 | 64.3 | +0.0 / +0.0 / +0.0 | 0 % | 0 % |" in made
    assert (
        "| linear | tuned: idle share | 2,870 | 14,690 | 39.0 | +0.0 / -41.5 / -39.2 | 24 % "
        in made
    )
    assert "| 1 to 10 hours | 4,339 | 20,200 | 17,163 | 29 % | 19 % |" in made


def test_every_table_of_the_results_has_its_place_in_a_page():
    for name, (file, _) in result_tables.TABLES.items():
        text = (result_tables.FOLDER / file).read_text()
        assert text.index(f"<!-- {name}: generated -->") < text.index(f"<!-- {name}: end -->")
