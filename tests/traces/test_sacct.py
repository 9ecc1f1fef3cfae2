from __future__ import annotations

import math

import pytest

from moldable import read_trace
from moldable.errors import InputError

HEADER = (
    "JobID|JobName|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|Elapsed|Timelimit|"
    "AllocCPUS|AllocNodes|AllocTRES|ReqTRES|Comment"
)
PLAIN = {
    "JobID": "7",
    "JobName": "train",
    "User": "ann",
    "Account": "lab",
    "Partition": "gpu",
    "State": "COMPLETED",
    "Submit": "2026-11-02T10:00:00",
    "Start": "2026-11-02T10:05:00",
    "End": "2026-11-02T11:05:00",
    "ElapsedRaw": "3600",
    "Elapsed": "01:00:00",
    "Timelimit": "02:00:00",
    "AllocCPUS": "8",
    "AllocNodes": "1",
    "AllocTRES": "billing=8,cpu=8,gres/gpu=2,node=1",
    "ReqTRES": "billing=8,cpu=8,gres/gpu=2,node=1",
    "Comment": "",
}


def lines(*rows: dict, columns=HEADER, delimiter="|") -> str:
    names = columns.split("|")
    table = [names, *([{**PLAIN, **row}[name] for name in names] for row in rows)]
    return "\n".join(delimiter.join(cells) for cells in table) + "\n"


def only_reason(trace) -> str:
    (skipped,) = trace.skipped
    assert skipped.count == 1
    return skipped.reason


def test_a_job_has_the_times_of_its_row(log):
    trace = read_trace(log(lines({}, {"JobID": "8", "Submit": "2026-11-02T10:00:30"})))
    assert trace.submit.tolist() == [0, 30]
    assert trace.start.tolist() == [300, 300]
    assert trace.run_time.tolist() == [3600, 3600]
    assert trace.requested_time.tolist() == [7200, 7200]
    assert trace.users == ("ann",)
    assert trace.states == ("completed",)
    assert trace.origin.isoformat() == "2026-11-02T10:00:00"
    assert trace.capacity is None


@pytest.mark.parametrize("delimiter", ["|", ",", ";", "\t", "\x1f", "^", "~"])
def test_any_delimiter_is_recognised(log, delimiter):
    columns = HEADER.replace("|ReqTRES", "")
    rows = [{"JobID": str(k), "JobName": f"job {k}"} for k in range(4)]
    trace = read_trace(log(lines(*rows, columns=columns, delimiter=delimiter)), class_by="name:.*")
    assert trace.classes == ("job 0", "job 1", "job 2", "job 3")
    assert trace.servers.tolist() == [2] * 4  # a list of resources contains commas, too


def test_quoted_cells_of_a_spreadsheet_are_read(log):
    cells = lines({}, delimiter="\0").splitlines()
    text = "\n".join(",".join(f'"{cell}"' for cell in line.split("\0")) for line in cells)
    assert read_trace(log(text), class_by="account").classes == ("lab",)


@pytest.mark.parametrize("step", ["7.batch", "7.extern", "7.0", "7_3.batch", "7+0.1"])
def test_steps_are_not_jobs(log, step):
    assert only_reason(read_trace(log(lines({}, {"JobID": step})))) == "job step"


def test_tasks_of_an_array_are_jobs(log):
    rows = [{"JobID": f"7_{k}"} for k in range(3)]
    pending = {"JobID": "7_[3-9]", "State": "PENDING", "Start": "Unknown", "End": "Unknown"}
    trace = read_trace(log(lines(*rows, pending)))
    assert len(trace) == 3
    assert only_reason(trace) == "not finished"


def test_the_last_run_of_a_requeued_job_counts(log):
    first = {"State": "REQUEUED", "ElapsedRaw": "60"}
    assert only_reason(read_trace(log(lines(first, {})))) == "earlier run of a requeued job"
    # Slurm writes NODE_FAIL for the first run, and submits the job again when it ends.
    failed = {"State": "NODE_FAIL", "ElapsedRaw": "60"}
    again = {"Submit": "2026-11-02T10:06:00", "Start": "2026-11-02T11:00:00", "ElapsedRaw": "90"}
    trace = read_trace(log(lines(failed, again)))
    assert trace.run_time.tolist() == [90]
    assert only_reason(trace) == "earlier run of a requeued job"


def test_rows_that_two_exports_share_count_once(log):
    trace = read_trace(log(lines({}, {"ElapsedRaw": "3601"})))
    assert trace.run_time.tolist() == [3601]
    assert only_reason(trace) == "same job and submission as a later row"


