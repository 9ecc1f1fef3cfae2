"""The page of the explorer without a browser: it sends the requests that the page would send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Body = dict[str, Any]
Send = Callable[[str, bytes | None], tuple[int, bytes]]
"""Sends a request for a path behind the token, with a body of JSON if it is POST, and returns the
status and the body of the answer."""
ANSWERS = "_dash-update-component"


class Page:
    """An open page.

    Args:
        send: sends a request.

    Attributes:
        callbacks: of the server, by their outputs.
        values: of all places, such as "load.value".
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        for path in ("", "_dash-layout", "_dash-dependencies"):
            status, content = send(path, None)
            assert status == 200, (path, status)
            if path == "_dash-layout":
                self.values = dict(_places(json.loads(content)))
        self.callbacks = {
            each["output"]: each
            for each in json.loads(content)
            if not each.get("clientside_function")
        }
        self.values["dark.data"] = False

    def set(self, **fields: str) -> None:
        """Write into fields, such as load."""
        for name, text in fields.items():
            self.values[f"{name.replace('__', '-')}.value"] = text

    def body(self, output: str) -> Body:
        """Return the request for an answer with the present values."""
        callback = self.callbacks[output]
        outputs = [_place(name) for name in output.strip(".").split("...")]
        return {
            "output": output,
            "outputs": outputs if output.startswith("..") else outputs[0],
            "inputs": [self._given(each) for each in callback["inputs"]],
            "state": [self._given(each) for each in callback["state"]],
            "changedPropIds": [f"{callback['inputs'][0]['id']}.value"],
        }

    def ask(self, output: str) -> int:
        """Request an answer, keep its values and return the status."""
        status, content = self._send(ANSWERS, json.dumps(self.body(output)).encode())
        if status == 200:
            for name, places in json.loads(content)["response"].items():
                for part, value in places.items():
                    self.values[f"{name}.{part.partition('@')[0]}"] = value
        return status

    def ask_all(self) -> list[int]:
        """Read the fields, and request all answers that depend on them."""
        order = sorted(self.callbacks, key=self._turn)
        return [self.ask(output) for output in order]

    def _turn(self, output: str) -> int:
        """Return when a callback is asked: the question, then views, then precise ones."""
        inputs = {each["id"] for each in self.callbacks[output]["inputs"]}
        if "question" not in inputs:
            return 0 if "load" in inputs else 3 if any("-pending" in i for i in inputs) else 4
        return 1 if "measure.value" in output or "choice" in output else 2

    def _given(self, place: dict[str, str]) -> dict[str, Any]:
        return {**place, "value": self.values.get(f"{place['id']}.{place['property']}")}


def _place(name: str) -> dict[str, str]:
    owner, _, part = name.partition(".")
    return {"id": owner, "property": part}


def _places(component: Any) -> Iterator[tuple[str, Any]]:
    """Yield the places of a layout and their values."""
    if isinstance(component, list):
        for each in component:
            yield from _places(each)
    elif isinstance(component, dict) and isinstance(component.get("props"), dict):
        properties = component["props"]
        if "id" in properties:
            for part, value in properties.items():
                yield f"{properties['id']}.{part}", value
        yield from _places(properties.get("children"))
