"""The page of the explorer: a form at the left, the answers at the right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from dash import dcc, html
from dash.development.base_component import Component

from moldable.explorer.class_input import ClassInput
from moldable.explorer.form import NO_TARGET, field_values
from moldable.explorer.question import Question
from moldable.explorer.reproduce import View
from moldable.files.published_curves import published_curves

PAUSE: Final = 0.4
"""Seconds without a key press after which a field is read."""
INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{%title%}</title>{%favicon%}{%css%}
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""
"""The page before its scripts are loaded."""
LEAST_LOAD, MOST_LOAD, LOAD_STEP = 0.02, 1.2, 0.01
MODELS: Final = ("linear:8", "amdahl:0.9:16", "power:0.8:16", "usl:0.05:0.001:16", "downey:8:1:16")
LAWS: Final = (
    *("exponential", "deterministic", "lognormal:2", "hyperexponential:2", "weibull:0.5"),
    *("pareto:2.5", "mixed-erlang"),
)
PROCESSES: Final = ("poisson", "renewal:0.5", "renewal:2", "mmpp:0.5,2:0.1,0.2")
TARGETS: Final = {
    NO_TARGET: "none: least cost or response time",
    "max_blocking": "blocking at most",
    "blocking_cost": "cost of a blocked job",
    "max_time": "mean execution time at most",
    "max_mean_wait": "mean wait at most",
    "max_wait_probability": "share of jobs that wait at most",
}
NO_FIGURE: Final = {
    "data": [],
    "layout": {
        **{axis: {"visible": False} for axis in ("xaxis", "yaxis")},
        **dict.fromkeys(("paper_bgcolor", "plot_bgcolor"), "rgba(0,0,0,0)"),
    },
}
"""Nothing, on the ground of the page, until a figure is answered."""
FIRST_ROWS: Final = "first-rows"
"""The store of the table of an answer that comes with the page."""
FILMS: Final = {"film": "Policy", "film-other": "Compared with"}


@final
@dataclass(frozen=True)
class Heading:
    """The texts of a view.

    Attributes:
        title: its heading.
        alt: what the figure shows, for those who do not see it; the table has its numbers.
    """

    title: str
    alt: str


HEADINGS: Final[dict[View, Heading]] = {
    "performance": Heading(
        "Policies side by side",
        "All policies by their two main measures, with the optimum and bounds.",
    ),
    "frontier": Heading(
        "Frontier and operating point",
        "Execution time against server-time of each width, with the frontier and the point that "
        "the load selects.",
    ),
    "policies": Heading(
        "Policy", "Servers granted to a job, by the number of idle servers and of waiting jobs."
    ),
    "load_curves": Heading(
        "Against the load", "One measure of all policies, the optimum and bounds by the load."
    ),
    "trade_off": Heading(
        "Trade-off", "Two measures against each other for families of policies and the optimum."
    ),
}


def page(question: Question, source: str, sent: Mapping[str, Any]) -> Component:
    """Return the page of a question.

    Args:
        question: the question that it begins with.
        source: the file that it was read from; empty without one.
        sent: the question as it is sent with requests; its `page` tells open pages apart.
    """
    values = field_values(question)
    return html.Div(
        [
            html.A("Skip to the answers", href="#answers-title", className="skip"),
            html.Header(
                [
                    html.H1("moldable explorer"),
                    html.P(_introduction(source), className="soft"),
                ]
            ),
            html.Main([_form(question, values), _answers()]),
            dcc.Store(id="page", data=sent["page"]),
            dcc.Store(id="question", data=sent),
            dcc.Store(id=FIRST_ROWS),
            dcc.Store(id="answered"),
            dcc.Store(id="marked"),
            dcc.Store(id="dark", data=False),
            dcc.Download(id="download"),
        ]
    )


def _introduction(source: str) -> str:
    if source:
        return f"The question was read from {source}. Change it here; the file stays as it is."
    return "How many servers should each job get? Change a field, and the answers follow."


def _form(question: Question, values: dict[str, str]) -> Component:
    several = len(question.classes) > 1
    classes = [
        _class_fields(k, part, values, several=several) for k, part in enumerate(question.classes)
    ]
    return html.Section(
        [
            html.H2("Question", id="question-title"),
            *_notes(question.notes),
            *classes,
            _load(values["load"]),
            _field("servers", "Servers", values, "Number of servers of the cluster."),
            _field(
                "waiting",
                "Waiting places",
                values,
                "0: jobs that find no idle server are lost; a number; or unlimited.",
                ["0", "10", "unlimited"],
            ),
            _field("size", "Size law", values, "Distribution of the job sizes.", LAWS),
            _field("arrivals", "Arrivals", values, "Arrival process.", PROCESSES),
            _target(values),
            _field("seed", "Seed", values, "Random seed of simulations."),
            html.Button("Download the question (TOML)", id="toml", className="wide"),
        ],
        className="form",
        **{"aria-labelledby": "question-title"},
    )


def _notes(notes: Sequence[str]) -> list[Component]:
    """Return what was assumed about a file, folded so that the fields stay in sight."""
    if not notes:
        return []
    listed = html.Ul([html.Li(each) for each in notes], className="soft")
    return [html.Details([html.Summary(f"Assumptions ({len(notes)})"), listed])]


def _class_fields(k: int, part: ClassInput, values: dict[str, str], *, several: bool) -> Component:
    """Return the fields of a class; the share and the mean size only if there are several."""
    curves = ["", *(curve.name for curve in published_curves())]
    parts: list[Component] = [
        _field(
            f"speedup-{k}",
            "Speed-up curve",
            values,
            "1,1.8,2.5 on 1, 2, 3 servers; with gaps 1=1,2=1.9,4=3.5; or a model: amdahl:0.9:16.",
            [*MODELS, *(f"curve:{name}" for name in curves if name)],
        ),
        html.Label("Published curve", htmlFor=f"published-{k}"),
        html.Select(
            [html.Option(each or "choose", value=each) for each in curves],
            id=f"published-{k}",
            **{"data-curve": f"speedup-{k}"},
        ),
        html.Details(
            [html.Summary("Edit as a table"), html.Div(points_table(k, part), id=f"points-{k}")],
            id=f"points-details-{k}",
        ),
    ]
    if not several:
        # The fields exist for each class, so that one callback reads them all.
        hidden = [
            dcc.Input(id=f"{each}-{k}", type="hidden", value=values[f"{each}-{k}"])
            for each in ("share", "mean_size")
        ]
        return html.Div([*parts, *hidden])
    parts += [
        _field(f"share-{k}", "Share of the jobs", values, "Relative to the other classes."),
        _field(f"mean_size-{k}", "Mean size", values, "Mean execution time on one server."),
    ]
    return html.Fieldset([html.Legend(part.name), *parts])


def _field(
    name: str,
    label: str,
    values: dict[str, str],
    hint: str,
    known: tuple[str, ...] | list[str] = (),
) -> Component:
    """Return a text field with its label, a hint, and a place for a message about it."""
    options = [html.Datalist([html.Option(value=each) for each in known], id=f"{name}-known")]
    return html.Div(
        [
            html.Label(label, htmlFor=name),
            dcc.Input(
                id=name,
                type="text",
                value=values[name],
                debounce=PAUSE,
                spellCheck=False,
                list=f"{name}-known" if known else None,
            ),
            *(options if known else []),
            html.P(hint, id=f"{name}-hint", className="hint"),
            _problem(name),
        ],
        className="field",
    )


def _problem(name: str) -> Component:
    return html.P(id=f"{name}-problem", className="problem", role="alert")


def _load(value: str) -> Component:
    return html.Div(
        [
            html.Label("Load", htmlFor="load-slider"),
            html.Div(
                [
                    dcc.Input(
                        id="load-slider",
                        type="range",
                        min=LEAST_LOAD,
                        max=MOST_LOAD,
                        step=LOAD_STEP,
                        value=float(value),
                    ),
                    html.Label("Load as a number", htmlFor="load", className="unseen"),
                    dcc.Input(id="load", type="text", value=value, debounce=PAUSE),
                ],
                className="load",
            ),
            html.P("Arrival rate x mean size / servers.", id="load-hint", className="hint"),
            _problem("load"),
        ],
        className="field",
    )


def _target(values: dict[str, str]) -> Component:
    return html.Div(
        [
            html.Label("Target of the tuned policy", htmlFor="target-choice"),
            html.Select(
                [html.Option(text, value=name) for name, text in TARGETS.items()],
                id="target-choice",
                **{"data-field": "target"},
            ),
            dcc.Input(id="target", type="hidden", value=values["target"]),
            _problem("target"),
            html.Label("Value of the target", htmlFor="limit"),
            dcc.Input(id="limit", type="text", value=values["limit"], debounce=PAUSE),
            html.P("Such as 0.05, 5% or, for a time, 30min.", id="limit-hint", className="hint"),
            _problem("limit"),
        ],
        className="field",
    )


def _answers() -> Component:
    return html.Section(
        [
            html.H2("Answer", id="answers-title", tabIndex=-1),
            html.P(id="verdict", className="verdict", role="status"),
            html.Div([*map(_view, HEADINGS), _film()], className="views"),
        ],
        id="answers",
        className="answers",
        **{"aria-labelledby": "answers-title"},
    )


def _view(key: View) -> Component:
    heading = HEADINGS[key]
    table = html.Div(id=f"{key}-table", className="scroll", tabIndex=0)
    return html.Section(
        [
            html.H3(heading.title, id=f"{key}-title"),
            html.P(id=f"{key}-state", className="state"),
            *([table] if key == "performance" else []),
            *([_measure()] if key == "load_curves" else []),
            html.Div(
                dcc.Graph(
                    id=f"{key}-figure",
                    figure=NO_FIGURE,
                    config={"displayModeBar": False, "responsive": True},
                ),
                role="img",
                className="figure",
                **{"aria-label": heading.alt},
            ),
            *([] if key == "performance" else [html.Details([html.Summary("Numbers"), table])]),
            _reproduction(key),
            dcc.Store(id=f"{key}-rows"),
            dcc.Store(id=f"{key}-pending"),
        ],
        className="view across" if key == "performance" else "view",
        **{"aria-labelledby": f"{key}-title"},
    )


def _measure() -> Component:
    return html.Div(
        [
            html.Label("Measure", htmlFor="measure-choice"),
            html.Select(id="measure-choice", **{"data-field": "measure"}),
            dcc.Input(id="measure", type="hidden", value=""),
        ],
        className="choice",
    )


def _film() -> Component:
    return html.Section(
        [
            html.H3("Simulation", id="film-title"),
            html.P(
                "The same jobs under two policies. Each cell is a server; a colour is a width.",
                className="state",
            ),
            html.P(id="film-problem", className="problem", role="status"),
            html.Div(
                [
                    html.Div(
                        [
                            html.Label(label, htmlFor=f"{name}-choice"),
                            html.Select(id=f"{name}-choice", **{"data-field": f"{name}-policy"}),
                            dcc.Input(id=f"{name}-policy", type="hidden", value=""),
                            html.Canvas(id=name),
                        ]
                    )
                    for name, label in FILMS.items()
                ],
                className="films",
            ),
            html.Div(id="film-controls"),
            *(dcc.Store(id=f"{name}-data") for name in FILMS),
            dcc.Store(id="film-shown"),
        ],
        className="view across",
        **{"aria-labelledby": "film-title"},
    )


def _reproduction(key: View) -> Component:
    """Return the command and the program that give the same numbers, and the downloads."""
    pictures = [
        html.Button(
            kind.upper(),
            **{
                "data-picture": f"{key}-figure",
                "data-kind": kind,
                "aria-label": f"Download the figure as {kind.upper()}",
            },
        )
        for kind in ("png", "svg")
    ]
    numbers = html.Button("CSV", id=f"{key}-csv", **{"aria-label": "Download the numbers as CSV"})
    return html.Div(
        [
            html.Details(
                [
                    html.Summary("Command and Python program with these numbers"),
                    *_copied(f"{key}-command", "Copy as command"),
                    *_copied(f"{key}-python", "Copy as Python"),
                ]
            ),
            html.Div([*pictures, numbers], className="buttons"),
        ]
    )


def _copied(name: str, label: str) -> list[Component]:
    told = html.Span(id=f"{name}-copied", className="state", role="status")
    button = html.Button(label, **{"data-copy": name})
    return [html.Div([button, told], className="buttons"), html.Pre(id=name, tabIndex=0)]


def options(names: Iterable[tuple[str, str]], chosen: str) -> list[Component]:
    """Return the options of a list of choices from their values and texts."""
    return [html.Option(text, value=name, selected=name == chosen) for name, text in names]


def points_table(k: int, part: ClassInput) -> Component:
    """Return fields with the speed-up of each width of a class, and one for the next width."""
    widths = part.widths or tuple(range(1, len(part.speedup) + 1))
    given = {width: f"{speed:.6g}" for width, speed in zip(widths, part.speedup, strict=True)}
    rows = [
        html.Div(
            [
                html.Label(f"on {width}", htmlFor=f"point-{k}-{width}"),
                dcc.Input(id=f"point-{k}-{width}", type="text", value=speed),
            ]
        )
        for width, speed in (given | {widths[-1] + 1: ""}).items()
    ]
    return html.Div(rows, className="points", **{"data-points": f"speedup-{k}"})
