"""Scenario files, good and bad."""

from __future__ import annotations

import pytest

from moldable import SizeLaw, SpeedUp, read_scenario
from moldable.arrivals import Poisson, Renewal
from moldable.errors import InputError
from moldable.files import parse_arrivals

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
    file = read_scenario(write(tmp_path, GOOD))
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
    assert file.arrivals == Poisson()
    bare = write(tmp_path, "[[class]]\narrival_rate=1\nspeedup=[1]\n")
    assert read_scenario(bare, 7).workload.sharing == "pool"
    assert read_scenario(bare, servers=7).servers == 7
    with pytest.raises(InputError, match="names no servers; add 'servers = N'"):
        read_scenario(bare)


def test_the_servers_that_are_asked_for_replace_those_of_the_file(tmp_path):
    path = write(tmp_path, "servers = 8\n[[class]]\narrival_rate=1\nspeedup=[1]\n")
    assert read_scenario(path).servers == 8
    assert read_scenario(path, 16).servers == 16


def test_arrivals_are_written_as_on_the_command_line(tmp_path):
    text = "servers = 8\narrivals = {!r}\n[[class]]\narrival_rate=1\nspeedup=[1]\n"
    found = read_scenario(write(tmp_path, text.format("mmpp:0.5,2:0.1,0.2"))).arrivals
    assert found == parse_arrivals("mmpp:0.5,2:0.1,0.2")
    (tmp_path / "gaps.csv").write_text("1\n3\n")
    found = read_scenario(write(tmp_path, text.format("renewal:gaps.csv"))).arrivals
    assert found == Renewal(SizeLaw.parse("gaps.csv", tmp_path))
    (tmp_path / "times.csv").write_text("0\n0.5\n2\n")
    found = read_scenario(write(tmp_path, text.format("times.csv"))).arrivals
    assert found.times.tolist() == [0.0, 0.5, 2.0]


def test_the_mean_of_a_file_of_sizes_is_the_mean_size(tmp_path):
    (tmp_path / "sizes.csv").write_text("1\n3\n8\n")
    text = "servers=8\n[[class]]\narrival_rate=1\nspeedup=[1]\nsize='sizes.csv'\n"
    (found,) = read_scenario(write(tmp_path, text)).workload.classes
    assert found.mean_size == pytest.approx(4.0, rel=1e-15)
    (found,) = read_scenario(write(tmp_path, text + "mean_size = 4\n")).workload.classes
    assert found.mean_size == 4.0
    with pytest.raises(InputError, match=r"line 5: mean_size=1, but the sizes .* have mean 4; "):
        read_scenario(write(tmp_path, text + "mean_size = 1\n"))


UNITS = "servers=8\n{unit}\n[[class]]\nspeedup=[1]\narrival_rate={rate}\nmean_size={size}\n"


@pytest.mark.parametrize("unit", ["hours", "h", "Hours"])
@pytest.mark.parametrize(
    ("rate", "size"), [("'5/h'", "'90 min'"), ("'120/day'", 1.5), (5, "'1.5'")]
)
def test_rates_and_sizes_are_converted_to_the_unit_of_the_file(tmp_path, unit, rate, size):
    text = UNITS.format(unit=f"time_unit = '{unit}'", rate=rate, size=size)
    found = read_scenario(write(tmp_path, text))
    assert found.time_unit == "hours"
    (only,) = found.workload.classes
    assert (only.arrival_rate, only.mean_size) == (5.0, 1.5)


def test_files_without_a_unit_have_plain_numbers(tmp_path):
    found = read_scenario(write(tmp_path, UNITS.format(unit="", rate=5, size=1.5)))
    assert found.time_unit is None
    for rate, size, line in (("'5/h'", 1.5, 5), (5, "'90 min'", 6)):
        text = UNITS.format(unit="", rate=rate, size=size)
        with pytest.raises(InputError, match=rf"line {line}: .* but the scenario has none; add ti"):
            read_scenario(write(tmp_path, text))


