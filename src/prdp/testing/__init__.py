"""For tests and experiments: seeded noise, simulation, and contracts that engines and mechanisms meet."""

from prdp.testing.plan import Plan, plan
from prdp.testing.seeded import Seeded
from prdp.testing.simulate import simulate

__all__ = ["Plan", "Seeded", "plan", "simulate"]
