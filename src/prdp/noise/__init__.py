"""Exact noise from fair bytes."""

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy, SystemEntropy

__all__ = ["DiscreteLaplace", "Entropy", "SystemEntropy"]
