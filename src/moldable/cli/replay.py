"""`moldable replay`: a job log under other policies, compared with the recorded schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from moldable.cli import output
from moldable.cli.log_options import LogArgument, LogOptions, takes_log
from moldable.cli.options import JsonOption, SeedOption, ServersOption
from moldable.errors import InputError
from moldable.policies.registry import policy_help

if TYPE_CHECKING:
    from moldable.traces.trace import Trace

DISCIPLINES: Final = {"easy": "easy", "none": "fcfs"}
CurvesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--curve",
        metavar="CURVE",
        help="Assumed speed-up curve, as for --speedup. A model may be written without its "
        "largest width, and its parameters relative to p, the servers that the user asked for: "
        "downey:p:1 (average parallelism p), downey:2p:1, amdahl:0.95, power:0.8, linear. "
        "CLASS=CURVE for a curve for one class; repeat the option.",
        show_default="downey:p:1",
    ),
]
LeastOption = Annotated[
    float,
    typer.Option(
        "--least",
        metavar="SHARE",
        help="Narrowest width, as a share of the servers that the user asked for.",
    ),
]
MostOption = Annotated[
    float,
    typer.Option(
        "--most",
        metavar="FACTOR",
        help="Widest width, as a multiple of the servers that the user asked for.",
    ),
]
BackfillOption = Annotated[
    str,
    typer.Option(
        "--backfill",
        metavar="MODE",
        help="easy (EASY backfill with the users' estimates) or none (first come, first served).",
    ),
]
PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help=f"Policy to replay; repeat the option for several. tuned (the best policy found "
        f"on the jobs before --judged-from), {policy_help()}, or a JSON file.",
        show_default="even-price and tuned",
    ),
]
JudgedFromOption = Annotated[
    float,
    typer.Option(
        "--judged-from",
        metavar="SHARE",
        help="Share of the jobs, from the start of the log, on which policies are tuned; "
        "they are judged on the rest.",
    ),
]
CopiesOption = Annotated[
    int,
    typer.Option(
        "--copies",
        metavar="N",
        help="Copies of the log with shifted submission times, used for confidence "
        "intervals (at least 5; 0: none).",
    ),
]
ShiftOption = Annotated[
    float,
    typer.Option(
        "--shift",
        metavar="SECONDS",
        help="Largest shift of a submission time; choose less if jobs are much shorter.",
    ),
]


@takes_log
def replay(
    *,
    log: LogArgument,
    options: LogOptions,
    servers: ServersOption = None,
    curve: CurvesOption = None,
    least: LeastOption = 0.5,
    most: MostOption = 1.0,
    backfill: BackfillOption = "easy",
    policy: PoliciesOption = None,
    judged_from: JudgedFromOption = 0.5,
    copies: CopiesOption = 6,
    shift: ShiftOption = 900.0,
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Replay a job log under other policies.

    Jobs keep their submission times and sizes, but may run on fewer servers than their users asked
    for. The policies are compared with the recorded schedule, with rigid jobs with and without
    backfill, and with the largest width that fits, Slurm's rule for ranges of nodes. Jobs are not
    killed at their time limits.

    \b
    Examples:
      moldable replay examples/slurm-week.txt --servers 64
      moldable replay examples/slurm-week.txt --servers 64 \\
        --curve amdahl:0.95 --least 0.25 --policy idle-share
    The file is copied by: moldable examples --copy examples
    """
    from moldable.traces.log_replay import DEFAULT
    from moldable.traces.log_replay import replay as run

    if backfill not in DISCIPLINES:
        raise InputError(f"--backfill {backfill!r} is unknown; write easy or none")
    with output.status_line() as progress:
        trace = options.read(log, progress)
        answer = run(
            trace,
            policy or DEFAULT,
            servers=servers,
            curves=_curves(curve, trace),
            least=least,
            most=most,
            discipline=DISCIPLINES[backfill],
            judged_from=judged_from,
            copies=copies,
            shift=shift,
            seed=seed,
            report=progress,
        )
    for told in trace.notes:
        output.note(told)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.replay_text import show_replay

        show_replay(output.console(), answer)


def _curves(texts: list[str] | None, trace: Trace) -> str | dict[str, str]:
    """Return the curve of all classes, or the curves by class."""
    if not texts:
        return "downey:p:1"
    common = [text for text in texts if not _names_class(text)]
    if len(common) > 1:
        raise InputError(
            f"--curve {common[0]} and --curve {common[1]} are both for all classes; name the "
            f"class, such as --curve {trace.classes[0]}={common[1]}"
        )
    if common and len(texts) == 1:
        return common[0]
    named = dict.fromkeys(trace.classes, common[0]) if common else {}
    for text in texts:
        name, _, curve = text.partition("=")
        if _names_class(text):
            named[name.strip()] = curve.strip()
    return named


def _names_class(text: str) -> bool:
    """Return whether text is CLASS=CURVE rather than a list of width=speed-up."""
    name, equals, _ = text.partition("=")
    return bool(equals) and not name.strip().isdigit()
