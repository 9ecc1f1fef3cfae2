"""Job logs in all formats, valid and damaged."""

from __future__ import annotations

import functools
import gzip
import random

from fuzz.case import Case
from fuzz.commands import Draft
from fuzz.corpus import ROOT
from fuzz.mutate import damaged, typo
from fuzz.values import NUMBERS, PATHS, TEXTS

Rng = random.Random

SWF = b"""; MaxProcs: 64
; UnixStartTime: 843480031
; TimeZoneString: Europe/Stockholm
1 0 5 60 4 -1 -1 4 90 -1 1 7 2 3 1 1 -1 -1
2 30 -1 90 -1 -1 -1 8 -1 -1 5 8 2 3 1 1 -1 -1
3 31 9 3600 2 -1 -1 2 7200 -1 0 8 2 4 2 1 -1 -1
"""
JOBCOMP = b"".join(
    b"JobId=%d UserId=ann(1001) GroupId=lab(100) Name=x y JobState=COMPLETED Partition=main "
    b"TimeLimit=5 StartTime=2026-11-02T10:0%d:00 EndTime=2026-11-02T10:09:00 NodeList=n1 NodeCnt=1 "
    b"ProcCnt=8 WorkDir=/tmp Tres=cpu=8,gres/gpu=2,node=1 Account=lab "
    b"SubmitTime=2026-11-02T10:00:00 ExitCode=0:0 \n" % (k, k)
    for k in range(1, 5)
)
CSV = (
    b"# servers: 8\nsubmit,wait,run_time,servers,user,class\n0,5,60,2,ann,a\n9,0,90,4,bob,b\n",
    b"timestamp;duration;num_gpus\n2017-10-09 07:01:55;66,5;1\n2017-10-09 08:00:00;30;2\n",
)
RULES = ("none", "user", "account", "partition", "class", "name:^[a-z]+", "name:(x)?", "queue")
NASTY_RULES = ("name:", "name:(", "name:[", "class:", "user,account", "none:x")
COLUMNS = ("submit=user", "run_time=submit,servers=wait", "servers=x", "=", "submit=,", "a=b=c")


@functools.cache
def logs() -> tuple[bytes, ...]:
    """Return logs of all formats."""
    lines = (ROOT / "examples" / "slurm-week.txt").read_bytes().splitlines(keepends=True)
    return (SWF, JOBCOMP, *CSV, b"".join(lines[:60]), b"".join([lines[0], *lines[200:230]]))


def damaged_log(rng: Rng) -> Case:
    """Damage a log, or the options of the command that reads it."""
    content = damaged(rng, rng.choice(logs()))
    if rng.random() < 0.2:
        content = damaged(rng, gzip.compress(content, mtime=0), times=rng.choice((0, 1)))
    name = rng.choice(("log.txt", "log.swf", "log.csv", "log.gz"))
    draft = Draft("trace", files={name: content})
    log = rng.choice(PATHS) if rng.random() < 0.05 else name
    draft.words.append(log)
    if rng.random() < 0.5:
        rule = rng.choice(RULES) if rng.random() < 0.8 else rng.choice((*NASTY_RULES, *TEXTS))
        draft.options["--class-by"] = rule if rng.random() < 0.9 else typo(rng, rule)
    if rng.random() < 0.2:
        draft.options["--count"] = rng.choice(("cpus", "gpus", "nodes", "auto", "cores"))
    if rng.random() < 0.2:
        draft.options["--servers"] = rng.choice(("4", "64", "100", rng.choice(NUMBERS)))
    if rng.random() < 0.1:
        draft.options["--columns"] = rng.choice((*COLUMNS, *TEXTS))
    if rng.random() < 0.1:
        draft.options["--format"] = rng.choice(("swf", "sacct", "jobcomp", "csv", "xml"))
    if rng.random() < 0.4:
        draft.options["--draft"] = "draft.toml"
        if rng.random() < 0.5:
            draft.options["--curve"] = rng.choice(("linear", "amdahl:0.9", "1,1.8", "usl:1", "x"))
    if rng.random() < 0.3:
        draft.words.append("--json")
    return draft.build("log")
