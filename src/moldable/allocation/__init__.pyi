from .certificate import Certificate as Certificate
from .frontier import Frontier as Frontier
from .frontier import Mix as Mix
from .frontier import frontiers as frontiers
from .reservation import ClassAllocation as ClassAllocation
