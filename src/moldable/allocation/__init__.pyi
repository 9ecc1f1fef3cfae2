from .certificate import Certificate as Certificate
from .frontier import Frontier as Frontier
from .frontier import Mix as Mix
from .frontier import frontiers as frontiers
from .phases import PhaseOptimum as PhaseOptimum
from .phases import reserve_phases as reserve_phases
from .reservation import ClassAllocation as ClassAllocation
