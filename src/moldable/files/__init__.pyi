from .curve_csv import read_curve as read_curve
from .notation import parse_arrivals as parse_arrivals
from .notation import parse_regime as parse_regime
from .notation import parse_speedup as parse_speedup
from .policy_file import read_policy_file as read_policy_file
from .policy_file import write_policy_file as write_policy_file
from .scenario_file import read_scenario as read_scenario
