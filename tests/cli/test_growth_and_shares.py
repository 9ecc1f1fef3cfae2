"""Options that take a share or a growth, as a number or as a percentage."""

from __future__ import annotations

import json

import pytest

SYSTEM = ("--speedup", "1,1.8,2.5", "--servers", "8", "--policy", "greedy", "--json")


def blocking(run, *words):
    result = run("evaluate", *SYSTEM, *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["blocking"]


def test_growth_multiplies_the_arrivals(run):
    grown = blocking(run, "--load", "0.72")
    assert blocking(run, "--load", "0.6", "--growth", "1.2") == pytest.approx(grown, rel=1e-12)
    assert blocking(run, "--load", "60%", "--growth", "20%") == pytest.approx(grown, rel=1e-12)
    assert blocking(run, "--load", "0.8", "--growth=-10%") == pytest.approx(grown, rel=1e-12)
    assert blocking(run, "--load", "0.6") < grown


def test_growth_multiplies_the_rates_of_a_workload_file(run, tmp_path):
    text = "servers = 8\n[[class]]\narrival_rate = {}\nspeedup = [1, 1.8, 2.5]\n"
    (tmp_path / "now.toml").write_text(text.format(5.0))
    (tmp_path / "then.toml").write_text(text.format(6.0))
    words = ("evaluate", "--policy", "greedy", "--json", "--workload")
    grown = json.loads(run(*words, "now.toml", "--growth", "1.2", cwd=tmp_path).stdout)
    assert grown["blocking"] == pytest.approx(
        json.loads(run(*words, "then.toml", cwd=tmp_path).stdout)["blocking"], rel=1e-12
    )
    assert grown["inputs"]["scenario"]["classes"][0]["arrival_rate"] == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--load", "0.6x"), "'0.6x' is not a valid number; write it like 0.02 or 2%"),
        (("--load", "0.6", "--growth", "20 %%"), "'20 %%' is not a valid number"),
        (("--load", "0.6", "--growth", "0"), "--growth 0 must be finite and above 0"),
        (("--load", "0.6", "--growth=-100%"), "--growth 0 must be finite and above 0"),
        (("--load", "0.6", "--precision", "200%"), "--precision 2 must lie between 0 and 1"),
    ],
)
def test_other_texts_end_with_code_2(run, words, message):
    result = run("evaluate", *SYSTEM, *words)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["tune", "plan"])
def test_a_limit_may_be_a_percentage(run, tmp_path, command):
    (tmp_path / "c.toml").write_text(
        "servers = 6\n[[class]]\narrival_rate = 4\nspeedup = [1, 1.8]\n"
    )
    file = ("c.toml",) if command == "plan" else ("--workload", "c.toml")
    words = (command, *file, "--max-blocking")
    found = [run(*words, limit, "--seed", "1", cwd=tmp_path) for limit in ("0.15", "15%")]
    assert [each.returncode for each in found] == [0, 0]
    assert found[0].stdout == found[1].stdout
