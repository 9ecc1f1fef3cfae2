from .closed_forms import erlang_b as erlang_b
from .exact import StationaryLaw as StationaryLaw
from .exact import stationary_law as stationary_law
from .theory import GeneratorIdentity as GeneratorIdentity
from .theory import Theory as Theory