def test_numbers_of_jobs_that_are_used_again_years_later_are_other_jobs(log):
    later = {"Submit": "2029-01-01T00:00:00", "Start": "2029-01-01T00:00:00"}
    trace = read_trace(log(lines({}, later)))
    assert len(trace) == 2
    assert not trace.skipped


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"State": "RUNNING", "End": "Unknown"}, "not finished"),
        ({"State": "PENDING", "Start": "Unknown", "ElapsedRaw": "0"}, "not finished"),
        (
            {"State": "CANCELLED by 1001", "Start": "None", "ElapsedRaw": "0", "AllocCPUS": "0"},
            "cancelled before it started",
        ),
        ({"State": "FAILED", "Start": "Unknown", "ElapsedRaw": "0"}, "never started"),
        ({"ElapsedRaw": "0"}, "run time of 0 s"),
        ({"ElapsedRaw": "-5"}, "negative run time"),
        ({"ElapsedRaw": "an hour"}, "elapsedraw cannot be read"),
        ({"Submit": "yesterday"}, "submit cannot be read"),
        ({"Submit": "Unknown"}, "submit cannot be read"),
        ({"AllocNodes": "two"}, "allocnodes cannot be read"),
        ({"Timelimit": "a day"}, "timelimit cannot be read"),
        ({"Start": "2026-11-02T09:59:59"}, "starts before its submission"),
        ({"AllocCPUS": "9" * 30}, "a number that is too large"),
    ],
)
def test_rows_that_are_no_jobs_are_counted_with_line_and_job(log, change, reason):
    trace = read_trace(log(lines({}, {"JobID": "8"}, {"JobID": "9", **change})), count="cpus")
    assert len(trace) == 2
    assert only_reason(trace) == reason
    assert trace.skipped[0].examples == ("line 4 (job 9)",)


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"State": "CANCELLED by 1001"}, "cancelled"),
        ({"State": "CANCELLED+"}, "cancelled"),
        ({"State": "TIMEOUT"}, "timeout"),
        ({"State": "OUT_OF_MEMORY"}, "out_of_memory"),
    ],
)
def test_jobs_that_ran_and_did_not_complete_are_jobs(log, change, state):
    assert read_trace(log(lines(change))).states == (state,)


@pytest.mark.parametrize(
    ("columns", "change", "seconds"),
    [
        ("JobID|State|Submit|Start|Elapsed|AllocCPUS", {"Elapsed": "2-00:00:01"}, 172_801),
        ("JobID|State|Submit|Elapsed|AllocCPUS", {"Elapsed": "05:00.250"}, 300.25),
        ("JobID|State|Submit|Start|End|AllocCPUS", {}, 3600),
    ],
)
def test_the_run_time_comes_from_whatever_column_there_is(log, columns, change, seconds):
    trace = read_trace(log(lines(change, columns=columns)))
    assert trace.run_time.tolist() == [seconds]
    assert math.isnan(trace.requested_time[0])
    assert math.isnan(trace.start[0]) == ("Start" not in columns)


def test_limits_may_be_absent_or_unlimited(log):
    for limit in ("UNLIMITED", "Partition_Limit", ""):
        assert math.isnan(read_trace(log(lines({"Timelimit": limit}))).requested_time[0])


@pytest.mark.parametrize(
    ("count", "servers", "unit"),
    [("auto", 2, "gpus"), ("gpus", 2, "gpus"), ("cpus", 8, "cpus"), ("nodes", 1, "nodes")],
)
def test_servers_are_gpus_cpus_or_nodes(log, count, servers, unit):
    trace = read_trace(log(lines({})), count=count)
    assert trace.servers.tolist() == [servers]
    assert trace.server_unit == unit


def test_servers_are_cpus_if_few_jobs_have_gpus(log):
    rows = [{"JobID": str(k), "AllocTRES": "cpu=8,node=1", "ReqTRES": ""} for k in range(3)]
    trace = read_trace(log(lines({}, *rows)))
    assert trace.server_unit == "cpus"
    assert trace.notes == (
        "servers are cpus, which 100 % of the jobs have; choose another unit by --count",
    )
    gpus = read_trace(log(lines({}, *rows)), count="gpus")
    assert len(gpus) == 1
    assert (gpus.skipped[0].reason, gpus.skipped[0].count) == ("no gpus", 3)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1", 4),
        ("cpu=8,gres/gpu:a100=1,gres/gpu:v100=2,node=1", 3),
        ("gres/gpu=16", 16),
        ("gres/gpumem=80G,gres/gpu=1,gres/gpuutil=5", 1),
    ],
)
def test_gpus_of_several_types_are_counted_once(log, text, gpus):
    assert read_trace(log(lines({"AllocTRES": text})), count="gpus").servers.tolist() == [gpus]


def test_requested_resources_stand_in_for_allocated_ones(log):
    trace = read_trace(log(lines({"AllocTRES": "", "ReqTRES": "gres/gpu=3"})))
    assert trace.servers.tolist() == [3]


@pytest.mark.parametrize("name", ["a|b", "a|b|c", "|", "x|COMPLETED", "2026-11-02T10:00:00|1"])
def test_a_delimiter_in_the_name_of_a_job_is_part_of_it(log, name):
    trace = read_trace(log(lines({"JobName": name, "Comment": "c | d"})), class_by="name:.*")
    assert trace.classes == (name,)
    assert trace.run_time.tolist() == [3600]


