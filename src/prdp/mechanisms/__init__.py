"""From cells to answers: one file, one proof, one exact test, one name."""

from prdp.mechanisms._influence import count_influences, sum_influences
from prdp.mechanisms._mechanism import Answer, Mechanism
from prdp.mechanisms.choice import Choice
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.distinct import Distinct
from prdp.mechanisms.framework import Framework
from prdp.mechanisms.joint import Joint
from prdp.mechanisms.naive import Naive
from prdp.mechanisms.partition import Partition
from prdp.mechanisms.rank import Rank
from prdp.mechanisms.smooth import Smooth
from prdp.mechanisms.tiers import Tiers
from prdp.mechanisms.truncate import Truncate

__all__ = [
    "Answer",
    "Choice",
    "Clip",
    "Distinct",
    "Framework",
    "Joint",
    "Mechanism",
    "Naive",
    "Partition",
    "Rank",
    "Smooth",
    "Tiers",
    "Truncate",
    "count_influences",
    "sum_influences",
]
