from .constrained import least_blocking as least_blocking
from .constrained import least_time as least_time
from .control import OptimalControl as OptimalControl
from .control import optimal_control as optimal_control
from .curve import TradeoffCurve as TradeoffCurve
from .curve import tradeoff as tradeoff
from .least import LeastTime as LeastTime
