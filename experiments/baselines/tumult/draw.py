"""Run by the environment's own Python: reads jobs from standard input, and writes what was drawn.

It imports nothing of this project.
"""

import importlib
import json
import sys


def main() -> None:
    samplers = importlib.import_module("tmlt.core.utils.prdp")
    jobs = json.load(sys.stdin)
    drawn = [
        [float(getattr(samplers, job["sampler"])(**job["arguments"])) for _ in range(job["draws"])]
        for job in jobs
    ]
    json.dump(drawn, sys.stdout)


if __name__ == "__main__":
    main()
