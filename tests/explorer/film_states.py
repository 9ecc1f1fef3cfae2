"""The states of a film, computed event by event as plainly as possible."""

from __future__ import annotations

from dataclasses import dataclass, field

from moldable.explorer.film import Event, Film


@dataclass
class State:
    """What happens on the servers after some of the events."""

    servers: list[int]
    queue: list[int] = field(default_factory=list)
    arrived: int = 0
    blocked: int = 0

    @classmethod
    def of(cls, film: Film, time: float) -> State:
        """Return the state just after a time."""
        state = cls([-1] * film.scenario.servers)
        for event in film.events:
            if event.time <= time:
                state.follow(event)
        return state

    def follow(self, event: Event) -> None:
        """Let an event happen, and check that it can."""
        if event.kind == "end":
            assert event.job in self.servers
            self.servers = [-1 if job == event.job else job for job in self.servers]
            return
        if event.kind == "start" and event.job in self.queue:
            assert self.queue.pop(0) == event.job  # first come, first served
        else:
            assert event.job == self.arrived
            assert not (event.kind == "start" and self.queue)
            self.arrived += 1
            self.queue += [event.job] * (event.kind == "wait")
            self.blocked += event.kind == "block"
        for server in event.servers:
            assert self.servers[server] == -1
            self.servers[server] = event.job

    @property
    def busy(self) -> int:
        """Servers that are held."""
        return sum(job >= 0 for job in self.servers)
