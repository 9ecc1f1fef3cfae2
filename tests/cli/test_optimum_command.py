"""`moldable optimum` as a user and as a script see it."""

from __future__ import annotations

import json

import pytest

PAPER = ("--speedup", "1,1.8,2.5,3,3.4")
KEYS = [
    "widths",
    "probabilities",
    "scaled_jobs",
    "support",
    "mean_execution_time",
    "busy_fraction",
    "unique",
    "shadow_price",
    "time_saved_by_one_server",
    "dominated_widths",
    "certificate",
    "inputs",
    "at_servers",
]


def test_json_is_one_object_with_the_promised_keys(run):
    result = run("optimum", *PAPER, "--load", "0.8", "--json")
    assert result.returncode == 0
    assert result.stderr == ""
    answer = json.loads(result.stdout)
    assert list(answer) == KEYS
    assert list(answer["certificate"]) == ["nu", "theta0", "theta", "max_violation"]
    assert answer["scaled_jobs"] == pytest.approx([0, 0, 0.2, 0.1, 0], abs=1e-14)
    assert answer["mean_execution_time"] == pytest.approx(0.375)
    assert answer["support"] == [3, 4]
    assert answer["time_saved_by_one_server"] is None


def test_a_regime_may_replace_the_load(run):
    result = run("optimum", *PAPER, "--regime", "1/2,0.1", "--servers", "4000", "--json")
    answer = json.loads(result.stdout)
    load = 1 - 0.1 * 4000**-0.5
    direct = run("optimum", *PAPER, "--load", repr(load), "--servers", "4000", "--json")
    assert json.loads(direct.stdout) == answer
    assert answer["time_saved_by_one_server"] == pytest.approx(
        answer["shadow_price"] / (4000 * load)
    )


def test_plain_output_spells_out_what_to_do(run):
    result = run("optimum", *PAPER, "--load", "0.8", "--servers", "64")
    text = " ".join(result.stdout.split())
    assert "Give 62.5 % of the jobs 3 servers and 37.5 % 4 servers" in text
    assert "0.375 mean sizes" in text
    assert "One more server saves" in text
    assert "The linear program is solved" in text


def test_plain_output_names_unusual_properties(run):
    odd = run("optimum", "--speedup", "1,1.5,2,2,1.9,2", "--load", "0.1")
    text = " ".join(odd.stdout.split())
    assert "not needed on large clusters: widths 4, 5, 6." in text
    assert "Other shares are as good" in text
    assert "violates assumptions of the paper" in text
    assert "more servers would not make jobs faster" in text
    assert "add --servers N" in text
    regime = run(
        "optimum", "--speedup", "amdahl:0.95:64", "--regime", "0.5,0.1", "--servers", "900"
    )
    assert "Halfin-Whitt regime" in regime.stdout
    assert "..." in regime.stdout


def test_notes_go_to_stderr(run, tmp_path):
    (tmp_path / "times.csv").write_text("width,time\n2,10\n4,6\n")
    result = run("optimum", "--speedup", "times.csv", "--load", "0.5", "--json", cwd=tmp_path)
    assert "width 1 was not measured" in result.stderr
    assert json.loads(result.stdout)["widths"] == [2, 4]
    small = run("optimum", "--speedup", "linear:8", "--load", "0.5", "--servers", "4", "--json")
    assert "widths above 4 are left out" in small.stderr
    assert json.loads(small.stdout)["widths"] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["frontier.svg", "frontier.png", "frontier.pdf"])