def test_a_file_of_sizes_is_in_the_unit_of_the_scenario(tmp_path):
    (tmp_path / "sizes.csv").write_text("30\n90\n240\n")
    text = UNITS.format(unit="time_unit='min'\n", rate=1, size="'2h'") + "size='sizes.csv'\n"
    (found,) = read_scenario(write(tmp_path, text)).workload.classes
    assert found.mean_size == 120.0


@pytest.mark.parametrize(
    ("unit", "rate", "size", "message"),
    [
        ("parsecs", 1, 1, "line 2: time_unit='parsecs' is not a unit of time; .*days, hours"),
        ("hours", 1, "'6 parsecs'", "line 6: mean_size='6 parsecs' has an unknown unit; "),
        ("hours", 1, "'-6h'", "line 6: class 'class 1': mean_size=-6 must be finite and above 0"),
        ("hours", 1, "'1e999h'", "line 6: .*mean_size=inf must be finite and above 0"),
        ("hours", "'0/h'", 1, "line 5: .*arrival_rate=0 must be finite and above 0"),
        ("hours", "'5h'", 1, "line 5: arrival_rate='5h' is not a rate such as \"5/h\""),
        ("hours", 1, "'5/h'", "line 6: mean_size='5/h' is not a duration such as"),
        ("hours", 1, "1\nweight='2h'", "line 7: weight='2h' is not a number"),
        ("hours", 1, "true", "line 6: mean_size=True is not a number"),
    ],
)
def test_faulty_units_are_refused_with_their_line(tmp_path, unit, rate, size, message):
    text = UNITS.format(unit=f"time_unit = '{unit}'", rate=rate, size=size)
    with pytest.raises(InputError, match=message):
        read_scenario(write(tmp_path, text))


