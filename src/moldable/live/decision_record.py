"""The decisions of an executor: written to its journal, and told to policies that learn."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Final, final

from moldable.errors import InputError
from moldable.live.decisions import Instruction
from moldable.live.journal import Entry, Journal, State
from moldable.policies.policy import Policy

LOG: Final = logging.getLogger("moldable")


@final
class DecisionRecord:
    """Writes a journal. If that fails later, the error is logged and tasks go on.

    Args:
        path: file of the journal; None: nothing is written.
        plan: digest of the plan.
        policy: is given each entry if it has a method `observe`.
    """

    def __init__(self, path: Path | str | None, plan: str, policy: Policy) -> None:
        self._journal, self._plan = Journal(path), plan
        self._observe = getattr(policy, "observe", None)

    def decided(self, instruction: Instruction, submitted: float) -> None:
        """Record that a task was granted servers or blocked."""
        entry = Entry(
            time.time(),
            "granted" if instruction.action == "grant" else "blocked",
            instruction.job,
            instruction.job_class,
            instruction.width,
            self._plan,
            idle=instruction.idle,
            waiting=instruction.waiting,
            submitted=submitted,
        )
        self._record(entry)

    def ended(self, job: str, job_class: str, width: int, started: float, state: State) -> None:
        """Record the end of a task."""
        now = time.time()
        entry = Entry(now, "ended", job, job_class, width, self._plan, started=started, state=state)
        self._record(entry)

    def _record(self, entry: Entry) -> None:
        if self._observe is not None:
            try:
                self._observe(entry)
            except Exception:  # of the policy, which continues to decide
                LOG.exception("the policy cannot learn from job %s", entry.job)
        try:
            self._journal.write(entry)
        except InputError as error:
            LOG.error("%s", error)  # noqa: TRY400 - the message says it all
