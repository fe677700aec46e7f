"""Figure 4 in the report."""

from __future__ import annotations

import pyarrow

from experiments.paper.experiment import Config, Context
from experiments.paper.report.parts import Section
from experiments.paper.report.scaling import scaling_section


def section(config: Config, _: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    return scaling_section("figure_4", config, results)
