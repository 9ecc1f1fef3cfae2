"""The optimum with widths that change between phases, as text."""

from __future__ import annotations

from rich.console import Console

from moldable.allocation.phases import PhaseOptimum
from moldable.allocation.reservation import ClassAllocation
from moldable.model.units import duration
from moldable.reporting.words import percent


def show_phase_optimum(
    console: Console, reference: PhaseOptimum, fixed: float, unit: str | None
) -> None:
    """Print what jobs gain with changing widths, against the mean time with `fixed` ones."""
    time = duration(f"{reference.mean_execution_time:.6g}", unit)
    saved = max(1.0 - reference.mean_execution_time / fixed, 0.0)
    console.print(
        f"For reference: if jobs could change their width between phases, the mean execution time "
        f"would be {time}, {percent(saved)} less."
    )
    for job_class in reference.classes:
        phases = job_class.speedup.phases
        for k, part in enumerate(reference.of_class(job_class) if phases else ()):
            share = percent(phases[k].share)
            console.print(f"  {part.name} ({share} of the work): {_widths(part)}.")


def _widths(part: ClassAllocation) -> str:
    if len(part.support) == 1:
        return f"width {part.support[0]}"
    pairs = zip(part.support, part.mix.shares, strict=True)
    return "width " + " or ".join(f"{width} ({percent(share)})" for width, share in pairs)
