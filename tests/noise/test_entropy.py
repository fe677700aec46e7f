"""Bytes are never shared: not between calls, threads, or a process and its fork."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from prdp.noise.entropy import SystemEntropy
from prdp.testing.seeded import Seeded


@pytest.mark.parametrize("count", [0, 1, 40, 1024, 1025, 1_000_000])
def test_as_many_bytes_come_as_were_asked_for(count: int) -> None:
    assert len(SystemEntropy().bytes(count)) == count
    assert len(Seeded(1).bytes(count)) == count


@pytest.mark.parametrize("count", [32, 2000])
def test_no_call_repeats_another(count: int) -> None:
    source = SystemEntropy()
    assert len({source.bytes(count) for _ in range(200)}) == 200


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("count", [32, 2000])
def test_a_forked_child_draws_other_bytes_than_its_parent(count: int) -> None:
    source = SystemEntropy()
    source.bytes(count)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, source.bytes(count))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = pipe.read()
    assert len(theirs) == count
    assert theirs != source.bytes(count)


@pytest.mark.parametrize("count", [32, 2000])
def test_threads_that_share_a_source_never_get_the_same_bytes(count: int) -> None:
    source = SystemEntropy()
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(source.bytes, [count] * 400))
    assert len(set(answers)) == 400


def test_bytes_of_a_large_request_are_balanced() -> None:
    data = SystemEntropy().bytes(1_000_000)
    ones = sum(byte.bit_count() for byte in data)
    assert abs(ones - 4_000_000) < 7 * 1414  # seven standard deviations of a fair coin


def test_a_seed_repeats_its_bytes_however_they_are_asked_for() -> None:
    piecewise = Seeded(5)
    assert b"".join(piecewise.bytes(n) for n in [0, 1, 63, 64, 65, 7]) == Seeded(5).bytes(200)


def test_different_seeds_give_different_bytes() -> None:
    assert len({Seeded(seed).bytes(32) for seed in range(-50, 50)}) == 100
