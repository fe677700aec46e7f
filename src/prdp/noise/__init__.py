"""Exact noise from fair bytes."""

from importlib import import_module
from typing import TYPE_CHECKING

from prdp.noise.entropy import Entropy, SystemEntropy

if TYPE_CHECKING:
    from prdp.noise.discrete_laplace import DiscreteLaplace
else:

    def __getattr__(name: str) -> object:
        """Load the vectorised noise, which needs NumPy, when it is first asked for."""
        if name != "DiscreteLaplace":
            raise AttributeError(f"module 'prdp.noise' has no attribute {name!r}")
        return import_module("prdp.noise.discrete_laplace").DiscreteLaplace


__all__ = ["DiscreteLaplace", "Entropy", "SystemEntropy"]