def test_a_delimiter_in_a_row_that_fits_no_way_or_several_ways_is_a_damaged_row(log):
    good = [{"JobID": str(k)} for k in range(3)]
    several = "JobID|JobName|User|Comment|State|Submit|Elapsed|AllocCPUS"
    for columns, change in ((HEADER, {"State": "a|b"}), (several, {"JobName": "a|b"})):
        trace = read_trace(log(lines(*good, {"JobID": "9", **change}, columns=columns)))
        assert only_reason(trace) == "wrong number of columns"


def test_missing_columns_are_named_with_those_found(log):
    text = lines({}, columns="JobID|JobName|State|Elapsed|AllocCPUS").replace("Elapsed", "Elapsd")
    with pytest.raises(
        InputError, match=r"no column for the time of submission; it has jobid, job"
    ):
        read_trace(log(text))
    text = lines({}, columns="JobID|State|Submit|Elapsed|AllocCPUS").replace("Elapsed", "Elapsd")
    with pytest.raises(
        InputError, match=r"no column for the run time; .*nearest: 'elapsd'\); add ElapsedRaw or El"
    ):
        read_trace(log(text))
    text = lines({}, columns="JobID|State|Submit|Elapsed|JobName")
    with pytest.raises(InputError, match=r"the servers of a job; .* AllocCPUS or AllocTRES"):
        read_trace(log(text))
    with pytest.raises(InputError, match=r"class_by='group'; .* add group or gid to sacct"):
        read_trace(log(lines({})), class_by="group")
    with pytest.raises(InputError, match="sacct has no class; choose one of user, group, account"):
        read_trace(log(lines({})), class_by="class")


def test_an_export_of_too_few_columns_says_which_to_add(log):
    text = "JobID|JobName|User|Partition\n1|x|ann|gpu\n"
    with pytest.raises(InputError, match=r"it has jobid, jobname, user, partition; add \w+ to"):
        read_trace(log(text))


def test_a_table_for_people_is_refused_with_the_right_option(log):
    text = "JobID    JobName  State\n-------- -------- -----\n1        x        DONE\n"
    with pytest.raises(InputError, match=r"sacct --parsable2"):
        read_trace(log(text))


def test_a_log_without_header_is_refused(log):
    text = lines({}).split("\n", 1)[1]
    with pytest.raises(InputError, match=r"not recognised as a job log"):
        read_trace(log(text))
    with pytest.raises(InputError, match=r"not a header of sacct"):
        read_trace(log(text), format="sacct")


def test_a_log_without_any_job_says_what_its_rows_are(log):
    text = lines({"State": "PENDING"}, {"JobID": "7.batch"})
    with pytest.raises(
        InputError, match=r"2 rows, none is a job that ran \(not finished: 1 row, the first line"
    ):
        read_trace(log(text))


def test_epoch_seconds_are_accepted_as_times(log):
    row = {"Submit": "1700000000", "Start": "1700000010", "End": "1700000100"}
    trace = read_trace(log(lines(row)))
    assert trace.start.tolist() == [10]
    assert trace.origin.isoformat() == "2023-11-14T22:13:20+00:00"


def test_limits_in_minutes_stand_in_for_limits(log):
    columns = "JobID|State|Submit|Start|End|AllocTRES|TimelimitRaw"
    text = lines({}, columns=columns.replace("TimelimitRaw", "Timelimit")).replace(
        "Timelimit", "TimelimitRaw"
    )
    trace = read_trace(log(text.replace("02:00:00\n", "120\n")))
    assert trace.requested_time.tolist() == [7200]
    assert trace.servers.tolist() == [2]


def test_an_end_without_a_start_is_no_run_time(log):
    text = lines({}, columns="JobID|State|Submit|End|AllocCPUS")
    with pytest.raises(InputError, match=r"no column for the run time"):
        read_trace(log(text))


def test_nodes_are_counted_if_there_is_nothing_else(log):
    trace = read_trace(log(lines({}, columns="JobID|State|Submit|Elapsed|AllocNodes")))
    assert trace.server_unit == "nodes"
    assert trace.servers.tolist() == [1]


def test_a_row_with_too_few_columns_is_damaged(log):
    text = lines({}, {"JobID": "8"}) + "9|train|ann\n"
    assert only_reason(read_trace(log(text))) == "wrong number of columns"


def test_a_name_of_very_many_delimiters_is_damaged_without_trying_for_ever(log):
    text = lines({}, {"JobID": "8"}, {"JobID": "9", "JobName": "|" * 9000})
    columns = HEADER.replace("Comment", "Comment|AdminComment|SubmitLine|WorkDir")
    more = "|".join(columns.split("|")[-3:])
    assert only_reason(read_trace(log(text))) == "wrong number of columns"
    wide = text.replace("Comment\n", f"Comment|{more}\n", 1)
    with pytest.raises(InputError, match=r"3 of 3 rows are damaged"):
        read_trace(log(wide))
