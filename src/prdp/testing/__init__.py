"""For tests and experiments: seeded noise, simulation, and contracts that engines and mechanisms meet."""

from prdp.testing.seeded import Seeded
from prdp.testing.simulate import ShareFound, share_for, simulate

__all__ = ["Seeded", "ShareFound", "share_for", "simulate"]
