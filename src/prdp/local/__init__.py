"""The same promise with no trusted collector: every client randomises its own record.

For who holds a record (neither NumPy nor SQL is loaded for it):
    Client, Checked, Campaign, Report
For who asks:
    CountStudy, SumStudy, FrameworkStudy, frequencies, quantiles, Categories, Bins, measured, Measure,
    Collector, Estimate
For who writes a protocol:
    Protocol, LdpProtocol, Framework, Field, Terms, Own, Tally, column_totals, Bit, Symbol, Hashed, Noisy
For experiments, never for publication:
    simulate, Crowd
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prdp.local.campaign import Campaign
from prdp.local.client import Checked, Client
from prdp.local.report import Report

if TYPE_CHECKING:
    from prdp.local.categories import Bins, Categories
    from prdp.local.collector import Collector
    from prdp.local.crowd import Crowd
    from prdp.local.estimate import Estimate
    from prdp.local.framework_study import FrameworkStudy, frequencies
    from prdp.local.protocol import Field, Framework, LdpProtocol, Own, Protocol, Tally, Terms, column_totals
    from prdp.local.randomisers import Bit, Hashed, Law, Noisy, Symbol
    from prdp.local.reading_off import quantiles
    from prdp.local.simulation import simulate
    from prdp.local.study import CountStudy, Study, SumStudy
    from prdp.local.summing import measured
    from prdp.query import Measure
else:
    _HOMES = {
        **dict.fromkeys(("Bins", "Categories"), "prdp.local.categories"),
        "Collector": "prdp.local.collector",
        "Estimate": "prdp.local.estimate",
        **dict.fromkeys(
            ("Field", "Framework", "LdpProtocol", "Own", "Protocol", "Tally", "Terms", "column_totals"),
            "prdp.local.protocol",
        ),
        **dict.fromkeys(("Bit", "Hashed", "Law", "Noisy", "Symbol"), "prdp.local.randomisers"),
        "Crowd": "prdp.local.crowd",
        "simulate": "prdp.local.simulation",
        **dict.fromkeys(("CountStudy", "Study", "SumStudy"), "prdp.local.study"),
        **dict.fromkeys(("FrameworkStudy", "frequencies"), "prdp.local.framework_study"),
        "quantiles": "prdp.local.reading_off",
        "measured": "prdp.local.summing",
        "Measure": "prdp.query",
    }

    def __getattr__(name: str) -> object:
        """Load what only analysts and authors need when it is first asked for."""
        if name not in _HOMES:
            raise AttributeError(f"module 'prdp.local' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """Return the public names, loaded or not."""
        return sorted({*globals(), *__all__})


__all__ = [
    "Bins",
    "Bit",
    "Campaign",
    "Categories",
    "Checked",
    "Client",
    "Collector",
    "CountStudy",
    "Crowd",
    "Estimate",
    "Field",
    "Framework",
    "FrameworkStudy",
    "Hashed",
    "Law",
    "LdpProtocol",
    "Measure",
    "Noisy",
    "Own",
    "Protocol",
    "Report",
    "Study",
    "SumStudy",
    "Symbol",
    "Tally",
    "Terms",
    "column_totals",
    "frequencies",
    "measured",
    "quantiles",
    "simulate",
]