def test_a_unit_must_be_text(tmp_path):
    with pytest.raises(InputError, match="line 2: time_unit=3 is not a unit of time"):
        read_scenario(write(tmp_path, UNITS.format(unit="time_unit = 3", rate=1, size=1)))


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
            "line 1: servers=0 must be a whole number from 1",
        ),
        (
            "servers = 2.5\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: servers=2.5 must be a whole number",
        ),
        (
            "sharing = 'pol'\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1.*did you mean 'pool'",
        ),
        ("\n[[class]]\nspeedup = [1]\n", "line 2: class 1 has no arrival_rate"),
        ("[[class]]\narrival_rate = 1\n", "line 1: class 1 has no speedup"),
        ("[[class]]\narrival_rate = -1\nspeedup = [1]\n", "line 2: .*arrival_rate=-1"),
        ("[[class]]\narrival_rate = 'x'\nspeedup = [1]\n", "line 2: arrival_rate='x' is not a rat"),
        ("[[class]]\narrival_rate = 1\nspeedup = [2]\n", r"line 3: s\(1\)=2"),
        ("[[class]]\narrival_rate = 1\nspeedup = []\n", "line 3: the curve is empty"),
        ("[[class]]\narrival_rate = 1\nspeedup = 3\n", "line 3: speedup=3 is not a curve"),
        ("[[class]]\narrival_rate = 1\nspeedup = {x = 1}\n", "line 3: speedup has the key 'x'"),
        (
            "[[class]]\narrival_rate = 1\nspeedup = {0 = 1}\n",
            "line 3: width=0 must be a whole number from 1",
        ),
        ("[[class]]\narrival_rate = 1\nspeedup = {model = 'amdal'}\n", "did you mean 'amdahl'"),
        ("[[class]]\narrival_rate = 1\nspeedup = {model='linear'}\n", "line 3: .*add d"),
        ("[[class]]\narrival_rate=1\nspeedup={model='linear',d=2,e=1}\n", "unknown key 'e'"),
        ("[[class]]\narrival_rate=1\nspeedup={measured='x.csv',d=2}\n", "unknown key 'd'"),
        ("[[class]]\narrival_rate=1\nspeedup={measured='x.csv'}\n", "no such file"),
        ("[[class]]\narrival_rate=1\nspeedup=[1]\nsize='parito'\n", "line 4: .*'pareto'"),
        (
            "arrivals='renewl:2'\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: unknown arrivals 'renewl:2'; did you mean 'renewal'",
        ),
        (
            "arrivals=3\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: arrivals=3 is of type int",
        ),
        (
            "servers=4\n[[class]]\narrival_rate=1\nspeedup={8=6}\n",
            "toml: class 'class 1': its narrowest width is 8, but there are 4 servers",
        ),
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
            "line 2: arrival_rate=9+... is too l",
        ),
        (
            f"[[class]]\narrival_rate=1\nspeedup=[1,{'9' * 401}]\n",
            r"line 3: s\(2\)=9+... is too large",
        ),
        (
            f"servers={'9' * 30}\n[[class]]\narrival_rate=1\nspeedup=[1]\n",
            "line 1: servers=9+ must be",
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
        read_scenario(path)
    assert str(tmp_path) in str(caught.value)


def test_missing_files_are_explained(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_scenario(tmp_path / "missing.toml")


CLASS = "servers = 4\n[[class]]\narrival_rate = 1\n"


@pytest.mark.parametrize(
    "key", ["speedup = {measured =", "speedup = [1]\nsize = {x =", "speedup = {x ="]
)
def test_arrays_nested_deeply_are_refused(tmp_path, key):
    with pytest.raises(InputError, match="nests brackets too deeply; a workload needs three"):
        read_scenario(write(tmp_path, f"{CLASS}{key} {'[' * 2000}{']' * 2000}}}\n"))


@pytest.mark.parametrize(
    "text",
    [
        f"x{'.x' * 20_000} = 1\n",
        f"[x{' . x' * 10_000}]\n",
        f"""x = {{'y'{'."a"' * 9000} = 1}}\n""",
        f'x = ["""a"""", {{y{".y" * 9000} = 1}}]\n',
        f"servers = 0x{'f' * 30_000}\n",
        f"servers = {'9' * 5000}\n",
    ],
)
def test_keys_and_numbers_of_thousands_of_parts_are_refused_before_they_are_parsed(tmp_path, text):
    with pytest.raises(InputError, match="has a key of more than 4 parts, or a key or number"):
        read_scenario(write(tmp_path, text))


def test_dots_in_strings_and_comments_are_no_parts_of_a_key(tmp_path):
    text = f"""# a.b.c.d.e.f.g.h = 1
{CLASS}name = "a.b.c.d.e.f.g \\" # h.i.j"
speedup = {{1 = 1.0, 2 = 1.5, '3' = 1.75}}
size = 'run.2024.01.02.node.csv'
"""
    (tmp_path / "run.2024.01.02.node.csv").write_text("1\n2\n")
    (found,) = read_scenario(write(tmp_path, text)).workload.classes
    assert found.name == 'a.b.c.d.e.f.g " # h.i.j'
    assert found.speedup == SpeedUp([1, 1.5, 1.75])


def test_a_file_beyond_a_megabyte_is_refused(tmp_path):
    with pytest.raises(InputError, match="is larger than 1 MiB"):
        read_scenario(write(tmp_path, "#" * (2**20 + 1)))


@pytest.mark.parametrize(
    "line",
    [
        r'speedup = {measured = "a\u0000b.csv"}',
        r'speedup = "a\u0000b.csv"',
        "speedup = [1]\n" + r'size = "a\u0000b.csv"',
    ],
)
def test_a_nul_in_the_name_of_a_file_is_refused(tmp_path, line):
    with pytest.raises(InputError, match=r"a\\x00b.csv cannot be read: embedded null byte"):
        read_scenario(write(tmp_path, f"{CLASS}{line}\n"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{CLASS}speedup = 'gone.csv'\n", CLASS.count("\n") + 1),
        (f"{CLASS}speedup = {{measured = 'gone.csv'}}\n", CLASS.count("\n") + 1),
        (f"{CLASS}speedup = [1]\nsize = 'gone.csv'\n", CLASS.count("\n") + 2),
        (f"arrivals = 'gone.csv'\n{CLASS}speedup = [1]\n", 1),
    ],
)
def test_a_missing_data_file_is_reported_with_the_line_that_names_it(tmp_path, text, line):
    with pytest.raises(
        InputError, match=rf"cluster.toml, line {line}: .*gone.csv cannot be read: no "
    ):
        read_scenario(write(tmp_path, text))


@pytest.mark.parametrize(
    "line",
    ["speedup = {measured = 'data.csv'}", "speedup = 'data.csv'", "speedup=[1]\nsize='data.csv'"],
)
@pytest.mark.parametrize(
    "content",
    [
        "root:secret:0:0\n",
        "secret,secret\n",
        "width,time\nsecret,1\n",
        "width,time\n1,secret\n",
        "width,speedup\n1,1\n1,secret,2\n",
        "size\n1\nsecret\n",
        "size\n1,secret\n",
        '"secret',
    ],
)
def test_text_of_a_data_file_is_never_repeated(tmp_path, line, content):
    (tmp_path / "data.csv").write_text(content)
    with pytest.raises(InputError, match=r"data\.csv, line \d: ") as refused:
        read_scenario(write(tmp_path, f"{CLASS}{line}\n"))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "places"), [("0", 0), ("7", 7), ('"unlimited"', float("inf")), ('"7"', 7)]
)
def test_waiting_places_are_read(tmp_path, text, places):
    file = f"servers = 8\nwaiting = {text}\n[[class]]\narrival_rate=1\nspeedup=[1]\n"
    assert read_scenario(write(tmp_path, file)).waiting == places


