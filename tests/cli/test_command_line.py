"""The command as a whole: help, version, start-up, bounds."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moldable import Scenario, tune
from moldable.cli import _in_options
from moldable.errors import InputError
from moldable.live.plan_file import read_plan, write_plan
from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAVY = ("numba", "scipy", "scipy.optimize", "matplotlib")


COMMANDS = (
    *("plan", "run", "trace", "replay", "fit", "curves"),
    *("optimum", "evaluate", "compare", "simulate", "tune", "tradeoff", "bounds", "explore"),
    *("examples", "doctor"),
)
SLOW = {"plan", "tune"}
GROUPS = {"slurm": ("submit", "agent", "status", "rescue", "install"), "live": ("report",)}
"""Commands with commands of their own; their examples need a cluster, or its journal."""
PAGES = (
    (),
    *((name,) for name in (*COMMANDS, *GROUPS)),
    *((group, name) for group, names in GROUPS.items() for name in names),
)


def test_the_help_lists_every_command(run):
    top = run("--help")
    assert top.returncode == 0
    listed = top.stdout.partition("Commands:")[2]
    commands = re.findall(r"^  ([a-z]+) ", listed, flags=re.MULTILINE)
    assert tuple(commands) == (*COMMANDS, *GROUPS)


@pytest.mark.parametrize("command", GROUPS["slurm"])
def test_help_shows_examples_for_slurm(run, command):
    text = run("slurm", command, "--help").stdout
    assert len(re.findall(rf"^ +moldable slurm {command}", text, flags=re.MULTILINE)) >= 2


@pytest.mark.parametrize(
    "words",
    [
        # Other tests run these on smaller clusters, and those of the documentation on these.
        pytest.param((name,), id=name, marks=pytest.mark.long if name in SLOW else ())
        for name in COMMANDS
        if name != "explore"  # it runs until Ctrl-C; its own tests start it
    ]
    + [pytest.param(("live", "report"), id="live report")],
)
def test_help_shows_examples_that_run(run, tmp_path, words):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    if words == ("live", "report"):
        write_live_files(tmp_path)
    text = run(*words, "--help").stdout.replace("\\\n", " ")
    examples = re.findall(r"^ +moldable (.*\S) *$", text, flags=re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:
        result = run(*shlex.split(example), cwd=tmp_path)
        assert result.returncode == 0, (example, result.stderr)


def write_live_files(folder):
    """Write what `live report` reads."""
    tuned = tune(Scenario.read(EXAMPLES / "gpus.toml"), max_blocking=0.2)
    write_plan(folder / "policy.json", tuned.policy, tuned.performance)
    plan = read_plan(folder / "policy.json")
    jobs = poisson_jobs(plan.scenario, 500, seed=1)
    write_journal(folder / "journal.jsonl", rehearse(plan.scenario, plan.policy, jobs))
    name = plan.scenario.workload.classes[0].name
    (folder / "week.txt").write_text(
        "JobID|State|Submit|Start|ElapsedRaw|AllocTRES|Comment\n"
        f"1|COMPLETED|2026-11-02T00:00:00|2026-11-02T00:00:09|60|gres/gpu=2|moldable:{name}\n"
    )


def test_the_help_begins_with_the_model(run):
    first = " ".join(run("--help").stdout.split("\n\n")[1].split())
    assert "A job keeps its width until it ends" in first
    assert "Jobs that find no idle server are lost, or wait" in first


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("words", PAGES)
def test_no_line_of_any_help_is_cut_or_longer_than_the_page(run, words, columns):
    lines = run(*words, "--help", columns=columns).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    cut = [line for line in lines if line.rstrip().endswith(("...", "…"))]
    assert not [line for line in cut if not line.endswith("[ARGS]...")]
    if not words or (words[0] in GROUPS and len(words) == 1):
        listed = GROUPS[words[0]] if words else (*COMMANDS, *GROUPS)
        summaries = " ".join(" ".join(lines).partition("Commands:")[2].split())
        assert summaries.count(".") == len(listed)  # whole sentences
    elif words not in {("slurm", "agent"), ("explore",)}:  # which run until they are stopped
        assert "docs/reference/command-line.md" in "".join(map(str.strip, lines))


def test_the_shell_completes_commands_and_options(run_process, monkeypatch):
    monkeypatch.setenv("_MOLDABLE_COMPLETE", "complete_bash")
    for words, found in (("moldable op", "optimum"), ("moldable tune --max-b", "--max-blocking")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert run_process().stdout.split() == [found]


def test_examples_are_listed_and_copied_as_json(run, tmp_path):
    listed = json.loads(run("examples", "--json").stdout)["examples"]
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.iterdir())
    assert all(listed.values())
    copied = json.loads(run("examples", "--copy", "new", "--json", cwd=tmp_path).stdout)["copied"]
    assert all((tmp_path / name).is_file() for name in copied)
    assert len(copied) == len(listed)


def test_examples_are_listed_and_copied_but_never_overwritten(run, tmp_path):
    listed = run("examples").stdout
    names = sorted(path.name for path in EXAMPLES.iterdir())
    assert all(name in listed for name in names)
    assert run("examples", "--copy", "deep/copy", cwd=tmp_path).returncode == 0
    copied = tmp_path / "deep" / "copy"
    assert sorted(path.name for path in copied.iterdir()) == names
    (copied / "gpus.toml").write_text("mine")
    refused = run("examples", "--copy", "deep/copy", cwd=tmp_path)
    assert refused.returncode == 2
    assert "already has" in refused.stderr
    assert (copied / "gpus.toml").read_text() == "mine"
    assert run("examples", "--copy", "deep/copy", "--force", cwd=tmp_path).returncode == 0
    assert (copied / "gpus.toml").read_text() == (EXAMPLES / "gpus.toml").read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("optimum", "--workload", "-"), (EXAMPLES / "gpus.toml").read_text()),
        (("optimum", "--load", "0.5", "--speedup", "-"), "width,time\n1,10\n2,6\n"),
        (("trace", "-"), (EXAMPLES / "slurm-week.txt").read_text()),
        (("evaluate", "SYSTEM", "--policy", "-"), '{"policy": "greedy"}'),
        (("compare", "SYSTEM", "--policies", "greedy-p,-"), '{"policy": "greedy"}'),
        (("evaluate", "SYSTEM", "--size", "-"), "size\n1\n2\n"),
        (("simulate", "SYSTEM", "--arrivals", "-", "--replications", "8"), "time\n1\n2\n3\n"),
    ],
)
def test_a_dash_reads_standard_input(run, monkeypatch, words, text):
    system = ("--speedup", "1,1.8", "--load", "0.5", "--servers", "4")
    words = [part for word in words for part in (system if word == "SYSTEM" else (word,))]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    result = run(*words)
    assert result.returncode == 0, result.stderr
    again = run(*words)  # nothing is left to read
    assert again.returncode == 2
    assert "standard input is empty" in again.stderr


def test_errors_in_standard_input_name_its_line(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"width,time\n1,10\nx,2\n")))
    result = run("optimum", "--load", "0.5", "--speedup", "-")
    assert result.stderr.startswith("moldable: error: <stdin>, line 3: width is not a whole number")


def test_help_spells_every_model_plainly(run):
    text = " ".join(run("optimum", "--help").stdout.split())
    assert text.isascii()
    for name in ("linear:D", "amdahl:FRACTION:D", "power:EXPONENT:D", "downey:A:SIGMA:D"):
        assert name in text


def test_no_command_shows_the_help(run):
    result = run()
    assert "Usage" in result.stdout + result.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["optimum", "--speedup", "linear:5", "--load", "0.8"]]
)
def test_heavy_imports_wait(arguments):
    code = (
        f"import sys\nfrom moldable.cli import main\nsys.argv = ['moldable', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


SHORT = ["optimum", "--speedup", "linear:5", "--load", "0.5"]
LONG = ["optimum", "--speedup", "linear:200000", "--load", "0.5", "--json"]


@pytest.mark.parametrize(
    ("arguments", "read"), [(LONG, 10), (LONG[:-1], 10), (SHORT, 0), (["--help"], 0)]
)
def test_a_closed_pipe_ends_a_command_with_code_0(arguments, read):
    command = [str(Path(sys.executable).with_name("moldable")), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(read)
        process.stdout.close()
        shouted = process.stderr.read().decode()
        assert process.wait() == 0
    assert shouted == ""


def test_a_full_disk_is_explained():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full to write to")
    command = [str(Path(sys.executable).with_name("moldable")), *LONG]
    with full.open("w") as disk:
        result = subprocess.run(command, stdout=disk, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2
    assert b"cannot write the output: No space left on device" in result.stderr
    assert b"Traceback" not in result.stderr


def test_bounds_give_the_promised_keys(run):
    result = run(
        "bounds", "--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--servers", "4000", "--json"
    )
    answer = json.loads(result.stdout)
    keys = ["distance", "blocking", "time_gap", "delta", "order", "proof", "gaps", "vacuous"]
    assert list(answer) == [*keys, "inputs"]
    assert answer["proof"] == "gap"
    assert answer["gaps"] == ["collapse", "drift", "sign"]
    assert answer["vacuous"] is True
    assert answer["time_gap"] is None


def test_bounds_are_explained_in_words(run):
    text = run("bounds", "--speedup", "linear:5", "--load", "0.8", "--servers", "100000").stdout
    assert "The proof is complete" in text
    assert "so it is informative here" in text
    loose = run(
        "bounds", "--speedup", "1,1.8,2.5", "--regime", "2/3,0.1", "--servers", "100"
    ).stdout
    assert "The bounds are vacuous here" in loose
    assert "gaps (drift, sign)" in " ".join(loose.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--speedup", "linear:5", "--load", "0.8"), "give --servers N"),
        (
            ("--speedup", "1,1.2,1.8", "--load", "0.8", "--servers", "9"),
            "increasing, concave curve",
        ),
        (("--speedup", "1=1,4=3", "--load", "0.8", "--servers", "9"), "every width from 1 to d"),
    ],
)
def test_bounds_refuse_what_the_theory_does_not_cover(run, arguments, message):
    result = run("bounds", *arguments)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


def test_the_package_runs_like_the_command(run):
    words = ("optimum", "--speedup", "1,1.8", "--load", "0.8", "--json")
    result = subprocess.run(
        [sys.executable, "-m", "moldable", *words], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    assert json.loads(result.stdout)["support"] == json.loads(run(*words).stdout)["support"]


RED, NAMES = "\x1b[31mred\x07\u202e", ("[red]x[/red]", ":warning:", "two\nlines", "\x1b[31mred")


def test_control_codes_and_markup_in_names_are_shown_as_text(run, tmp_path):
    path = tmp_path / "cluster.toml"
    classes = (
        f"[[class]]\nname = {json.dumps(n)}\narrival_rate = 1\nspeedup = [1, 1.5]\n" for n in NAMES
    )
    path.write_text("servers = 8\n" + "".join(classes))
    policy = tmp_path / "policy.json"
    shares = {name: {"1": 1.0} for name in NAMES}
    policy.write_text(json.dumps({"policy": "greedy-p", "label": RED, "classes": shares}))
    words = ("--workload", str(path), "--policy", str(policy))
    for result in (run("optimum", *words[:2]), run("evaluate", *words, columns=200)):
        assert result.returncode == 0, result.stderr
        for name in ("[red]x[/red]", ":warning:", "two\\nlines", "\\x1b[31mred"):
            assert name in result.stdout
        assert "\x1b" not in result.stdout + result.stderr
        assert "\u202e" not in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (f"--{RED}",),
        ("optimum", f"--{RED}"),
        ("optimum", RED),
        (RED,),
        ("optimum", "--load", RED),
        ("optimum", "--speedup", RED, "--load", "0.5"),
        ("optimum", "--speedup", f"{RED}.csv", "--load", "0.5"),
        ("optimum", "--workload", f"{RED}.toml"),
        ("evaluate", *SHORT[1:], "--servers", "5", "--policy", f"{RED}.json"),
    ],
)
def test_control_codes_on_the_command_line_do_not_come_back(run, arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "\\x1b[31mred\\x07\\u202e" in result.stderr
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr


def test_a_message_about_a_long_value_is_short(run):
    result = run("optimum", "--speedup", "1," + "x" * 100_000, "--load", "0.5")
    assert result.returncode == 2
    assert len(result.stderr) < 1100
    assert result.stderr.startswith("moldable: error: curve '1,xxx")
    assert result.stderr.endswith("is not a number; write speed-ups such as 1,1.8,2.5\n")


def test_a_long_option_or_argument_is_not_repeated_whole(run):
    for extra in (("--load", "a" * 100_000), ("--load", "0.5", "b" * 100_000)):
        result = run("bounds", "--speedup", "1,1.8", "--servers", "4", *extra)
        assert result.returncode == 2
        assert len(result.stderr) < 2000


def test_a_device_or_a_pipe_as_input_is_refused_at_once(run, tmp_path):
    for name in ("pipe.csv", "pipe.json", "pipe.toml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for arguments in (
        ("optimum", "--speedup", "pipe.csv", "--load", "0.5"),
        ("optimum", "--speedup", "zero.csv", "--load", "0.5"),
        ("optimum", "--workload", "pipe.toml"),
        ("evaluate", *SHORT[1:], "--servers", "5", "--policy", "pipe.json"),
        ("evaluate", *SHORT[1:], "--servers", "5", "--size", "zero.csv"),
    ):
        result = run(*arguments, cwd=tmp_path)
        assert result.returncode == 2
        assert "not a regular file" in result.stderr


@pytest.mark.parametrize("words", [("--max-blocking", "2"), ("--max-blocking=2",)])
def test_a_parameter_is_named_as_the_option_it_came_from(words):
    error = InputError("2 must be below 1", "max_blocking")
    assert _in_options(error, words) == "--max-blocking 2 must be below 1"


def test_a_parameter_without_its_option_keeps_its_name():
    error = InputError("1.3 is too high", "load")
    for words in (("--regime", "0,0.2"), ("--loads", "1.3"), ()):
        assert _in_options(error, words) == "load=1.3 is too high"
    assert _in_options(InputError("no curve"), ("--", "--load")) == "no curve"
