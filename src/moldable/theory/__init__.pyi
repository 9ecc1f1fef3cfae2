from .fluid import FluidPath as FluidPath
from .stein import Bounds as Bounds
from .stein import bounds as bounds
