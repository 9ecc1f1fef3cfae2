from .arrival_rate import ArrivalRate as ArrivalRate
from .learning_policy import LearningPolicy as LearningPolicy
from .service_rates import ServiceRates as ServiceRates