def test_plots_are_written_whole(run, tmp_path, name):
    curve = ("--speedup", "1,1.8,1.7,3", "--load", "0.7")
    first = run("optimum", *curve, "--plot", name, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    once = (tmp_path / name).read_bytes()
    assert len(once) > 5000
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_workloads_give_both_divisions(run):
    result = run("optimum", "--workload", "examples/cluster.toml", "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert list(answer) == [
        "mean_execution_time",
        "time_unit",
        "shadow_price",
        "classes",
        "inputs",
        "rounded",
        "at_servers",
    ]
    names = ["name", "reserved_fraction", "widths", "probabilities", "mean_execution_time"]
    assert all(list(part) == names for part in answer["classes"])
    assert sum(part["reserved_fraction"] for part in answer["classes"]) == pytest.approx(1)
    rounded = answer["rounded"]
    assert list(rounded) == ["mean_execution_time", "time_unit", "classes", "inputs"]
    names[1:2] = ["reserved_servers", "holds_its_widths"]
    assert all(list(part) == names for part in rounded["classes"])
    assert sum(part["reserved_servers"] for part in rounded["classes"]) == 64
    assert rounded["mean_execution_time"] >= answer["mean_execution_time"]


def test_servers_on_the_command_line_win_over_the_file(run):
    result = run("optimum", "--workload", "examples/cluster.toml", "--servers", "80", "--json")
    rounded = json.loads(result.stdout)["rounded"]
    assert sum(part["reserved_servers"] for part in rounded["classes"]) == 80


def test_plain_workloads_are_readable(run, tmp_path):
    result = run("optimum", "--workload", "examples/cluster.toml")
    assert "training: reserve 31 servers" in result.stdout
    classes = (
        "[[class]]\nname='a'\narrival_rate=0.05\nspeedup='linear:8'\n"
        "[[class]]\nname='b'\narrival_rate=6\nspeedup={measured='t.csv'}\n"
    )
    (tmp_path / "t.csv").write_text("width,time\n2,10\n4,5.5\n")
    (tmp_path / "w.toml").write_text(f"servers = 9\nsharing = 'reserved'\n{classes}")
    result = run("optimum", "--workload", "w.toml", cwd=tmp_path)
    text = " ".join(result.stdout.split())
    assert "class 'b': width 1 was not measured" in result.stderr
    assert "a: 1 server of its own would not hold a job of width 8" in text
    assert "a: reserve" not in text
    rounded = json.loads(run("optimum", "--workload", "w.toml", "--json", cwd=tmp_path).stdout)
    holding = [part["holds_its_widths"] for part in rounded["rounded"]["classes"]]
    assert holding == [False, True]
    assert "more servers would not make jobs faster" in text
    (tmp_path / "w.toml").write_text(f"servers = 9\n{classes}")
    assert "reserve" not in run("optimum", "--workload", "w.toml", cwd=tmp_path).stdout


def test_clusters_too_large_to_predict_still_have_an_optimum(run):
    result = run("optimum", *PAPER, "--load", "0.8", "--servers", "1000000000")
    assert result.returncode == 0
    assert "no prediction: " in result.stderr
    assert "optimal for large clusters" in " ".join(result.stdout.split())


def test_servers_add_a_prediction_that_evaluate_confirms(run):
    words = (*PAPER, "--load", "0.8", "--servers", "64")
    predicted = json.loads(run("optimum", *words, "--json").stdout)["at_servers"]
    exact = json.loads(run("evaluate", *words, "--policy", "greedy-p", "--json").stdout)
    assert predicted["blocking"] == exact["blocking"] == pytest.approx(0.143643, abs=1e-6)
    text = " ".join(run("optimum", *words).stdout.split())
    assert "blocking probability 0.143643 and mean execution time 0.402419 (exact)" in text
    assert "For fewer refusals use `moldable tune`" in text


def test_where_hardly_a_job_is_blocked_no_other_policy_is_advised(run):
    words = ("--speedup", "linear:5", "--load", "0.3", "--servers", "4000")
    text = " ".join(run("optimum", *words).stdout.split())
    assert "blocking probability 1.12521e-177" in text
    assert "On a large cluster, more servers would not make jobs faster." in text
    assert "moldable tune" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no curve: give --speedup"),
        ((*PAPER,), "give either --load L or --regime"),
        ((*PAPER, "--load", "0.8", "--regime", "0,0.2"), "give either --load L or --regime"),
        ((*PAPER, "--regime", "0,0.2"), "--regime needs --servers N"),
        ((*PAPER, "--load", "1.2"), "the largest feasible load of this curve is 1,"),
        ((*PAPER, "--load", "0"), "--load 0 must be finite and above 0"),
        ((*PAPER, "--load", "-1"), "--load -1 must"),
        ((*PAPER, "--load", "nan"), "--load nan"),
        ((*PAPER, "--load", "x"), "x"),
        ((*PAPER, "--regime", "-1,0.2", "--servers", "9"), "alpha=-1"),
        ((*PAPER, "--load", "0.8", "--servers", "0"), "--servers 0 must be a whole number from 1"),
        (("--speedup", "", "--load", "0.8"), "the curve is empty"),
        (("--speedup", "2,3", "--load", "0.8"), "s(1) must be 1"),
        (("--speedup", "1,nan", "--load", "0.8"), "s(2)=nan"),
        (("--speedup", "1,0", "--load", "0.8"), "s(2)=0"),
        (("--speedup", "missing.csv", "--load", "0.8"), "no such file"),
        ((*PAPER, "--load", "0.8", "--plot", "x.txt"), "must end in .svg, .png, .pdf"),
        ((*PAPER, "--load", "0.8", "--plot", "no/such/x.png"), "cannot be written"),
        (
            ("--speedup", "1=1,99999999999999999999=3", "--load", "0.5"),
            "9999 must be a whole",
        ),
        (
            ("--speedup", "power:1e3:100", "--load", "0.5"),
            "is not a speed-up; speed-ups must be finite",
        ),
        (("--speedup", "2=1e-310", "--load", "0.1"), "s(2)=1e-310 is not a speed-up"),
        ((*PAPER, "--load", "1e-309"), "--load 1e-309 must be"),
        ((*PAPER, "--load", "0.5", "--servers", "9" * 401), "... is too large; it must be at most"),
        ((*PAPER, "--regime", "1e99999999,0.1", "--servers", "10"), "alpha=inf"),
        (("--workload", "missing.toml"), "no such file"),
        (("--workload", "examples/cluster.toml", "--load", "0.5"), "leave out --speedup, --load"),
        (("--workload", "examples/cluster.toml", "--servers", "40"), "need at least 52"),
        (("--workload", "examples/cluster.toml", "--servers", "-3"), "--servers -3"),
    ],
)
def test_bad_input_is_explained_and_ends_with_2(run, arguments, message):
    for extra in ((), ("--json",)):
        result = run("optimum", *arguments, *extra)
        assert result.returncode == 2
        assert message in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr
        assert result.stdout == ""


