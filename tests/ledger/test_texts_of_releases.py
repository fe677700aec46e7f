"""An answer is recorded as the same text in every process: publications hold it by its digest."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
import prdp
from prdp.ledger.release_codec import release_to_json
from prdp.testing import simulate

columns = {"v": np.arange(1, 200)}
table = prdp.open(columns, policy="100 / v", bounds={"v": (1, 10**6)}, synthetic=True, name="t")
print([release_to_json(one) for one in simulate(table, prdp.sum("v"), runs=2, seed=1)])
"""


def test_an_answer_is_the_same_text_however_a_process_hashes() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(3)
    }
    assert len(texts) == 1
    assert '"policy": {' in texts.pop()
