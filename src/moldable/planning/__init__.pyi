from .planning import plan as plan
from .result import Plan as Plan
