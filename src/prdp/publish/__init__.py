"""Publications: tables that are charged at once, made to add up, and written ready to print.

>>> from prdp.publish import Publication, StatisticalTable
>>> staff = StatisticalTable("staff", by=("job",), measures={"n": "count", "pay": "mean salary"})
>>> Publication("Staff by job", (staff,), share="1/10").tables[0].statistics[1].query
Mean(column='salary', round_to=None)
"""

from prdp.publish.declaration import Hierarchy, Publication, Signs, StatisticalTable
from prdp.publish.draws import PrivateTable
from prdp.publish.run import Edition, drawn, dry_run, publish
from prdp.publish.signature import Signer
from prdp.publish.toml import read
from prdp.publish.verify import verify

__all__ = [
    "Edition",
    "Hierarchy",
    "PrivateTable",
    "Publication",
    "Signer",
    "Signs",
    "StatisticalTable",
    "drawn",
    "dry_run",
    "publish",
    "read",
    "verify",
]
