"""`moldable bounds`: the paper's non-asymptotic bounds as numbers."""

from __future__ import annotations

from moldable.cli import output
from moldable.cli.curve_notes import note_left_out
from moldable.cli.options import (
    JsonOption,
    LoadOption,
    RegimeOption,
    ServersOption,
    SpeedUpOption,
)
from moldable.cli.scenario_options import one_class
from moldable.errors import InputError


def bounds(
    *,
    speedup: SpeedUpOption = None,
    load: LoadOption = None,
    regime: RegimeOption = None,
    servers: ServersOption = None,
    json: JsonOption = False,
) -> None:
    """Compute the paper's bounds for a cluster.

    They bound the blocking and the execution time of greedy(p*) at this number of servers. The
    answer says whether the published proof is complete.

    \b
    Examples:
      moldable bounds --speedup linear:5 --load 0.8 \\
        --servers 100000
      moldable bounds --speedup 1,1.8,2.5,3,3.4 \\
        --regime 1/2,0.1 --servers 4000 --json
    """
    from moldable.theory.stein import bounds as evaluate

    system = one_class(speedup, load, regime, servers)
    if system.servers is None:
        raise InputError("the bounds depend on the number of servers; give --servers N")
    note_left_out(system.speedup, system.servers)
    alpha = 0.0 if system.regime is None else system.regime.alpha
    answer = evaluate(system.speedup, system.load, system.servers, alpha=alpha)
    if json:
        output.print_json(answer.to_dict())
        return
    from moldable.reporting.bounds_text import show_bounds

    show_bounds(output.console(), answer, system.servers)
