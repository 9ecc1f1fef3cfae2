"""Which requests for an answer have the form that the page sends; Dash takes it for granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def well_formed(body: object, callbacks: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a request names a callback of the server and all of its places.

    Args:
        body: of the request.
        callbacks: of the application, by their outputs: `Dash.callback_map`.
    """
    if not isinstance(body, dict) or not isinstance(body.get("output"), str):
        return False
    known = callbacks.get(body["output"])
    if known is None or "callback" not in known:  # others run in the browser
        return False
    outputs = body.get("outputs")
    names = body["output"].strip(".").split("...")
    # Dash expects a list exactly if there are several.
    listed = outputs if body["output"].startswith("..") else [outputs]
    changed = body.get("changedPropIds", [])
    return (
        _places(listed) == names
        and _places(body.get("inputs")) == _places(known["inputs"])
        and _places(body.get("state", [])) == _places(known["state"])
        and isinstance(changed, list)
        and all(isinstance(each, str) for each in changed)
    )


def _places(given: object) -> list[str] | None:
    """Return `id.property` of each place; None if one has another form."""
    if not isinstance(given, list):
        return None
    if not all(isinstance(each, dict) for each in given):
        return None
    parts = [(each.get("id"), each.get("property")) for each in given]
    if not all(isinstance(word, str) for pair in parts for word in pair):
        return None
    return [".".join(pair) for pair in parts]
