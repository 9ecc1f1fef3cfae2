"""The example notebooks run from their first cell to their last one, and show what they promise."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
SECONDS = 300
"""After which a cell counts as hanging, also on slow machines."""
CHECKS = {
    "researcher": """
        assert (frame["cost"] > best.cost * (1 - 1e-9)).all()
        assert frame["cost"].idxmin() == "value" and frame.loc["value", "above the optimum"] < 0.02
        assert frame.loc["greedy", "above the optimum"] > 1
        assert (both["bursts"] > both["Poisson"]).all()
        expected = stationary_law(scenario, "greedy").to_dict()["blocking"]
        assert abs(frame.loc["greedy", "blocking"] - expected) < 1e-12
    """,
    "operator": """
        assert len(training) == 208 and scenario.workload.classes[0].name == "train"
        assert found.choice.kept and found.performance.queueing.mean_wait < 1
        assert tight.load < 1 and 0.4 * 64 < smallest < 64
        assert found.sizes[0].choice.performance.queueing.mean_wait.interval[0] < 1
        assert cases["limit kept"].all() and len(cases) > 8
    """,
}
SHOWN = {"researcher": (6, 3), "operator": (5, 3)}
"""Tables and pictures among the outputs."""


def read(name: str):
    return pytest.importorskip("nbformat").read(FOLDER / f"{name}.ipynb", 4)


def test_every_notebook_is_among_those_tested():
    assert {path.stem for path in FOLDER.iterdir()} == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_notebooks_are_kept_without_outputs(name):
    cells = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert len(cells) > 5
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


@pytest.mark.long
@pytest.mark.parametrize("name", CHECKS)
def test_every_cell_of_a_notebook_runs_and_its_results_show_themselves(name, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    new_code_cell = pytest.importorskip("nbformat.v4").new_code_cell
    config = pytest.importorskip("traitlets.config").Config()
    pytest.importorskip("ipykernel")
    config.ConnectionFileMixin.transport = "ipc"  # no port is opened
    monkeypatch.chdir(tmp_path)
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    notebook = read(name)
    lines = (line.strip() for line in CHECKS[name].strip().splitlines())
    notebook.cells.append(new_code_cell("\n".join(lines)))
    nbclient.NotebookClient(notebook, timeout=SECONDS, config=config).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert [out["text"] for out in outputs if out.get("name") == "stderr"] == []
    shown = [set(out.get("data", {})) for out in outputs]
    tables = sum("text/html" in each for each in shown)
    assert (tables, sum("image/png" in each for each in shown)) == SHOWN[name]
