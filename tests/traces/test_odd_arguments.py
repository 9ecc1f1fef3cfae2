"""Values of the wrong type are refused with an error of the library."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import MoldableError, read_trace
from moldable.traces import draft_scenario, summarise, write_trace

ODD = (3, 1.5, [], {"a": 1}, np.array([1, 2]), object(), "x")
TEXT = "submit,run_time,servers\n0,60,2\n9,60,4\n"


@pytest.mark.parametrize("odd", ODD, ids=lambda value: type(value).__name__)
def test_arguments_of_other_types_are_refused(log, tmp_path, odd):
    path = log(TEXT)
    trace = read_trace(path)
    asks = [
        lambda: read_trace(odd),
        lambda: read_trace(path, class_by=odd),
        lambda: read_trace(path, columns=odd),
        lambda: read_trace(path, format=odd),
        lambda: read_trace(path, count=odd),
        lambda: summarise(odd),
        lambda: draft_scenario(odd),
        lambda: draft_scenario(trace, curve=odd),
        lambda: draft_scenario(trace, curve={"jobs": odd}),
        lambda: draft_scenario(trace, time_unit=odd),
        lambda: write_trace(odd, tmp_path / "x.csv"),
    ]
    if not isinstance(odd, int):
        asks += [lambda: summarise(trace, servers=odd), lambda: read_trace(path, most_classes=odd)]
    if not isinstance(odd, str):
        asks.append(lambda: write_trace(trace, odd))
    for ask in asks:
        with pytest.raises(MoldableError, match=r"."):
            ask()
    assert not (tmp_path / "x.csv").exists()
