from .tradeoff import ValueTradeoff as ValueTradeoff
from .tradeoff import value_tradeoff as value_tradeoff
from .tuned import Tuned as Tuned
from .tuned_queue import TunedQueue as TunedQueue
from .tuning import tune as tune
