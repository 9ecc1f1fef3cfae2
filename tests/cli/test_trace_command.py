from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from moldable import Scenario

LOG = str(Path(__file__).parents[2] / "examples" / "slurm-week.txt")
RULE = ("--class-by", "name:^(train|eval|solve)")


@pytest.mark.parametrize("columns", [60, 92, 140])
def test_a_log_is_described_in_words_and_tables(run, columns):
    result = run("trace", LOG, *RULE, "--servers", "64", columns=columns)
    assert result.returncode == 0
    assert max(map(len, result.stdout.splitlines())) <= columns
    text = " ".join(result.stdout.split())
    for part in (
        "512 jobs in 6.65 d, from 2026-11-02 02:04:00",
        "Cluster: 64 gpus, as given; offered load 0.684, utilisation 0.683",
        "Wait: mean 3.87 h",
        "interarrival CV",
        "Jobs per hour, by day of the week",
    ):
        assert part in text, part
    assert "servers are gpus" in result.stderr


def test_json_has_the_figures_the_distributions_and_what_was_skipped(run):
    found = json.loads(run("trace", LOG, *RULE, "--servers", "64", "--json").stdout)
    assert found["jobs"] == 512
    assert [part["name"] for part in found["classes"]] == ["eval", "train", "solve"]
    assert (
        sum(found["classes"][0]["run_time"]["histogram"]["counts"]) == found["classes"][0]["jobs"]
    )
    assert {each["reason"] for each in found["skipped"]} >= {"job step", "not finished"}
    assert len(found["by_hour"]) == 24
    assert found["inputs"] == {"source": LOG}


def test_a_drafted_workload_can_be_used(run, tmp_path):
    result = run(
        *("trace", LOG, *RULE, "--servers", "64", "--curve", "amdahl:0.95", "--draft", "w.toml"),
        cwd=tmp_path,
    )
    assert result.stdout.endswith("Drafted workload: w.toml; its comments state the assumptions.\n")
    scenario = Scenario.read(tmp_path / "w.toml")
    assert [part.name for part in scenario.workload.classes] == ["eval", "train", "solve"]
    assert run("optimum", "--workload", "w.toml", cwd=tmp_path).returncode == 0
    quiet = run("trace", LOG, "--json", "--draft", "w.toml", cwd=tmp_path)
    assert json.loads(quiet.stdout)["jobs"] == 512


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("absent.txt",), "absent.txt cannot be read: no such file"),
        ((".",), "is a directory"),
        ((LOG, "--class-by", "acount"), "--class-by 'acount' is unknown; did you mean 'account'?"),
        ((LOG, "--count", "gpu"), "--count 'gpu' is unknown; did you mean 'gpus'?"),
        ((LOG, "--format", "slurm"), "'slurm' is unknown"),
        ((LOG, "--servers", "8"), "--servers 8 is less than the 32 gpus of the widest job"),
        ((LOG, "--servers", "0"), "--servers 0 must be a whole number"),
        ((LOG, "--columns", "submit"), "--columns submit: write ROLE=NAME"),
        ((LOG, "--columns", "submit=x"), "applies to CSV files only"),
        ((LOG, "--curve", "linear"), "--curve is used only with --draft FILE.toml"),
        ((LOG, "--draft", "x.toml", "--curve", "amdal:0.9"), "unknown model 'amdal'"),
        ((LOG, "--draft", "/dev/full"), "--draft /dev/full cannot be written"),
        ((LOG, "--most-classes", "0"), "--most-classes 0 must be a whole number"),
        ((), "Missing argument 'LOG'"),
    ],
)
def test_bad_input_is_an_error_of_one_sentence(run, tmp_path, words, message):
    result = run("trace", *words, cwd=tmp_path)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_log_without_dates_or_starts_says_so(run, tmp_path):
    (tmp_path / "log.csv").write_text("submit,run_time,servers\n0,60,2\n30,9000,4\n")
    text = run("trace", "log.csv", cwd=tmp_path).stdout
    assert "Waits are unknown" in text
    assert "The log has no dates" in text


def test_names_in_a_log_are_text_not_markup_or_control_codes(run, tmp_path):
    rows = "0,60,2,[bold]x[/bold]\n9,60,2,\x1b[31mred\n"
    (tmp_path / "log.csv").write_text("submit,run_time,servers,user\n" + rows)
    text = run("trace", "log.csv", "--class-by", "user", cwd=tmp_path).stdout
    assert "[bold]x[/bold]" in text
    assert "\x1b[31m" not in text


SACCT = r"""
function cell(name) { return $(c[name] + (NF > N) * ((c[name] > c["JobName"]) + \
                                                     (c[name] > c["Comment"]))) }
NR == 1 { for (k = 1; k <= NF; k++) c[$k] = k; N = NF; next }
index(cell("JobID"), ".")      { n["job step"]++; next }
cell("State") == "REQUEUED"    { n["earlier run of a requeued job"]++; next }
cell("State") ~ /^CANCELLED/ && cell("Start") ~ /^(None|Unknown)$/ \
                               { n["cancelled before it started"]++; next }
cell("ElapsedRaw") == 0        { n["run time of 0 s"]++; next }
                               { n["jobs"]++ }
END { for (k in n) print n[k] " " k }
"""
"""Counts rows of sacct; in one row the name and the comment of the job have a "|"."""
JOBCOMP = r"""
{ split("", f)
  for (k = 1; k <= NF; k++) { p = index($k, "="); f[substr($k, 1, p - 1)] = substr($k, p + 1) } }
f["JobState"] == "PENDING"     { n["earlier run of a requeued job"]++; next }
f["JobState"] == "CANCELLED" && f["NodeList"] == "(null)" \
                               { n["cancelled before it started"]++; next }
f["StartTime"] == f["EndTime"] { n["run time of 0 s"]++; next }
                               { n["jobs"]++ }
END { for (k in n) print n[k] " " k }
"""


@pytest.mark.parametrize(
    ("name", "separator", "program"),
    [
        ("sacct_jobs.txt", "|", SACCT),
        ("sacct_all_fields.txt", "|", SACCT),
        ("jobcomp_filetxt.txt", " ", JOBCOMP),
    ],
)
def test_rows_left_out_of_real_slurm_logs_are_those_that_awk_counts(
    run, real_data, name, separator, program
):
    path = str(real_data / "slurm" / name)
    words = ["awk", "-F", separator, program, path]
    counted = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    expected = {
        reason: int(count)
        for count, _, reason in (line.partition(" ") for line in counted.splitlines())
    }
    printed = run("trace", path, "--count", "cpus").stdout
    table = printed.partition("Rows left out:")[2].partition("Cluster:")[0]
    rows = dict(re.findall(r"^ (\S.*?)  +(\d+)  ", table, re.MULTILINE))
    jobs = re.search(r": (\d+) jobs in", " ".join(printed.split()))
    found = {reason: int(count) for reason, count in rows.items()} | {"jobs": int(jobs[1])}
    assert found == expected
    assert sum(expected.values()) == len(Path(path).read_text().splitlines()) - (separator == "|")
