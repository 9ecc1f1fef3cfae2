"""Command lines and the files they read, valid and damaged."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from fuzz import corpus
from fuzz.case import SPECIAL, Case
from fuzz.mutate import damaged, damaged_json, typo
from fuzz.values import NUMBERS, PATHS, TEXTS

Rng = random.Random

EVALUATING = ("evaluate", "simulate", "compare")
COSTLY = ("tune", "tradeoff")
SYSTEM = ("--speedup", "--load", "--regime", "--servers", "--workload")
SIMULATING = ("--size", "--precision", "--seed", "--threads")
WAITING = ("--waiting", "--slowdown-threshold")
ARRIVALS = ("poisson", "renewal:2", "renewal:0", "renewal:pareto:1.5", "mmpp:0.5,2:0.1,0.2")
OPTIONS = {
    "optimum": (*SYSTEM, "--plot"),
    "bounds": SYSTEM[:-1],
    "evaluate": (*SYSTEM, *SIMULATING, *WAITING, "--arrivals", "--policy", "--method"),
    "compare": (*SYSTEM, *SIMULATING, *WAITING, "--arrivals", "--policies", "--method"),
    "simulate": (
        *(*SYSTEM, *SIMULATING, "--policy", "--jobs", "--replications", "--warmup", "--start"),
        *("--estimator", "--max-jobs", "--dask", "--arrivals", *WAITING),
    ),
    "tune": (
        *(*SYSTEM, *SIMULATING, "--max-blocking", "--blocking-cost", "--max-time", "--waiting"),
        *("--max-wait-probability", "--max-mean-wait"),
    ),
    "tradeoff": (*SYSTEM, *SIMULATING, "--costs", "--out"),
    "reproduction": ("--scale", "--out", "--seed", "--threads"),
}
WORK = (
    *("--servers", "--speedup", "--load", "--regime", "--jobs", "--replications", "--precision"),
    *("--warmup", "--max-jobs", "--costs", "--max-blocking", "--max-time", "--blocking-cost"),
    *("--size", "--arrivals", "--policy", "--policies", "--start", "--waiting"),
    *("--max-wait-probability", "--max-mean-wait"),
)
"""Options that may ask for hours of work."""

CURVES = (
    *("1,1.8", "1=1,2=1.9", "linear:2", "amdahl:0.9:2", "power:0.8:2", "usl:0.1:0.01:2"),
    *("curve:resnet18-rtx", "0.5*linear:2+0.5*1,1.2"),
)
LAWS = (
    *("exponential", "deterministic", "mixed-erlang", "mixed-erlang:0.4,0.6", "pareto"),
    *("pareto:1.5", "lognormal:2", "weibull:0.7", "hyperexponential:2", "sizes.csv"),
)
NASTY_LAWS = (
    *("pareto:1.0001", "pareto:1e300", "lognormal:1e-9", "lognormal:1e6", "weibull:0.01"),
    *("weibull:1e6", "hyperexponential:1e6", "hyperexponential:1", "mixed-erlang:0,0,1"),
    *("mixed-erlang:" + "0," * 500 + "1", "hyperexponential:1.0000001", "lognormal:nan"),
)
NASTY_CURVES = (
    *("linear:100000", "amdahl:0.99:40000", "power:1e-9:50", "power:-1:3", "usl:0:0:9", "1,1,1"),
    *("downey:1e9:1:9", "downey:3:0:5", "1=1e308", "999999=1", "1,2,1e300", "1e-300,1", "2,1,3"),
    *("linear:1000000000", "amdahl:1:9999999", "1=1,1=1", "1=", "=", "linear", "linear:", "a.csv"),
)
POLICIES = (
    *("greedy", "greedy-p", "greedy-p:0.7", "fixed:2", "fixed-strict:1", "rigid", "value:8"),
    *("value:0.5", "equi", "even-price", "even-price:0.4,3", "idle-share"),
    "policy.json",
)
NASTY_POLICIES = (
    *("value:1e308", "value:nan", "value:0", "value:-1", "value:1e11", "value:1e-300", "value:"),
    *("fixed:0", "fixed:-1", "fixed:9999999999", "greedy-p:1e308", "greedy-p:1e-308", "fixed:1e3"),
    *("greedy-p:0.9999999999999999", "equi:1", "even-price:nan,1", "even-price:1e308,1e-308"),
    *("even-price:1", "even-price:1,0", "idle-share:1"),
)


@dataclass
class Draft:
    """A command under construction; `options` may be damaged before it is built."""

    command: str
    options: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    heavy: bool = False
    words: list[str] = field(default_factory=list)

    def build(self, kind: str) -> Case:
        """Return the case; special entries are created if the command names them."""
        spoken = [word for pair in self.options.items() for word in pair]
        # The operating system does not allow NUL in a command line.
        words = tuple(word.replace("\0", "") for word in (self.command, *spoken, *self.words))
        text = " ".join(words) + str(self.files.get("workload.toml", b""))
        special = {found[0]: found[1] for found in SPECIAL.finditer(text)}
        return Case(kind, words, files=self.files, special=special, heavy=self.heavy)


def valid(rng: Rng, command: str) -> Draft:
    """Return a command that is valid and fast."""
    draft = Draft(command, {"--servers": str(rng.choice((1, 2, 3, 4, 6, 8)))})
    draft.options["--speedup"] = rng.choice(CURVES)
    if rng.random() < 0.9:
        draft.options["--load"] = rng.choice(("0.5", "0.8", "0.95", "1.5"))
    else:
        draft.options["--regime"] = rng.choice(("1/2,0.1", "0,0.2", "2/3,0.5"))
    if command in (*EVALUATING, *COSTLY):
        draft.options |= {"--seed": str(rng.randrange(9)), "--threads": rng.choice("12")}
        draft.options["--precision"] = rng.choice(("0.3", "0.5"))
        if rng.random() < 0.3:
            draft.options["--waiting"] = rng.choice(("0", "1", "5", "unlimited"))
    if rng.random() < {"simulate": 0.4, "evaluate": 0.03}.get(command, 0.0):
        use_size(rng, draft, rng.choice(LAWS))
    if command == "simulate":
        _simulate(rng, draft)
    if command in ("evaluate", "simulate") and rng.random() < 0.6:
        use_policy(rng, draft, rng.choice(POLICIES))
    if command == "compare" and rng.random() < 0.6:
        draft.options["--policies"] = ",".join(rng.sample(POLICIES[:-1], 2))
    if command in COSTLY:
        _target(rng, draft)
    if rng.random() < 0.3:
        draft.words.append("--json")
    return draft


def _target(rng: Rng, draft: Draft) -> None:
    if draft.command == "tune":
        limits = ("--max-wait-probability", "--max-mean-wait", "--max-blocking")
        without = ("--max-blocking", "--max-time")
        draft.options |= {rng.choice(limits if "--waiting" in draft.options else without): "0.5"}
    else:
        draft.options["--costs"] = "2"


def _simulate(rng: Rng, draft: Draft) -> None:
    del draft.options["--precision"]
    draft.options |= {"--jobs": rng.choice(("20", "200")), "--replications": rng.choice("248")}
    if rng.random() < 0.2:
        draft.options["--arrivals"] = rng.choice((*ARRIVALS, "arrivals.csv"))
        draft.files["arrivals.csv"] = rng.choice(corpus.TIMES)
    if rng.random() < 0.2:
        draft.options["--warmup"] = rng.choice(("0", "1", "3.5"))
    if rng.random() < 0.2:
        draft.options["--start"] = rng.choice(("empty", "equilibrium", "1=1", "2=1"))
    if rng.random() < 0.2:
        draft.options["--estimator"] = rng.choice(("assigned", "realised", "completed_only"))


def use_size(rng: Rng, draft: Draft, law: str) -> None:
    """Use a size law, with its file."""
    draft.options["--size"] = law
    if law == "sizes.csv":
        draft.files["sizes.csv"] = rng.choice(corpus.SIZES)


def use_policy(rng: Rng, draft: Draft, policy: str) -> None:
    """Use a policy, with its file."""
    draft.options["--policy"] = policy
    if policy == "policy.json":
        draft.files["policy.json"] = rng.choice(corpus.policies())


def use_workload(rng: Rng, draft: Draft, content: bytes) -> None:
    """Replace the system by a workload file, with the files it may refer to."""
    for option in ("--speedup", "--load", "--regime"):
        draft.options.pop(option, None)
    draft.options["--workload"] = "workload.toml"
    draft.files |= {"workload.toml": content, "sizes.csv": rng.choice(corpus.SIZES)}
    for name in ("curve.csv", "times.csv", "solver.csv"):
        draft.files[name] = rng.choice(corpus.curves())


def quick_command(rng: Rng) -> str:
    """Choose a command that accepts a workload; the slow ones rarely."""
    return rng.choice((*["optimum"] * 6, *EVALUATING * 4, rng.choice(COSTLY)))


def damaged_options(rng: Rng) -> Case:
    """Give an option an invalid value, drop one, repeat one or add an unknown one."""
    command = rng.choice((*EVALUATING * 3, *["optimum", "bounds"] * 2, *COSTLY, "reproduction"))
    draft = Draft(command) if command == "reproduction" else valid(rng, command)
    for _ in range(rng.choice((1, 1, 2))):
        option = rng.choice(OPTIONS[command])
        chance = rng.random()
        if chance < 0.75:
            draft.options[option] = _invalid(rng, option)
            draft.heavy |= option in WORK
        elif chance < 0.85:
            draft.options.pop(option, None)
        else:
            given = draft.options.get(option, "1")
            odd = ([option], [option, given], [typo(rng, option), given], [f"{option}={given}"])
            draft.words += rng.choice((*odd, [rng.choice(TEXTS)], ["--help"], ["--version"]))
    if command == "reproduction":
        draft.words.append(rng.choice(("fluid", "al", "", "fluid fluid", rng.choice(TEXTS))))
        draft.heavy = True
    return draft.build("options")


def _invalid(rng: Rng, option: str) -> str:
    own = {
        "--speedup": (*NASTY_CURVES, *CURVES),
        "--size": (*NASTY_LAWS, *LAWS[:-1]),
        "--policy": (*NASTY_POLICIES, *POLICIES[:-1]),
        "--policies": (*(f"greedy,{policy}" for policy in NASTY_POLICIES), "greedy,greedy", ","),
        "--start": ("1=99999999999", "1=-1", "1=1,1=1", "9=1", "1=1e3", "=", "1", "1=0"),
        "--waiting": ("-1", "0.5", "1e3", "1e308", "999999999", "inf", "nan", "unlimitted", "0x1"),
        "--slowdown-threshold": ("-1", "0", "10s", "1e308", "nan", "10 parsecs"),
        "--method": ("chain", "closed-form", "simulate", "exact", "auto"),
        "--regime": ("0,0", "1,1", "1e308,1", "-1,0.1", "nan,nan", "1/0,1", "0.5,1e-17", "9,0.1"),
        "--costs": (
            "0",
            "1e308",
            "1e-308",
            "2,2",
            ",".join(map(str, range(1, 40))),
            "nan",
            "1,,2",
        ),
        "--dask": ("tcp://127.0.0.1:1", "x", "tcp://", "http://[", "tcp://127.0.0.1:99999"),
        "--scale": ("quick", "full", "QUICK", "huge"),
    }.get(option, ())
    if option in ("--workload", "--plot", "--out"):
        ends = ("", ".toml", ".svg", ".png", ".exe")
        return rng.choice(PATHS) + rng.choice(ends)
    if option in ("--speedup", "--size", "--policy") and rng.random() < 0.2:
        return rng.choice(PATHS) + rng.choice((".csv", ".json"))
    if own and rng.random() < 0.7:
        return rng.choice(own) if rng.random() < 0.8 else typo(rng, rng.choice(own))
    return rng.choice((*NUMBERS, *NUMBERS, *TEXTS))


def damaged_workload(rng: Rng) -> Case:
    """Damage a workload file, or refer to a special entry in it."""
    content = damaged(rng, rng.choice(corpus.workloads()))
    # Systems with other sizes than exponential ones are simulated to a precision, which takes long.
    draft = valid(rng, quick_command(rng) if b"\nsize =" not in content else "simulate")
    if rng.random() < 0.1:
        path = rng.choice(PATHS).encode(errors="surrogateescape")
        key = rng.choice((b"size = ", b"speedup = ", b"speedup = { measured = "))
        end = b".csv" if rng.random() < 0.7 else b""
        line = key + b'"' + path + end + b'"' + (b" }" if b"measured" in key else b"")
        content = b"servers = 4\n[[class]]\narrival_rate = 1\n" + line + b"\n"
        content += b"speedup = [1, 1.8]\n" if key == b"size = " else b""
    use_workload(rng, draft, content)
    if rng.random() < 0.3:
        del draft.options["--servers"]
        draft.heavy = True
    return draft.build("workload")


def damaged_curve(rng: Rng) -> Case:
    """Damage a file of measurements."""
    draft = valid(rng, rng.choice(("optimum", "optimum", "bounds", "evaluate", "simulate")))
    draft.options["--speedup"] = "curve.csv"
    draft.files["curve.csv"] = damaged(rng, rng.choice(corpus.curves()))
    return draft.build("curve")


def damaged_sizes(rng: Rng) -> Case:
    """Damage a file of sizes."""
    draft = valid(rng, rng.choice(("evaluate", *["simulate"] * 20)))
    use_size(rng, draft, "sizes.csv")
    draft.files["sizes.csv"] = damaged(rng, rng.choice(corpus.SIZES))
    return draft.build("sizes")


def damaged_policy(rng: Rng) -> Case:
    """Damage a policy file."""
    draft = valid(rng, rng.choice(("evaluate", "evaluate", "simulate")))
    use_policy(rng, draft, "policy.json")
    draft.files["policy.json"] = damaged_json(rng, rng.choice(corpus.policies()))
    return draft.build("policy")


def damaged_run(rng: Rng) -> Case:
    """Damage the folder of a finished reproduction, and resume it."""
    draft = Draft("reproduction", {"--out": "run"}, dict(corpus.finished_run()), heavy=True)
    draft.words = [
        "errata",
        rng.choice(("--resume", "--resume", "--resume", "--overwrite", "--json")),
    ]
    names = list(draft.files)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice((names[-2], *["run/manifest.json"] * 3, rng.choice(names)))
        draft.files[name] = damaged_json(rng, corpus.finished_run()[name])
    if rng.random() < 0.1:
        del draft.files[rng.choice(names)]
    return draft.build("run")
