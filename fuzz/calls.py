"""Calls of the public functions, some with wrong types and values."""

from __future__ import annotations

import random
from collections.abc import Callable

from fuzz.case import Case
from fuzz.values import ODD

Rng = random.Random
CHANCE = 0.05
"""Share of arguments that are replaced by values of wrong type or range."""


class Writer:
    """Writes expressions that are valid except for a share ODD of wrong arguments."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng

    def any(self, *choices: str | Callable[[], str]) -> str:
        """Choose one of the expressions, or sometimes a wrong one."""
        if self.rng.random() < CHANCE:
            return self.rng.choice(ODD)
        chosen = self.rng.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def servers(self) -> str:
        return self.any("2", "3", "4", "8", "np.int64(4)", "4.0")

    def number(self) -> str:
        return self.any("0.5", "0.8", "1", "2.5", "np.float64(0.9)", "Fraction(1, 2)")

    def curve(self) -> str:
        return self.any(
            "SpeedUp([1, 1.8])",
            lambda: f"SpeedUp([1, {self.number()}])",
            lambda: f"SpeedUp({{1: 1, {self.any('2', '4')}: {self.number()}}})",
            lambda: f"SpeedUp({self.any('np.array([1, 1.8])', '{1: 1.0}', '[1.0]')})",
            lambda: f"SpeedUp.linear({self.servers()})",
            lambda: f"SpeedUp.amdahl({self.number()}, {self.servers()})",
            lambda: f"SpeedUp.power_law({self.number()}, {self.servers()})",
            lambda: f"SpeedUp.usl({self.number()}, {self.number()}, {self.servers()})",
            lambda: f"SpeedUp.downey({self.any('1', '3.5')}, {self.number()}, {self.servers()})",
            lambda: f"SpeedUp.from_times([(1, {self.number()}), ({self.servers()}, 1)])",
            lambda: f"parse_speedup({self.any(repr('1,1.8'), repr('linear:2'))})",
        )

    def size(self) -> str:
        return self.any(
            "Exponential()",
            "Deterministic()",
            lambda: f"MixedErlang({self.any('(0.4, 0.6)', '[1.0]')})",
            lambda: f"Pareto({self.any('1.5', '2.5', '1.05')})",
            lambda: f"Lognormal({self.number()})",
            lambda: f"Weibull({self.number()})",
            lambda: f"Hyperexponential({self.any('2', '1.5', '1', '100')})",
            lambda: f"Empirical({self.any('[1, 2, 3.5]', '[1]', 'np.array([1e-9, 1])')})",
            lambda: f"PhaseType({self.any('[1, 0]')}, {self.any('[[-2, 1], [0, -1]]')})",
            lambda: f"FromScipy({self.any('scipy.stats.gamma(2.5)', 'scipy.stats.uniform(1, 2)')})",
            lambda: f"SizeLaw.parse({self.any(repr('pareto:2'), repr('lognormal:1'))})",
        )

    def arrivals(self) -> str:
        return self.any(
            "Poisson()",
            lambda: f"Renewal({self.size()})",
            lambda: (
                f"MarkovModulated({self.any('(1, 5)', '(0, 1)', '[1, 2]')}, "
                f"{self.any('((0, 1), (1, 0))', '[[-1, 1], [2, -2]]', '((0, 1), (0, 0))')})"
            ),
            lambda: (
                f"ArrivalTimes({self.any('[0, 1, 2.5, 4]', '[0]', 'range(300)')}, "
                f"{self.any('None', '[0, 0, 0, 0]', '[0]')})"
            ),
        )

    def workload(self) -> str:
        return self.any(
            lambda: (
                f"Workload(({self.job_class('a')}, {self.job_class('b')}), "
                f"{self.any(repr('pool'), repr('reserved'))})"
            ),
            lambda: f"Workload(({self.job_class('jobs')},))",
        )

    def job_class(self, name: str) -> str:
        text = f"JobClass({self.any(repr(name))}, {self.number()}, {self.curve()}"
        if self.rng.random() < 0.5:
            text += f", mean_size={self.number()}, weight={self.number()}"
        if self.rng.random() < 0.3:
            text += f", size={self.size()}"
        return f"{text})"

    def policy(self) -> str:
        return self.any(
            "None",
            "Greedy()",
            "Equi()",
            lambda: f"GreedyP({self.per_class('{1: 1.0}', '{1: 0.5, 2: 0.5}')})",
            lambda: f"FixedWidth({self.servers()}, strict={self.any('True', 'False')})",
            lambda: f"Rigid({self.any('', lambda: self.per_class('1', '2'))})",
            lambda: f"Thresholds({self.per_class('{1: 1}', '{1: 1, 2: 2}')})",
            lambda: f"Thresholds({self.per_class('{2: {1: 0.5, 2: 0.5}}', '{1: {1: 1}}')})",
            lambda: f"greedy_p(s, {self.any('None', '0.7')})",
            lambda: f"value_policy(s, {self.number()})",
        )

    def per_class(self, *entries: str) -> str:
        return self.any(
            lambda: f"{{k.name: {self.any(*entries)} for k in s.workload.classes}}", "{'jobs': 1}"
        )

    def scenario(self) -> str:
        return self.any(
            lambda: f"s := Scenario({self.workload()}, {self.servers()})",
            lambda: f"s := Scenario({self.workload()}, {self.servers()}, {self.arrivals()})",
            lambda: f"s := Scenario.single({self.curve()}, {self.number()}, {self.servers()})",
        )

    def request(self) -> str:
        return f"seed={self.any('1', '2')}, threads={self.any('1', '2', 'None')}"

    def simulate(self) -> str:
        parts = [
            f"simulate({self.scenario()}, {self.policy()}, jobs={self.any('20', '200', '50')}",
            f"replications={self.any('2', '4', '8')}, {self.request()}",
        ]
        extra = {
            "warmup": self.any("None", "1", "0.5", "'1'"),
            "start": self.any("'empty'", "'equilibrium'", "{1: 1}", "{('jobs', 1): 1}", "{1: '1'}"),
            "estimator": self.any("'assigned'", "'realised'", "'completed_only'"),
            "progress": self.rng.choice(("None", "lambda *a: None")),
        }
        parts += [f"{k}={v}" for k, v in extra.items() if self.rng.random() < 0.3]
        return ", ".join(parts) + ")"

    def evaluate(self) -> str:
        method = self.any(*["'auto'", "'chain'", "'closed-form'"] * 4, "'simulate'")
        request = f"method={method}, precision={self.any('0.3', '0.5')}, {self.request()}"
        if self.rng.random() < 0.6:
            return f"evaluate({self.scenario()}, {self.policy()}, {request})"
        policies = self.any(
            lambda: f"[{self.policy()}, {self.policy()}]",
            lambda: f"{{'x': {self.policy()}, {self.any(repr('y'))}: {self.policy()}}}",
        )
        return f"compare({self.scenario()}, {policies}, {request})"

    def allocate(self) -> str:
        return self.any(
            lambda: f"optimum({self.curve()}, {self.number()}, servers={self.servers()})",
            lambda: f"reserve({self.scenario()})",
            lambda: f"reserve_whole({self.scenario()})",
            lambda: (
                f"bounds({self.curve()}, {self.number()}, {self.servers()}, "
                f"alpha={self.any('0', '0.5')})"
            ),
            lambda: f"erlang_b({self.servers()}, {self.number()})",
            lambda: (
                f"FluidPath(optimum({self.curve()}, {self.number()}), "
                f"{self.any('[0, 0]', '{1: 0.5}')}).at({self.any('[0, 1]', '2')})"
            ),
            lambda: f"frontiers([{self.curve()}, {self.curve()}])",
            lambda: f"stationary_law({self.scenario()}, {self.policy()})",
            lambda: f"Regime({self.number()}, {self.number()}).load({self.servers()})",
            lambda: f"parse_regime({self.any(repr('1/2,0.1'), repr('1,1'))})",
            lambda: f"read_curve({self.any(repr('missing.csv'))})",
            lambda: f"read_scenario({self.any(repr('missing.toml'))})",
            lambda: f"read_policy_file({self.any(repr('missing.json'))})",
            lambda: (
                f"write_policy_file(value_policy({self.scenario()}, {self.number()}), "
                f"{self.any(repr('p.json'))})"
            ),
            lambda: f"{self.size()}.cdf({self.any('1', '[0.5, 1]')})",
        )

    def control(self) -> str:
        small = f"Scenario.single({self.curve()}, {self.number()}, {self.any('2', '3')})"
        queue = small[:-1] + f", waiting={self.any('1', repr('unlimited'))})"
        return self.any(
            lambda: f"optimal_control({small}, {self.number()})",
            lambda: f"optimal_queueing({queue}, {self.number()})",
            lambda: f"least_time({small}, {self.number()})",
            lambda: f"least_blocking({small})",
            lambda: f"tradeoff({small}, {self.any('[2]', '[1, 4]')})",
        )

    def tune(self) -> str:
        target = self.rng.choice(("max_blocking", "max_time", "blocking_cost"))
        small = f"Scenario.single(SpeedUp([1, {self.number()}]), {self.number()}, 2)"
        return f"tune({small}, {target}={self.number()}, precision=0.5, seed=1)"


def odd_call(rng: Rng) -> Case:
    """Return a random call."""
    writer = Writer(rng)
    chance = rng.random()
    if chance < 0.4:
        call = writer.simulate()
    elif chance < 0.65:
        call = writer.evaluate()
    elif chance < 0.9:
        call = writer.allocate()
    elif chance < 0.98:
        call = writer.control()
    else:
        call = writer.tune()
    heavy = any(large in call for large in ("2**6", "10**400", "1e308", "1e-320"))
    return Case("call", call=call, heavy=heavy)
