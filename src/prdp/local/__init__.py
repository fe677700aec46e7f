"""The same promise with no trusted collector: every client randomises its own record.

For who holds a record (neither NumPy nor SQL is loaded for it):
    Client, Checked, Campaign, Report
For who asks:
    study, CountStudy, SumStudy, FrameworkStudy, frequencies, quantiles, Categories, Bins, measured, Measure,
    Collector, Estimate
For who writes a protocol:
    Protocol, LdpProtocol, FrameworkProtocol, Field, Terms, Own, Tally, column_totals,
    Bit, Symbol, Hashed, NoisyValue
For experiments, never for publication:
    simulate, Crowd
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import Checked, Client
from prdp.local.client.report import Report

if TYPE_CHECKING:
    from prdp.cells.measure import Measure
    from prdp.local.analyst.estimate import Estimate
    from prdp.local.analyst.make_study import FrameworkStudy, frequencies, quantiles, study
    from prdp.local.analyst.study import Collector, CountStudy, Study, SumStudy
    from prdp.local.protocols.categories import Bins, Categories
    from prdp.local.protocols.protocol import (
        Field,
        FrameworkProtocol,
        LdpProtocol,
        Own,
        Protocol,
        Tally,
        Terms,
        column_totals,
    )
    from prdp.local.protocols.randomisers import Bit, Hashed, Law, NoisyValue, Symbol
    from prdp.local.protocols.summing import measured
    from prdp.local.simulation.crowd import Crowd
    from prdp.local.simulation.simulation import simulate
else:
    _HOMES = {
        **dict.fromkeys(("Bins", "Categories"), "prdp.local.protocols.categories"),
        "Collector": "prdp.local.analyst.study",
        "Estimate": "prdp.local.analyst.estimate",
        **dict.fromkeys(
            (
                "Field",
                "FrameworkProtocol",
                "LdpProtocol",
                "Own",
                "Protocol",
                "Tally",
                "Terms",
                "column_totals",
            ),
            "prdp.local.protocols.protocol",
        ),
        **dict.fromkeys(("Bit", "Hashed", "Law", "NoisyValue", "Symbol"), "prdp.local.protocols.randomisers"),
        "column_totals": "prdp.local.protocols.protocol",
        "Crowd": "prdp.local.simulation.crowd",
        "simulate": "prdp.local.simulation.simulation",
        **dict.fromkeys(("CountStudy", "Study", "SumStudy"), "prdp.local.analyst.study"),
        **dict.fromkeys(("FrameworkStudy", "frequencies"), "prdp.local.analyst.make_study"),
        "quantiles": "prdp.local.analyst.make_study",
        "study": "prdp.local.analyst.make_study",
        "measured": "prdp.local.protocols.summing",
        "Measure": "prdp.cells.measure",
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
    "FrameworkProtocol",
    "FrameworkStudy",
    "Hashed",
    "Law",
    "LdpProtocol",
    "Measure",
    "NoisyValue",
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
    "study",
]