def test_a_workload_file_without_servers_says_so(run, tmp_path):
    (tmp_path / "w.toml").write_text("[[class]]\narrival_rate=1\nspeedup=[1]\n")
    result = run("optimum", "--workload", "w.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert "names no servers" in result.stderr


def test_a_pool_needs_no_division_into_whole_servers(run, tmp_path):
    text = "servers = 11\nsharing = '{}'\n" + "".join(
        f"[[class]]\nname='{name}'\narrival_rate=5.5\nspeedup=[1]\n" for name in "ab"
    )
    (tmp_path / "pool.toml").write_text(text.format("pool"))
    (tmp_path / "reserved.toml").write_text(text.format("reserved"))
    pool = run("optimum", "--workload", "pool.toml", "--json", cwd=tmp_path)
    assert json.loads(pool.stdout)["rounded"] is None
    assert pool.stderr == ""
    assert run("optimum", "--workload", "pool.toml", cwd=tmp_path).returncode == 0
    reserved = run("optimum", "--workload", "reserved.toml", "--json", cwd=tmp_path)
    assert reserved.returncode == 2
    assert "'b' cannot be served: it needs 6 whole servers" in reserved.stderr


def test_class_names_are_text_not_markup(run, tmp_path):
    names = ["team [gpu]", "a[/]", ":smile:", "é"]
    text = "servers = 9\n" + "".join(
        f"[[class]]\nname = '{name}'\narrival_rate = 1\nspeedup = [1, 1.8]\n" for name in names
    )
    (tmp_path / "w.toml").write_text(text)
    shown = run("optimum", "--workload", "w.toml", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert all(name in shown.stdout for name in names)


def test_characters_that_a_terminal_cannot_print_are_replaced(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (tmp_path / "w.toml").write_text(
        "servers = 9\n[[class]]\nname = 'é'\narrival_rate = 1\nspeedup = [1, 1.8]\n"
    )
    assert run("optimum", "--workload", "w.toml", cwd=tmp_path).returncode == 0


def test_a_plot_that_cannot_be_written_leaves_nothing_behind(run, tmp_path):
    (tmp_path / "taken.svg").mkdir()
    result = run("optimum", *PAPER, "--load", "0.8", "--plot", "taken.svg", cwd=tmp_path)
    assert result.returncode == 2
    assert "cannot be written" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken.svg"]
