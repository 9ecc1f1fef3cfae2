"""What the server of the explorer answers and refuses, and how it starts and ends."""

from __future__ import annotations

import http.client
import importlib
import json
import signal
import socket
import time
from urllib.parse import urlsplit

import pytest

from explorer.started import ROOT, exploring
from moldable import Scenario, evaluate, value_policy
from moldable.explorer.question import Question, read_question
from moldable.live.plan_file import write_plan

ROOT_PATHS = ["/", "/_dash-layout", "/assets/page.js", "/wrong-token/", "/wrong-token/_dash-layout"]


def ask(url: str, path: str, *, method: str = "GET", body: object = None, **headers: str):
    """Send one request; the path is sent as it is. Header names have underscores for hyphens."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    if data is not None:
        given.setdefault("Content-Type", "application/json")
    connection.putrequest(method, path, skip_host="Host" in given)
    for name, value in given.items():
        connection.putheader(name, value)
    if data is not None:
        connection.putheader("Content-Length", str(len(data)))
    connection.endheaders(data)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer, text


def prefix(url: str) -> str:
    return urlsplit(url).path


def read_body(url: str, **values: object) -> dict:
    """Return the request that reads the fields, as the page sends it."""
    _, text = ask(url, prefix(url) + "_dash-dependencies")
    (found,) = (
        each for each in json.loads(text) if each["output"].startswith("..question.data...")
    )
    outputs = [each.rpartition(".") for each in found["output"].strip(".").split("...")]
    usual = {"speedup-0": "1,1.8", "share-0": "1", "mean_size-0": "1", "load": "0.5"}
    usual |= {"servers": "4", "waiting": "0", "size": "exponential", "arrivals": "poisson"}
    usual |= {"target": "", "limit": "", "seed": "1", "page": "a page"} | values
    return {
        "output": found["output"],
        "outputs": [{"id": name, "property": prop} for name, _, prop in outputs],
        "inputs": [each | {"value": usual[each["id"]]} for each in found["inputs"]],
        "state": [each | {"value": usual[each["id"]]} for each in found["state"]],
        "changedPropIds": ["load.value"],
    }


def post(url: str, body: object, **headers: str):
    return ask(url, prefix(url) + "_dash-update-component", method="POST", body=body, **headers)


def test_the_page_has_headers_that_keep_it_to_itself(explorer):
    answer, text = ask(explorer, prefix(explorer))
    assert answer.status == 200
    assert b"moldable explorer" in text
    policy = answer.getheader("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "unsafe-eval" not in policy
    assert answer.getheader("X-Frame-Options") == "DENY"
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "no-referrer"
    assert answer.getheader("Cache-Control") == "no-store"
    assert answer.getheader("Access-Control-Allow-Origin") is None
    assert answer.getheader("Set-Cookie") is None
    assert answer.getheader("Server") is None


@pytest.mark.parametrize("path", ROOT_PATHS)
def test_without_the_token_nothing_is_answered(explorer, path):
    answer, text = ask(explorer, path)
    assert answer.status == 403
    assert b"needs its token" in text


def test_a_token_that_differs_in_one_character_is_wrong(explorer):
    token = prefix(explorer).strip("/")
    other = ("A" if token[-1] != "A" else "B").join([token[:-1], ""])
    assert len(other) == len(token)
    assert ask(explorer, f"/{other}/")[0].status == 403
    assert ask(explorer, f"/{token}/")[0].status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::", "", "127.0.0.2"]
)
def test_other_names_of_the_host_are_refused(explorer, host):
    answer, _ = ask(explorer, prefix(explorer), Host=host)
    assert answer.status in {400, 403}


def test_forwarded_ports_are_served(explorer):
    assert ask(explorer, prefix(explorer), Host="localhost:9000")[0].status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_requests_of_other_sites_are_refused(explorer, headers):
    body = read_body(explorer)
    assert post(explorer, body, **headers)[0].status == 403
    assert ask(explorer, prefix(explorer), **headers)[0].status == 403
    own = {"Origin": f"http://{urlsplit(explorer).netloc}", "Sec_Fetch_Site": "same-origin"}
    assert post(explorer, body, **own)[0].status == 200


@pytest.mark.parametrize(
    "rest",
    [
        "../../../../etc/passwd",
        "assets/../app.py",
        "assets/%2e%2e/app.py",
        "assets/..%2fapp.py",
        "assets//etc/passwd",
        "assets/%00",
        "_dash-component-suites/dash/../../../../../etc/passwd",
        "_dash-component-suites/dash/dash.py",
        "_dash-component-suites/os/path.py",
        "_dash-component-suites/moldable/__init__.py",
        "anything",
        "_reload-hash",
        "_mcp",
    ],
)
def test_paths_outside_the_page_are_not_found(explorer, rest):
    answer, text = ask(explorer, prefix(explorer) + rest)
    assert answer.status in {403, 404}
    assert b"root:" not in text
    assert b"import" not in text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(explorer, method):
    path = prefix(explorer) + "_dash-update-component"
    assert ask(explorer, path, method=method)[0].status in {400, 405, 415}


def test_the_fields_of_the_page_are_read(explorer):
    answer, text = post(explorer, read_body(explorer, load="40%"))
    assert answer.status == 200
    assert json.loads(text)["response"]["question"]["data"]["data"]["load"] == 0.4


BROKEN = {
    "no JSON": lambda _: b"{",
    "a list": lambda body: [body],
    "null": lambda _: b"null",
    "unknown": lambda body: body | {"output": "verdict.children"},
    "of the browser": lambda body: body | {"output": "dark.data"},
    "no inputs": lambda body: body | {"inputs": []},
    "inputs of another kind": lambda body: body | {"inputs": {"id": 1}},
    "other inputs": lambda body: body | {"inputs": body["inputs"][::-1]},
    "no identifiers": lambda body: body | {"inputs": [{}] * len(body["inputs"])},
    "odd identifiers": lambda body: body | {"state": [{"id": {"a": 1}, "property": []}]},
    "no outputs": lambda body: {k: v for k, v in body.items() if k != "outputs"},
    "one output": lambda body: body | {"outputs": body["outputs"][0]},
    "odd changes": lambda body: body | {"changedPropIds": [3]},
}


@pytest.mark.parametrize("name", BROKEN)
def test_damaged_requests_are_refused(explorer, name):
    body = BROKEN[name](read_body(explorer))
    answer, text = post(explorer, body)
    assert answer.status == 400
    assert b"Traceback" not in text


def test_large_requests_are_refused(explorer):
    assert post(explorer, b" " * (2 << 20))[0].status == 413


def test_only_this_machine_is_served(explorer):
    port = urlsplit(explorer).port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=5)


def test_an_explorer_of_a_file_runs_until_it_is_stopped():
    arguments = ("examples/slurm-week.txt", "--servers", "64")
    with exploring("--no-browser", *arguments) as (url, process):
        _, layout = ask(url, prefix(url) + "_dash-layout")
        assert b"slurm-week.txt" in layout
        assert b"Poisson" in layout  # among what was assumed
        assert b'"value":"64"' in layout
        _end(process, signal.SIGTERM)


def _end(process, number: int) -> None:
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    assert process.stderr.read().endswith("The explorer has ended.\n")
    assert "Ctrl-C" in process.stdout.read()


@pytest.fixture
def asked(run, monkeypatch):
    """Return the question that the command would serve."""
    served = []
    command = importlib.import_module("moldable.cli.explore")
    monkeypatch.setattr(command, "_serve", lambda question, *_, **__: served.append(question))

    def ask_for(*arguments: str) -> Question:
        assert run("explore", "--no-browser", *arguments).returncode == 0
        return served.pop()

    return ask_for


def test_a_file_is_the_question_that_the_page_begins_with(asked):
    assert asked("examples/gpus.toml") == read_question(ROOT / "examples" / "gpus.toml")
    curve = asked("examples/measured.csv", "--servers", "32", "--seed", "5")
    assert (curve.servers, curve.waiting, curve.seed) == (32, 0, 5)
    assert "the number of servers and the load are" in curve.notes[0]


def test_a_plan_opens_as_the_scenario_that_it_was_made_for(asked, tmp_path):
    scenario = Scenario.single([1, 1.8], 0.7, 8)
    policy = value_policy(scenario, 4.0)
    write_plan(tmp_path / "plan.json", policy, evaluate(scenario, policy))
    found = asked(str(tmp_path / "plan.json"), "--waiting", "4")
    assert (found.servers, found.load, found.waiting) == (8, pytest.approx(0.7), 4)
    assert found.classes[0].speedup == (1.0, 1.8)


def _stored(part):
    """Yield the identifiers and contents of the stores of a layout."""
    if isinstance(part, list):
        for each in part:
            yield from _stored(each)
    elif isinstance(part, dict):
        if part.get("type") == "Store":
            yield part["props"]["id"], part["props"].get("data")
        yield from _stored(part.get("props", {}).get("children"))


def test_the_first_answer_comes_with_the_page(explorer):
    expected = evaluate(Scenario.single([1, 1.8, 2.5, 3, 3.4], 0.8, 16), "greedy-p")
    ends = time.monotonic() + 60.0
    while not (rows := _first_rows(explorer)):  # on a slow machine the page comes before it
        assert time.monotonic() < ends
        time.sleep(0.1)
    assert rows["greedy-p"][1] == f"{expected.blocking.value:.6g}"


def _first_rows(url: str) -> dict[str, list[str]]:
    """Return the rows of the table that come with the page, by their policies."""
    _, layout = ask(url, prefix(url) + "_dash-layout")
    table = dict(_stored(json.loads(layout)))["first-rows"] or {"rows": []}
    return {row[0]: row for row in table["rows"]}


def test_places_of_figures_are_empty_until_they_are_drawn(explorer):
    _, layout = ask(explorer, prefix(explorer) + "_dash-layout")
    assert layout.count(b'"paper_bgcolor":"rgba(0,0,0,0)"') == layout.count(b'"type":"Graph"') == 5


def test_scripts_may_be_kept_by_the_browser_and_nothing_else(explorer):
    kept = "private, max-age=86400, immutable"
    plotly = "_dash-component-suites/plotly/package_data/plotly.min.js"
    for path, expected in (("assets/page.js", kept), (plotly, kept), ("_dash-layout", "no-store")):
        answer, _ = ask(explorer, prefix(explorer) + path)
        assert (answer.status, answer.getheader("Cache-Control")) == (200, expected), path
    answer, _ = ask(explorer, prefix(explorer) + "assets/missing.js")
    assert (answer.status, answer.getheader("Cache-Control")) == (404, "no-store")


def test_a_chosen_port_is_used_once_and_a_missing_browser_is_told(run, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    with exploring("--port", port) as (url, process):
        assert urlsplit(url).port == int(port)
        told = "moldable: note: no browser was found; open the address yourself\n"
        assert process.stderr.readline() == told
        found = run("explore", "--port", port)
        _end(process, signal.SIGINT)
    assert found.returncode == 2
    assert found.stderr == (
        f"moldable: error: --port {port} cannot be used: address already in use; choose another "
        f"port, or leave out --port\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.toml"], "missing.toml"),
        (["README.md"], "README.md"),
        (
            ["tests/fitting/files/hyperfine.json"],
            "give a plan file, which moldable plan and moldable tune",
        ),
        (["examples/measured.csv", "--class-by", "user"], "no column for submit"),
        (["examples/measured.csv", "--curve", "power:0.8"], "--curve is for job logs only"),
        (["--port", "70000"], "--port 70000 is not a port"),
        (["--class-by", "user"], "--class-by is for job logs only"),
        (["--servers", "0"], "--servers 0"),
    ],
)
def test_bad_input_ends_the_command_before_anything_is_served(run, arguments, told):
    found = run("explore", "--no-browser", *arguments)
    assert found.returncode == 2
    assert found.stdout == ""
    assert told in found.stderr


def test_the_extra_is_named_where_it_is_missing(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    found = run("explore")
    assert found.returncode == 2
    assert "pip install 'moldable[explore]'" in found.stderr
