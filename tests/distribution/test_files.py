"""The files for other installers, and for citation, agree with pyproject.toml and each other."""

from __future__ import annotations

import re
import shlex
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from moldable import __version__

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
CONDA_NAMES = {"matplotlib-base": "matplotlib", "ray-core": "ray"}
"""Packages whose names differ at conda-forge."""
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAPER = ROOT / "joss" / "paper.md"


def versions() -> list[str]:
    found = [re.fullmatch(r".*:: Python :: (3\.\d+)", text) for text in PROJECT["classifiers"]]
    return [match[1] for match in found if match]


def specified(texts: list[str]) -> set[tuple[str, str]]:
    """Return names and versions of requirements of pip."""
    found = [Requirement(text) for text in texts]
    return {(requirement.name, str(requirement.specifier)) for requirement in found}


def conda_specified(texts: list[str]) -> set[tuple[str, str]]:
    """Return names and versions of requirements of conda, which has a space between them."""
    pairs = [text.split(" ", 1) for text in texts]
    return {(CONDA_NAMES.get(name, name), version) for name, version in pairs}


def recipe() -> dict:
    """Return the conda recipe with its variables replaced."""
    text = (ROOT / "recipe" / "recipe.yaml").read_text()
    context = yaml.safe_load(text)["context"]
    for name, value in context.items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    return yaml.safe_load(text)


def container() -> list[tuple[str, str]]:
    """Return the instructions of the container file."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in lines]


def test_the_recipe_has_the_requirements_of_the_project():
    requirements = recipe()["requirements"]
    python, *others = requirements["run"]
    assert python == f"python {PROJECT['requires-python']}"
    assert conda_specified(others) == specified(PROJECT["dependencies"])
    listed = {text for texts in EXTRAS.values() for text in texts}
    assert conda_specified(requirements["run_constraints"]) == specified(sorted(listed))
    host = {text.split()[0] for text in requirements["host"]}
    assert host == {"python", "pip", *PYPROJECT["build-system"]["requires"]}


def test_the_recipe_has_the_version_and_the_command_of_the_project():
    found = recipe()
    assert found["package"] == {"name": PROJECT["name"], "version": __version__}
    assert found["about"]["license"] == PROJECT["license"]
    (command,) = found["build"]["python"]["entry_points"]
    name, _, target = command.partition(" = ")
    assert {name: target} == PROJECT["scripts"]
    assert PROJECT["description"].startswith(found["about"]["summary"])


def test_every_command_of_the_recipe_and_the_container_works(run):
    (script,) = [test["script"] for test in recipe()["tests"] if "script" in test]
    inside = [text for kind, text in container() if kind == "RUN" and text.startswith("moldable ")]
    assert inside
    for command in (*script, *inside):
        program, *words = shlex.split(command)
        assert program == "moldable"
        assert run(*words).returncode == 0, command


def test_the_container_installs_the_checkout_with_the_pinned_versions():
    lines = container()
    (install,) = [text for kind, text in lines if kind == "RUN" and text.startswith("pip ")]
    assert "--constraint constraints.txt" in install
    extras = re.findall(r"'\.\[([a-z,]+)\]'", install)
    assert extras
    assert set(extras[0].split(",")) <= set(EXTRAS)
    images = [text for kind, text in lines if kind == "FROM"]
    assert all(image.startswith("python:${PYTHON}-slim") for image in images)
    assert dict(lines)["ARG"].removeprefix("PYTHON=") in versions()
    assert dict(lines)["ENTRYPOINT"] == '["moldable"]'
    assert dict(lines)["USER"].isdecimal()  # not root


def test_what_the_build_needs_is_not_kept_out_of_the_container():
    rules = (ROOT / ".containerignore").read_text().split()
    kept = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    shared = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    needed = {PROJECT["readme"], *PROJECT["license-files"], "src", "constraints.txt"}
    assert rules[0] == "*"
    assert kept == needed | {"pyproject.toml"} | {Path(name).parts[0] for name in shared}


@pytest.mark.parametrize("page", ["docs/how-to/install.md"])
def test_the_commands_of_the_container_file_are_documented(page):
    comment = re.findall(r"^#   (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert len(comment) == 2
    text = (ROOT / page).read_text()
    for command in comment:
        assert command in text


def test_the_citation_is_that_of_the_project():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["version"] == __version__
    assert found["license"] == PROJECT["license"]
    assert found["authors"] == PROJECT["authors"]
    assert found["keywords"] == PROJECT["keywords"]


def test_the_checks_of_every_submission_run_under_every_supported_version():
    (workflow,) = [path for path in WORKFLOWS if path.stem == "ci"]
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == versions()
    assert any(step.get("run") == ".ci/run" for step in job["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_actions_and_run_what_exists(path):
    assert len(WORKFLOWS) == 3
    jobs = yaml.safe_load(path.read_text())["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    for step in steps:
        if "uses" in step:
            assert re.fullmatch(r"[a-z-]+/[a-z-]+@[0-9a-f]{40}", step["uses"])
    for target in re.findall(r"^\s*- run: make (\w+)$", path.read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_one_job_alone_may_publish_and_no_password_is_used():
    (path,) = [path for path in WORKFLOWS if path.stem == "publish"]
    text = path.read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    assert "secrets." not in text
    assert all("checkout" not in step["uses"] for step in jobs["publish"]["steps"])


def test_no_file_names_an_address():
    files = [*WORKFLOWS, ROOT / "Containerfile", ROOT / "recipe" / "recipe.yaml", ROOT / "Makefile"]
    assert [path.name for path in files if "://" in path.read_text()] == []


def test_the_paper_cites_what_it_lists():
    _, head, body = PAPER.read_text().split("---\n", 2)
    found = yaml.safe_load(head)
    assert [author["name"] for author in found["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    date.fromisoformat(str(found["date"]))
    bibliography = (PAPER.parent / found["bibliography"]).read_text()
    entries = re.findall(r"^@\w+\{(\w+),$", bibliography, re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", body)) == set(entries)
    sections = re.findall(r"^# (.*)$", body, re.MULTILINE)
    assert sections[:2] == ["Summary", "Statement of need"]
    assert sections[-1] == "References"
    assert len(body.split()) < 1000
