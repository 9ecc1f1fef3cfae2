"""Workload files, good and bad."""

from __future__ import annotations

import pytest

from moldable import SizeLaw, SpeedUp, read_workload
from moldable.errors import InputError

GOOD = """
servers = 64
sharing = "reserved"

[[class]]
name = "a"
arrival_rate = 2
mean_size = 3.5
weight = 2
size = "pareto:1.7"
speedup = [1, 1.8]

[[class]]
arrival_rate = 1.5
speedup = {model = "usl", contention = 0.1, coherency = 0.01, d = 4}

[[class]]
name = "gaps"
arrival_rate = 1
[class.speedup]
1 = 1
4 = 3.5

[[class]]
name = "measured"
arrival_rate = 1
speedup = {measured = "times.csv"}

[[class]]
name = "text"
arrival_rate = 1
speedup = "linear:3"
"""


def write(folder, text):
    path = folder / "cluster.toml"
    path.write_text(text)
    return path


def test_every_way_to_write_a_class(tmp_path):
    (tmp_path / "times.csv").write_text("width,time\n1,10\n2,6\n")
    file = read_workload(write(tmp_path, GOOD))
    assert file.servers == 64
    assert file.workload.sharing == "reserved"
    a, second, gaps, measured, text = file.workload.classes
    assert (a.name, a.arrival_rate, a.mean_size, a.weight) == ("a", 2, 3.5, 2)
    assert a.size == SizeLaw.parse("pareto:1.7")
    assert (second.name, second.mean_size, second.weight) == ("class 2", 1, 1)
    assert second.size == SizeLaw.parse("exponential")
    assert second.speedup == SpeedUp.usl(0.1, 0.01, 4)
    assert gaps.speedup == SpeedUp({1: 1, 4: 3.5})
    assert measured.speedup == SpeedUp.from_times({1: 10, 2: 6})
    assert text.speedup == SpeedUp.linear(3)
    bare = read_workload(write(tmp_path, "[[class]]\narrival_rate=1\nspeedup=[1]\n"))
    assert bare.servers is None
    assert bare.workload.sharing == "pool"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no class"),
        ("servers = 4\n", "there is no class"),
        ("servers = \n", r"not valid TOML: .*line 1"),
        ("class = 3\n", r"write each class as \[\[class\]\]"),
        ("[class]\narrival_rate = 1\n", r"write each class as \[\[class\]\]"),
        ("server = 4\n", "line 1: unknown key 'server'; did you mean 'servers'"),
        (
            "servers = 0\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: servers 0 must be at least 1",
        ),
        (
            "servers = 2.5\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: servers 2.5 is not a whole number",
        ),
        (
            "sharing = 'pol'\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1.*did you mean 'pool'",
        ),
        ("\n[[class]]\nspeedup = [1]\n", "line 2: class 1 has no arrival_rate"),
        ("[[class]]\narrival_rate = 1\n", "line 1: class 1 has no speedup"),
        ("[[class]]\narrival_rate = -1\nspeedup = [1]\n", "line 2: .*arrival_rate=-1"),
        ("[[class]]\narrival_rate = 'x'\nspeedup = [1]\n", "line 2: arrival_rate='x' is not a num"),
        ("[[class]]\narrival_rate = 1\nspeedup = [2]\n", r"line 3: s\(1\)=2"),
        ("[[class]]\narrival_rate = 1\nspeedup = []\n", "line 3: the curve is empty"),
        ("[[class]]\narrival_rate = 1\nspeedup = 3\n", "line 3: speedup=3 is not a curve"),
        ("[[class]]\narrival_rate = 1\nspeedup = {x = 1}\n", "line 3: speedup has the key 'x'"),
        ("[[class]]\narrival_rate = 1\nspeedup = {0 = 1}\n", "line 3: width 0 must be at least 1"),
        ("[[class]]\narrival_rate = 1\nspeedup = {model = 'amdal'}\n", "did you mean 'amdahl'"),
        ("[[class]]\narrival_rate = 1\nspeedup = {model='linear'}\n", "line 3: .*add d"),
        ("[[class]]\narrival_rate=1\nspeedup={model='linear',d=2,e=1}\n", "unknown key 'e'"),
        ("[[class]]\narrival_rate=1\nspeedup={measured='x.csv',d=2}\n", "unknown key 'd'"),
        ("[[class]]\narrival_rate=1\nspeedup={measured='x.csv'}\n", "no such file"),
        ("[[class]]\narrival_rate=1\nspeedup=[1]\nsize='parito'\n", "line 4: .*'pareto'"),
        (
            "[[class]]\narrival_rate=1\nspeedup=[1]\nsise='pareto'\n",
            "line 4: .*did you mean 'size'",
        ),
        ("sharing = 5\n[[class]]\narrival_rate=1\nspeedup=[1]\n", "line 1: sharing=5 is unknown"),
        (
            "servers=1\nsharing='pool'\n"
            + "[[class]]\nname='a'\narrival_rate=1\nspeedup=[1]\n" * 2,
            r"toml: two classes are called 'a'",
        ),
        ("[[class]]\narrival_rate=1\nspeedup='amdal:3'\n", "line 3: unknown model 'amdal'"),
        ("[[class]]\narrival_rate=1\nspeedup=''\n", "line 3: the curve is empty"),
        (
            "[[class]]\narrival_rate=1\nspeedup={1=1,2=1.8,'02'=1.9}\n",
            "line 3: width 2 is given tw",
        ),
        (
            "[[class]]\narrival_rate=1\nspeedup={1.5=2}\n",
            r"line 3: s\(1\)={'5': 2} is not a number",
        ),
        ("[[class]]\narrival_rate=1\n[class.spedup]\n1=1\n", "line 3: unknown key 'spedup'"),
        (
            "[[class]]\narrival_rate=1\nspeedup={model='linear',d=2,e=1}\n",
            "line 3: unknown key 'e'",
        ),
        (
            f"[[class]]\narrival_rate={'9' * 401}\nspeedup=[1]\n",
            "line 2: arrival_rate is far too l",
        ),
        (
            f"[[class]]\narrival_rate=1\nspeedup=[1,{'9' * 401}]\n",
            r"line 3: s\(2\) is far too large",
        ),
        (
            f"servers={'9' * 30}\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: servers is far t",
        ),
        (
            "[[class]]\narrival_rate=1e-80\nmean_size=1e-80\nspeedup=[1]\n",
            "arrival_rate x mean_size",
        ),
        ("[[class]]\nname=3\narrival_rate=1\nspeedup=[1]\n", "line 2: name=3 must be text"),
        (
            "[[class]]\nname='a'\narrival_rate=1\nspeedup=[1]\n" * 2,
            "two classes are called 'a'",
        ),
        (
            "[[class]]\narrival_rate=1\nspeedup=[1]\n" * 2 + "weight = 0\n",
            "line 7: class 'class 2': weight=0",
        ),
    ],
)
def test_faulty_files_are_explained_with_their_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_workload(path)
    assert str(tmp_path) in str(caught.value)


def test_missing_files_are_explained(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_workload(tmp_path / "missing.toml")
