"""`moldable simulate` as a user and as a script see it."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
import threading
import time

import pytest

from commands import begun

PAPER = ("--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--servers", "40")
QUICK = ("--jobs", "1e4", "--seed", "1")
KEYS = [
    "blocking",
    "blocking_interval",
    "mean_execution_time",
    "mean_execution_time_interval",
    "time_unit",
    "quantiles",
    "width_shares",
    "mean_jobs",
    "busy_fraction",
    "departure_rate",
    "classes",
    "method",
    "reason",
    "states",
    "error_bound",
    "neglected_mass",
    "estimator",
    "arrivals",
    "arrivals_per_second",
    "seed",
    "kernel",
    "start",
    "warmup",
    "converged",
    "interrupted",
    "warnings",
    "provenance",
    "inputs",
]


def test_json_is_one_object_with_the_promised_keys(run):
    result = run("simulate", *PAPER, *QUICK, "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert list(answer) == KEYS
    assert list(answer["quantiles"]) == ["0.5", "0.9", "0.99"]
    low, high = answer["blocking_interval"]
    assert low < answer["blocking"] < high
    assert answer["seed"] == 1
    assert answer["arrivals"] == pytest.approx(640_000, rel=0.02)


def test_plain_output_has_error_bars_and_the_seed(run):
    result = run("simulate", *PAPER, *QUICK)
    assert "Blocking: 0.1" in result.stdout
    assert "±" in result.stdout
    assert "95 % confidence interval" in result.stdout
    assert "seed 1" in result.stdout


def test_waits_that_no_simulated_job_had_are_not_called_exact(run):
    asked = ("--speedup", "1", "--load", "0.05", "--servers", "60", "--waiting", "unlimited")
    result = run("simulate", *asked, *QUICK)
    words = " ".join(result.stdout.split())
    assert "jobs that wait: none of those simulated, at most 0.0" in words
    assert "exact" not in words
    answer = json.loads(run("simulate", *asked, *QUICK, "--json").stdout)
    assert (answer["mean_wait"], answer["wait_probability"]) == (0.0, 0.0)
    assert answer["mean_wait_interval"] is answer["queue_length_interval"] is None
    assert 0.0 < answer["wait_probability_interval"][1] < 1e-3


def test_policies_sizes_and_estimators_can_be_chosen(run):
    greedy = json.loads(run("simulate", *PAPER, *QUICK, "--policy", "greedy", "--json").stdout)
    roomy = json.loads(
        run("simulate", *PAPER, *QUICK, "--policy", "greedy-p:0.95", "--json").stdout
    )
    plain = json.loads(run("simulate", *PAPER, *QUICK, "--json").stdout)
    assert roomy["blocking"] < plain["blocking"] < greedy["blocking"]
    assert roomy["mean_execution_time"] > plain["mean_execution_time"]
    heavy = run("simulate", *PAPER, *QUICK, "--size", "pareto", "--estimator", "realised", "--json")
    assert json.loads(heavy.stdout)["mean_execution_time_interval"] is None
    assert "no normal interval" in heavy.stderr


def test_sizes_may_come_from_a_file(run, tmp_path):
    (tmp_path / "sizes.csv").write_text("size\n1\n2\n9\n")
    asked = ("simulate", *PAPER, *QUICK, "--json")
    result = run(*asked, "--size", "sizes.csv", cwd=tmp_path)
    answer = json.loads(result.stdout)
    assert answer["kernel"] == "bucket-ring"
    assert "sizes in sizes.csv have mean 4; times are in the same unit" in result.stderr
    # At the same load and in the unit of the file: four times what unit mean sizes give.
    plain = json.loads(run(*asked, cwd=tmp_path).stdout)
    assert answer["mean_execution_time"] == pytest.approx(
        4 * plain["mean_execution_time"], rel=0.02
    )


def test_arrivals_are_named_on_the_command_line_or_in_the_file(run, tmp_path):
    curve = ("--speedup", "1", "--load", "0.5", "--servers", "4", *QUICK, "--json")
    even, bursty = (
        json.loads(run("simulate", *curve, "--arrivals", f"renewal:{cv}").stdout) for cv in (0, 3)
    )
    assert even["blocking"] < 0.5 * bursty["blocking"]
    assert bursty["provenance"]["arrivals"] == "renewal:lognormal:3"
    (tmp_path / "w.toml").write_text(
        "servers = 4\narrivals = 'renewal:3'\n[[class]]\narrival_rate = 2\nspeedup = [1]\n"
    )
    asked = ("simulate", "--workload", "w.toml", *QUICK, "--json")
    named = json.loads(run(*asked, cwd=tmp_path).stdout)
    assert named["blocking"] == bursty["blocking"]
    (tmp_path / "times.csv").write_text("time\n0\n1\n3\n4\n")
    listed = run(*asked, "--arrivals", "times.csv", "--warmup", "0", cwd=tmp_path)
    assert json.loads(listed.stdout)["arrivals"] == 64 * 4
    assert "times.csv has 4 arrivals, 0.75 jobs per unit of time" in listed.stderr


def test_workloads_are_simulated_by_class(run):
    result = run("simulate", "--workload", "examples/cluster.toml", *QUICK)
    assert result.returncode == 0, result.stderr
    assert "By class" in result.stdout
    assert "training" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*PAPER, "--jobs", "0"), "--jobs 0 must be a whole number"),
        ((*PAPER, "--jobs", "2.5"), "--jobs 2.5 must be a whole number"),
        ((*PAPER, "--replications", "0"), "--replications 0"),
        ((*PAPER, "--size", "parito"), "did you mean 'pareto'"),
        ((*PAPER, "--size", "KTH.swf"), "unknown size law 'KTH.swf'"),
        ((*PAPER, "--arrivals", "mmpp:1,2:3"), "2 levels have 2 switching rates"),
        ((*PAPER, "--size", "pareto:0.9"), "mean"),
        ((*PAPER, "--policy", "greedi"), "did you mean 'greedy'"),
        ((*PAPER, "--policy", "greedy-p:x"), "'x' is not a design load"),
        ((*PAPER, "--policy", "greedy-p:1.5"), "busy servers"),
        ((*PAPER, "--start", "ful"), "start 'ful' is unknown"),
        ((*PAPER, "--start", "3=x"), "'3=x' is not width=count"),
        ((*PAPER, "--start", "3=1,3=2"), "width 3 is given twice"),
        ((*PAPER, "--seed", "-1"), "--seed -1"),
        ((*PAPER, "--start", "3=100"), "need 300 servers"),
        ((*PAPER, "--estimator", "x"), "estimator 'x' is unknown"),
        ((*PAPER, "--precision", "-1"), "--precision -1"),
        ((*PAPER, "--threads", "0"), "--threads 0"),
        ((*PAPER, "--dask", "tcp://127.0.0.1:1"), "no Dask scheduler answers at tcp://127.0.0.1:1"),
        ((*PAPER, "--dask", "nonsense"), "no Dask scheduler answers at nonsense"),
        (("--speedup", "8=6", "--load", "0.5", "--servers", "4"), "narrowest"),
        (("--speedup", "linear:5", "--load", "0.5"), "give --servers N"),
        (("--workload", "examples/cluster.toml", "--load", "1"), "leave out --speedup, --load"),
    ],
)
def test_bad_input_is_explained_and_ends_with_2(run, arguments, message):
    result = run("simulate", *arguments, "--json")
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.long
def test_what_was_compiled_is_kept(run_process, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first = run_process("simulate", *PAPER, *QUICK, "--start", "3=10")
    assert first.returncode == 0
    assert "start given" in first.stdout
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")}
    assert kept
    assert run_process("simulate", *PAPER, *QUICK).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")} == kept


def test_a_terminal_sees_progress_and_a_pipe_does_not(run, on_terminal):
    words = ["simulate", *PAPER, "--size", "deterministic", "--jobs", "1e5", "--seed", "1"]
    shown = on_terminal(*words)
    assert "replications" in shown
    assert "/s" in shown
    assert "replications" not in run(*words).stderr


@pytest.mark.parametrize("greeting", [None, b"HTTP/1.0 400 Bad Request\r\n\r\n" * 3])
def test_whatever_listens_but_is_no_scheduler_is_refused_in_time(run, greeting, monkeypatch):
    monkeypatch.setattr("moldable.cli.dask_cluster.SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            with listener.accept()[0] as client:
                if greeting:
                    client.sendall(greeting)
                with contextlib.suppress(OSError):
                    client.recv(1)  # until the other side hangs up

        listening = threading.Thread(target=answer, daemon=True)
        listening.start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        began = time.monotonic()
        result = run("simulate", *PAPER, *QUICK, "--dask", address)
        assert time.monotonic() - began < 20
        listening.join()
    assert result.returncode == 2
    assert f"no Dask scheduler answers at {address}" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_interrupted_command_says_so_and_ends_with_130():
    often = (
        "from moldable.__main__ import main\nfrom moldable.cli import output\n"
        "output.INTERVAL = 0.1\nmain()"
    )
    command = [sys.executable, "-c", often, "simulate", *PAPER, "--size", "deterministic"]
    # On one thread each 31 replications are kept when they have ended.
    options = ["--jobs", "1e5", "--replications", "1000", "--threads", "1", "--json"]
    with begun([*command, *options], r"progress: [1-9]\d\d ") as process:
        process.send_signal(signal.SIGINT)
        shown, notes = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"interrupted: these are the" in notes
    assert json.loads(shown)["converged"] is False
    assert json.loads(shown)["interrupted"] is True
