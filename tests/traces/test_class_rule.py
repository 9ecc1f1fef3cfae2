from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import read_trace
from moldable.errors import InputError
from moldable.traces.class_rule import ClassRule, merge_rare

TEXT = "submit,run_time,servers,name,account\n" + "".join(
    f"{k},60,2,{name},{name[0]}\n"
    for k, name in enumerate(["train-1", "train-2", "solve-9", "misc", "train-3", "solve-1"])
)


def test_without_a_rule_there_is_one_class(log):
    assert read_trace(log(TEXT)).classes == ("jobs",)


def test_the_first_group_or_the_whole_match_is_the_class(log):
    assert read_trace(log(TEXT), class_by="name:^(train|solve)").classes == (
        "train",
        "solve",
        "other",
    )
    assert read_trace(log(TEXT), class_by="name:-[0-9]").classes == (
        "-1",
        "-2",
        "-3",
        "-9",
        "other",
    )


def test_expressions_that_python_warns_of_are_used_without_a_warning(recwarn):
    assert ClassRule.parse("name:[[x]|[a||b]").pattern is not None
    assert not recwarn.list


@pytest.mark.parametrize("expression", ["(" * 3000, "(" * 3000 + ")" * 3000, "a{99999999999}", "["])
def test_expressions_that_python_cannot_read_are_refused(expression):
    with pytest.raises(InputError, match="not a regular expression"):
        ClassRule.parse(f"name:{expression}")


def test_the_most_frequent_classes_come_first_and_the_rest_are_merged(log):
    trace = read_trace(log(TEXT), class_by="account", most_classes=2)
    assert trace.classes == ("t", "other")
    assert np.bincount(trace.job_class).tolist() == [3, 3]


def test_comments_of_slurm_are_searched_the_administrators_first(log):
    rows = [("COMPLETED", "moldable:a;width=2", ""), ("FAILED", "moldable:a", "moldable:b;width=1"),
            ("COMPLETED", "", "")]  # fmt: skip
    text = "JobID|State|Submit|ElapsedRaw|AllocCPUS|Comment|AdminComment\n" + "".join(
        f"{k}|{state}|2026-01-01T00:00:00|60|2|{own}|{admin}\n"
        for k, (state, own, admin) in enumerate(rows)
    )
    trace = read_trace(log(text), class_by="comment:moldable:([^;]+)")
    assert [trace.classes[k] for k in trace.job_class] == ["a", "b", "other"]
    for other in (TEXT, "; SWF\n1 0 1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"):
        with pytest.raises(InputError, match="comment"):
            read_trace(log(other), class_by="comment:x")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("acount", r"did you mean 'account'"),
        ("name:(", r"not a regular expression"),
        ("user:x", r"is unknown"),
        ("name", r"name:REGEX"),
        (3, r"is not a rule"),
    ],
)
def test_other_rules_are_refused(log, rule, message):
    with pytest.raises(InputError, match=message):
        read_trace(log(TEXT), class_by=rule)


def test_other_options_are_refused(log):
    for options, message in (
        ({"count": "gpu"}, r"count='gpu' is unknown; did you mean 'gpus'"),
        ({"format": "slurm"}, r"format='slurm' is unknown"),
        ({"most_classes": 0}, r"most_classes=0 must be"),
    ):
        with pytest.raises(InputError, match=message):
            read_trace(log(TEXT), **options)


def test_an_empty_value_is_the_class_unknown():
    assert ClassRule.parse("user").label(" ") == "unknown"


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "other"]), min_size=1), st.integers(1, 6))
def test_merging_keeps_each_job_in_its_class_or_in_other(jobs, most):
    labels = sorted(set(jobs))
    index = np.array([labels.index(job) for job in jobs])
    names, found = merge_rare(labels, index, most)
    assert len(names) <= most
    kept = [names[k] for k in found]
    assert all(new in (old, "other") for new, old in zip(kept, jobs, strict=True))
    assert set(kept) == set(names)
    if len(labels) <= most:
        assert kept == jobs
    rare = [jobs.count(job) for job, name in zip(jobs, kept, strict=True) if name != job]
    least = min((jobs.count(name) for name in names if name != "other"), default=len(jobs))
    assert all(count <= least for count in rare)
