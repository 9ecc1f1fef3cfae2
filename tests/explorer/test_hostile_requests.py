"""Random requests to the explorer: damaged ones, those of other sites, and paths out of the page.

Inputs come from the fuzzer's lists of difficult values, with a fixed seed.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from urllib.parse import unquote_to_bytes

import pytest

pytest.importorskip("dash")

from explorer_page import ANSWERS, Page
from fuzz.mutate import damaged_json, odd_text, typo
from fuzz.values import NUMBERS, PLAIN
from moldable.explorer.app import build_app
from moldable.explorer.class_input import ClassInput
from moldable.explorer.question import Question

TOKEN = "the-token"  # noqa: S105 - of this test
OWN = "127.0.0.1:8050"
REFUSED = {400, 403, 404, 405, 413, 415}
ANSWERED = {200, 204}
FIELDS = ("load", "servers", "waiting", "size", "arrivals", "target", "limit", "seed", "speedup-0")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PIECES = (
    *("..", ".", "", "%2e%2e", "..%2f", "%252e%252e", "..\\", "%5c", "%00", "\u2025", "a" * 300),
    *("assets", "_dash-component-suites", "dash", "plotly", "dash_renderer", "moldable", "os"),
    *("etc", "passwd", "proc", "self", "environ", "app.py", "page.js", "__init__.py", "~", ";x"),
)
SECRETS = (b"root:", b"import ", b"PATH=", b"PYTHON")


@pytest.fixture(scope="module")
def client():
    question = Question((ClassInput("jobs", (1.0, 1.8)),), 4, 0.5)
    return build_app(question, TOKEN)[0].test_client()


@pytest.fixture
def send(client, capfd):
    """Send a request of the page; a request that fails inside the server fails the test."""

    def request(path, body, **headers):
        given = {"Host": OWN, **{name.replace("_", "-"): text for name, text in headers.items()}}
        given.setdefault("Content-Type", "application/json")
        found = client.open(
            f"/{TOKEN}/{path}", method="GET" if body is None else "POST", data=body, headers=given
        )
        assert found.status_code in ANSWERED | REFUSED, (path, body, found.data)
        assert b"Traceback" not in found.data
        assert found.headers["Content-Security-Policy"].startswith("default-src 'none'")
        told = capfd.readouterr().err
        assert "could not answer" not in told, (path, body, told)
        return found.status_code, found.data

    return request


@pytest.fixture
def page(send):
    found = Page(send)
    assert found.ask(output_of(found, "..question.data...")) == 200
    return found


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - inputs are random, not secret


def output_of(page: Page, beginning: str) -> str:
    return next(output for output in page.callbacks if output.startswith(beginning))


def test_damaged_requests_are_answered_or_refused(page, send):
    rng = seeded(4)
    bodies = [json.dumps(page.body(output)).encode() for output in page.callbacks]
    statuses = Counter(send(ANSWERS, damaged_json(rng, rng.choice(bodies)))[0] for _ in range(400))
    assert statuses[400] > 50
    assert statuses[200] + statuses[204] > 20


def test_damaged_questions_are_answered_or_refused(page, send):
    """The question is read once, kept by the page, and sent with each request."""
    rng = seeded(2)
    outputs = [name for name in page.callbacks if "@" not in name]
    valid = page.values["question.data"]
    statuses = Counter()
    for _ in range(300):
        data = damaged_json(rng, json.dumps(valid["data"]).encode())
        try:
            page.values["question.data"] = valid | {"data": json.loads(data)}
        except (ValueError, RecursionError):
            continue
        statuses[send(ANSWERS, json.dumps(page.body(rng.choice(outputs))).encode())[0]] += 1
    assert statuses[200] > 20


def test_odd_texts_in_the_fields_get_a_message(page, send):
    rng = seeded(3)
    read = output_of(page, "..question.data...")
    usual = dict(page.values)
    answered = Counter()
    for _ in range(300):
        page.values |= usual
        name = rng.choice(FIELDS)
        page.values[f"{name}.value"] = rng.choice(
            (
                odd_text(rng),
                rng.choice(NUMBERS),
                rng.choice(PLAIN),
                typo(rng, "1,1.8"),
                None,
                [1],
                7,
            )
        )
        status, content = send(ANSWERS, json.dumps(page.body(read)).encode())
        assert status == 200
        told = json.loads(content)["response"]
        messages = [place["children"] for key, place in told.items() if key.endswith("-problem")]
        assert not any(CONTROL.search(message) for message in messages)
        assert ("question" in told) != any(messages), page.values[f"{name}.value"]
        answered["question" in told] += 1
    assert min(answered.values()) > 20


def test_random_paths_show_no_file_outside_the_page(client):
    rng = seeded(4)
    statuses = Counter()
    for _ in range(500):
        path = "/".join(rng.choices(PIECES, k=rng.choice((1, 2, 3, 5, 8))))
        start = f"/{TOKEN}/" if rng.random() < 0.8 else rng.choice(("/", "//", f"/{TOKEN}", "/x/"))
        sent = unquote_to_bytes(start + path).decode("latin-1")  # as WSGI has it
        found = client.get("/", headers={"Host": OWN}, environ_overrides={"PATH_INFO": sent})
        statuses[found.status_code] += 1
        assert found.status_code in {200, 301, 308} | REFUSED, path
        assert not any(secret in found.data for secret in SECRETS), path
        assert found.status_code != 200 or b"moldable explorer" in found.data or "page.js" in path
    assert statuses[404] > 50
    assert statuses[403] > 20


def test_requests_are_answered_only_from_the_own_page(page, client):
    """Compared with a list of what a browser sends for the own page."""
    rng = seeded(5)
    body = json.dumps(page.body(output_of(page, "..question.data..."))).encode()
    hosts = (OWN,) * 6 + ("localhost:1", "127.0.0.1", "evil.example", "127.0.0.1.evil.example", "")
    hosts += ("evil.example:8050", "127.0.0.1@evil.example", "[::1]:8050", "127.1")
    origins = (None, None, f"http://{OWN}", "http://evil.example", "null", f"https://{OWN}", "")
    origins += (f"http://{OWN}.evil.example", "http://127.0.0.1", "http://localhost:1", "file://")
    sites = (None, None, "same-origin", "none", "same-site", "cross-site", "odd")
    tokens = (TOKEN,) * 8 + (TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "", "%74he-token", "é")
    outcomes = Counter()
    for _ in range(600):
        host, origin, site = rng.choice(hosts), rng.choice(origins), rng.choice(sites)
        token = rng.choice(tokens)
        given = {"Host": host, "Origin": origin, "Sec-Fetch-Site": site}
        found = client.post(
            f"/{token}/{ANSWERS}",
            data=body,
            content_type="application/json",
            headers={name: text for name, text in given.items() if text is not None},
        )
        own = (
            host in {OWN, "localhost:1", "127.0.0.1"}
            and origin in {None, f"http://{host}"}
            and site in {None, "same-origin", "none"}
            and token in {TOKEN, "%74he-token"}
        )
        assert (found.status_code == 200) == own, (given, token, found.status_code)
        assert own or found.status_code in REFUSED
        assert found.headers.get("Access-Control-Allow-Origin") is None
        outcomes[own] += 1
    assert min(outcomes.values()) > 20


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json", "é"],
)
def test_types_that_other_sites_may_send_unasked_are_refused(page, client, kind):
    body = json.dumps(page.body(output_of(page, "..question.data..."))).encode()
    found = client.post(
        f"/{TOKEN}/{ANSWERS}", data=body, headers={"Host": OWN, "Content-Type": kind}
    )
    assert found.status_code in {400, 415}


@pytest.mark.parametrize("size", [(1 << 20) + 1, 8 << 20])
def test_bodies_over_the_limit_are_refused(page, send, size):
    body = json.dumps(page.body(output_of(page, "..question.data..."))).encode()
    assert send(ANSWERS, body + b" " * (1 << 19))[0] == 200
    assert send(ANSWERS, body + b" " * size)[0] == 413


def test_deep_and_long_json_is_refused(send):
    for body in (b"[" * 200_000, b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 50_000, b"9" * 6000):
        assert send(ANSWERS, body)[0] == 400
