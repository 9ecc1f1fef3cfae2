"""The result of a replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from moldable.arrays import Floats, Ints
from moldable.base_result import MOST_ROWS, Result, Row
from moldable.policies.policy import Policy
from moldable.policies.registry import data_from_policy
from moldable.system.estimate import Estimate
from moldable.traces.replay_figures import ClassFigures, Figures, as_pair
from moldable.traces.replay_setting import ReplaySetting


@final
@dataclass(frozen=True, eq=False)
class Replayed:
    r"""The judged jobs under one policy, or as they were recorded.

    Attributes:
        name: of the policy.
        figures: waiting, response, bounded slowdown and utilisation.
        changes: relative changes of the mean wait, the mean response time and the bounded slowdown
            against the baseline, by name: medians over the copies of the log.
        earlier: share of the jobs whose response time is more than 10 % below the baseline's.
        later: share of the jobs whose response time is more than 10 % above it.
        classes: figures by class.
        start: time at which each judged job starts, in the log that is not shifted.
        width: its servers.
        policy: the policy; None for the recorded past.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,4\n9,90,4\n9,90,2\n")
        >>> trace = read_trace("log.csv")
        >>> found = replay(trace, "greedy", servers=6, curves="linear", judged_from=0, seed=1)
        >>> found["greedy"].width.tolist()
        [4, 2, 2]
    """

    name: str
    figures: Figures
    changes: Mapping[str, Estimate]
    earlier: float
    later: float
    classes: tuple[ClassFigures, ...]
    start: Floats = field(repr=False)
    width: Ints = field(repr=False)
    policy: Policy | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "name": self.name,
            **self.figures.to_dict(),
            "changes": {name: as_pair(change) for name, change in self.changes.items()},
            "earlier": self.earlier,
            "later": self.later,
            "classes": [asdict(part) for part in self.classes],
        }


@final
@dataclass(frozen=True, repr=False, eq=False)
class Replay(Result):
    r"""A log under several policies; times are in seconds.

    Attributes:
        runs: the recorded schedule, if the log has it, the baselines and the policies.
        baseline: name of the run that changes are relative to.
        jobs: number of judged jobs.
        left_out: jobs wider than the cluster.
        tuned: the policy that was tuned on the first part, if one was.
        setting: what was replayed.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,4\n9,90,4\n9,90,2\n")
        >>> found = replay(read_trace("log.csv"), "greedy", servers=6, judged_from=0, seed=1)
        >>> [run.name for run in found.runs][-2:]
        ['largest that fits', 'greedy']
    """

    runs: tuple[Replayed, ...]
    baseline: str
    jobs: int
    left_out: int
    tuned: Policy | None
    setting: ReplaySetting

    def __getitem__(self, name: str) -> Replayed:
        """Return the run of this name."""
        for run in self.runs:
            if run.name == name:
                return run
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        tuned = None if self.tuned is None else data_from_policy(self.tuned)
        return {
            "time_unit": "seconds",
            "jobs": self.jobs,
            "left_out": self.left_out,
            "baseline": self.baseline,
            "tuned": tuned,
            "runs": [run.to_dict() for run in self.runs],
            "inputs": self.setting.to_dict(),
        }

    def table(self) -> list[Row]:
        """Return a row for each run."""
        rows: list[Row] = []
        for run in self.runs:
            row: dict[str, Any] = {"name": run.name}
            for name, pair in run.figures.to_dict().items():
                row |= {name: pair["value"], f"{name}_interval": pair["interval"]}
            row |= {f"{name}_change": change.value for name, change in run.changes.items()}
            rows.append(row | {"earlier": run.earlier, "later": run.later})
        return rows

    def __repr__(self) -> str:
        """Show a line for each run."""
        lines = [
            f"  {run.name}: mean wait {run.figures.mean_wait} s, "
            f"response {run.figures.mean_response} s"
            for run in self.runs[:MOST_ROWS]
        ]
        return "\n".join(
            (f"Replay of {self.jobs:,} jobs on {self.setting.servers} servers:", *lines)
        )