@pytest.mark.parametrize("text", ["-1", "2.5", '"some"', "[1]", "true"])
def test_bad_waiting_places_are_refused_with_their_line(tmp_path, text):
    file = f"servers = 8\nwaiting = {text}\n[[class]]\narrival_rate=1\nspeedup=[1]\n"
    with pytest.raises(InputError, match=r"line 2: waiting="):
        read_scenario(write(tmp_path, file))


PHASES = """
servers = 8
[[class]]
arrival_rate = 2
[[class.phase]]
share = 0.25
speedup = "linear:4"
[[class.phase]]
share = 0.75
speedup = {measured = "times.csv"}
[[class]]
arrival_rate = 1
speedup = [1, 1.5]
"""


def test_phases_of_a_class_give_the_harmonic_mean(tmp_path):
    (tmp_path / "times.csv").write_text("width,time\n1,10\n2,6\n")
    phased, plain = read_scenario(write(tmp_path, PHASES)).workload.classes
    assert phased.speedup[2] == pytest.approx(1.0 / (0.25 / 2 + 0.75 * 0.6))
    assert [phase.share for phase in phased.speedup.phases] == [0.25, 0.75]
    assert plain.speedup.phases == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("share = 0.75", "", r"line 5: phase 2: there is no share; add share = ..."),
        ("share = 0.75", "share = 0.5", r"line 5: .* add up to 0.75 instead of 1"),
        ("share = 0.75", "shaer = 0.75", r"phase 2: unknown key 'shaer'; did you mean 'share'"),
        ("share = 0.25", "share = 'x'", r"the share of phase 1='x' is not a number"),
        ("linear:4", "linea:4", r"phase 1: unknown model 'linea' .* did you mean 'linear'"),
        ("times.csv", "other.csv", r"other.csv cannot be read"),
        (
            "[[class.phase]]\nshare = 0.25",
            "[class.phase]\nshare = 0.25",
            r"not valid TOML|\[\[class.phase",
        ),
        ("arrival_rate = 2", "arrival_rate = 2\nspeedup = [1]", r"phases or one speedup, not both"),
    ],
)
def test_faulty_phases_are_explained_with_their_line(tmp_path, old, new, message):
    (tmp_path / "times.csv").write_text("width,time\n1,10\n2,6\n")
    with pytest.raises(InputError, match=message):
        read_scenario(write(tmp_path, PHASES.replace(old, new)))
