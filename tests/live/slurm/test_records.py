"""Reading the output of squeue and sinfo, whatever users write into comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable.errors import SlurmError
from moldable.live.slurm.records import (
    JOB_FIELDS,
    NODE_FIELDS,
    count_gpus,
    new_token,
    read_job,
    read_node,
    split_output,
)

TOKEN = "/0f3a/"  # noqa: S105 - not a secret here
PENDING = (
    *("17_3", "PD", "JobHeldUser", "0", "ada", "1795000000", "N/A", "N/A"),
    *("1", "1-1", "1", "1", "0", "", "(null)", "(null)", "OK", "N/A", "gres:gpu:2", "N/A"),
    *("(null)", "(null)", "moldable:solver"),
)


def printed(*rows):
    return "".join("".join(f"{cell}{TOKEN}" for cell in row) + "\n" for row in rows)


def test_a_job_is_read_field_by_field():
    (cells,) = split_output(printed(PENDING), JOB_FIELDS, TOKEN)
    job = read_job(cells)
    assert (job.job, job.held, job.submitted, job.eligible) == ("17_3", True, 1795000000.0, None)
    assert (job.cpus, job.nodes, job.gpus_per_node, job.features) == (1, 1, "gres:gpu:2", "")
    assert job.comment == "moldable:solver"
    assert job.order == (1795000000.0, 17, 3)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_comment_changes_which_jobs_are_read(comment):
    rows = [(*PENDING[:-1], comment), ("18", *PENDING[1:])]
    found = [read_job(cells) for cells in split_output(printed(*rows), JOB_FIELDS, TOKEN)]
    assert [job.job for job in found] == ["17_3", "18"]
    assert found[1].comment == "moldable:solver"


def test_cut_output_and_texts_in_place_of_numbers_are_errors():
    with pytest.raises(SlurmError, match="ends in the middle"):
        list(split_output(printed(PENDING)[:-20], JOB_FIELDS, TOKEN))
    for cells in (("x1", *PENDING[1:]), (*PENDING[:8], "many", *PENDING[9:])):
        with pytest.raises(SlurmError, match="is not"):
            read_job(cells)


@pytest.mark.parametrize("cpus", ["0/4/0", "0/4/0/4/4", "0/40/4", "a/b/c/d", "0/4/0/" + "9" * 5000])
def test_cpus_of_a_node_in_another_form_are_errors(cpus):
    with pytest.raises(SlurmError, match="in the output of Slurm"):
        read_node(("n1", "idle", cpus, "gpu:4", "gpu:0"))


def test_numbers_of_thousands_of_digits_are_errors():
    with pytest.raises(SlurmError, match="is not a number"):
        read_job((*PENDING[:8], "9" * 5000, *PENDING[9:]))
    with pytest.raises(SlurmError, match="is not a number"):
        count_gpus("gpu:" + "9" * 5000)


def test_tokens_are_not_used_twice():
    assert len({new_token() for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("state", "cpus", "expected"),
    [
        ("idle", "0/16/0/16", (16, 16, True, True)),
        ("mix", "4/12/0/16", (16, 12, False, True)),
        ("idle~", "0/16/0/16", (16, 16, True, True)),
        ("idle*", "0/16/0/16", (0, 0, False, False)),
        ("resv", "0/16/0/16", (0, 0, False, False)),
        ("drng", "4/0/12/16", (4, 0, False, True)),
        ("drain", "0/0/16/16", (0, 0, False, False)),
        ("down*", "0/0/16/16", (0, 0, False, False)),
    ],
)
def test_only_nodes_that_start_jobs_have_idle_cpus(state, cpus, expected):
    node = read_node(("n1", state, cpus, "gpu:4(S:0)", "gpu:1(IDX:0)"))
    assert (node.cpus, node.idle_cpus, node.idle, node.usable) == expected
    assert node.all_cpus == 16
    assert len(NODE_FIELDS) == 5


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu:4", 4),
        ("gpu:a100:4(S:0-1)", 4),
        ("gpu:a100:2(IDX:0,3),gpu:k80:1(IDX:1),tmp:7", 3),
        ("gres:gpu:3", 3),
        ("gres/gpu:tesla:2", 2),
        ("gres:gpu", 1),
        ("", 0),
        ("shard:8", 0),
    ],
)
def test_gpus_are_counted_in_all_spellings(text, count):
    assert count_gpus(text) == count
