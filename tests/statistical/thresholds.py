"""How sure a statistical test must be before it speaks.

Each test computes a p-value: the chance that noise of the claimed distribution looks at least as
strange as the sample. Under P_THRESHOLD it says "wrong".

False alarms: right code fails one comparison with probability P_THRESHOLD = 1e-9. Samples drawn
from a fixed seed give the same verdict on every run, so an alarm there means that the code changed.
Only what the system's generator or another library draws is fresh each time: with 20 such
comparisons a run, one run in 50 million fails without cause.

Power: a scale wrong by the factor 1 + d shifts a chi-square statistic of n draws by about n·d² (the
Fisher information of a logarithmic scale is 1 for Laplace noise, less where most draws are 0). With
SAMPLE_SIZE = 100,000 and d = 0.15 that is about 2,000, while 1e-9 is at 119 for 40 degrees of
freedom. So the other half of each test, that a scale WRONG_BY 15 % in either direction is rejected,
holds with room to spare.
"""

from __future__ import annotations

from fractions import Fraction

P_THRESHOLD = 1e-9
SAMPLE_SIZE = 100_000
WRONG_BY = Fraction(15, 100)
SEED = 20261115
