"""A caller's own mechanism sees the rows that the framework keeps; what it returns is all that shows."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import opendp.prelude as dp
import pandas
import pyarrow
import pytest

import prdp
from prdp.adapters import opendp, rounded_down
from prdp.errors import InvalidRequest

dp.enable_features("contrib")

N = 40_000
BALANCE = np.random.default_rng(3).lognormal(7, 1, N).astype(int) + 1
POLICY = prdp.Policy("10000 / balance", at_most=100)
KEYWORDS: dict[str, Any] = {"columns": ["balance"], "share": "1/8"}


def accounts(**options: Any) -> prdp.Table:
    source = {"balance": BALANCE, "age": np.arange(N) % 80, "budget": np.ones(N), "level": np.ones(N)}
    return prdp.open(source, policy=POLICY, bounds={"balance": (0, 10**12)}, **options)


def shown(rows: Any, epsilon: Fraction, beta: Fraction) -> object:
    """Return what a mechanism is given; not private at all, which is what the tests are after."""
    return {"rows": rows.to_pydict(), "epsilon": epsilon, "beta": beta, "names": rows.column_names}


def test_it_sees_the_asked_columns_of_the_rows_with_large_budgets_only() -> None:
    table = accounts()
    release = table.filter("age < 40").run(shown, columns=["age", "budget"], share="1/2", split="1/2")
    assert release.value["names"] == ["age", "budget"]
    assert max(release.value["rows"]["age"]) == 39
    least = float(dict(release.choices)["kept budgets from"].split()[0])
    kept = int(np.sum((np.minimum(100, 10000 / BALANCE) >= least) & (np.arange(N) % 80 < 40)))
    assert len(release.value["rows"]["age"]) == pytest.approx(kept, abs=5)
    assert release.epsilon == pytest.approx(Fraction(1, 4) * Fraction(least), rel=1e-5)
    assert table.ledger.remaining == Fraction(1, 2)


def test_rows_with_smaller_budgets_take_part_now_and_then_if_asked_for() -> None:
    def rows(*, sample: bool) -> float:
        """Return the median of nine runs: now and then an empty domain passes for a heavy one."""
        releases = (accounts().run(shown, sample=sample, **KEYWORDS) for _ in range(9))
        return median(len(release.value["rows"]["balance"]) for release in releases)

    assert rows(sample=False) < rows(sample=True) < N


def test_what_it_raises_is_an_answer_that_says_nothing_else() -> None:
    def broken(rows: Any, epsilon: Fraction, beta: Fraction) -> object:
        raise ValueError(f"a secret: {rows['balance'][0]}")

    table = accounts()
    release = table.run(broken, name="broken", **KEYWORDS)
    assert release.failed
    assert release.value is None
    assert "secret" not in str(release)
    assert table.run(shown, name="broken", **KEYWORDS) == release
    assert table.ledger.remaining == Fraction(7, 8)


def test_a_name_is_answered_once_and_no_name_every_time(tmp_path: Path) -> None:
    path = tmp_path / "accounts.ledger"
    count = accounts(ledger=path).run(lambda rows, e, b: rows.num_rows, name="rows", **KEYWORDS)
    again = accounts(ledger=path)
    assert again.run(lambda rows, e, b: 0, name="rows", **KEYWORDS) == count
    assert again.ledger.remaining == Fraction(7, 8)
    again.run(lambda rows, e, b: 0, **KEYWORDS)
    again.run(lambda rows, e, b: 0, **KEYWORDS)
    assert again.ledger.remaining == Fraction(5, 8)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.float64(1.5), 1.5),
        (np.array([1, 2]), [1, 2]),
        (Fraction(1, 2), 0.5),
        ({"a": (1, None)}, {"a": [1, None]}),
    ],
)
def test_what_it_returns_is_kept_in_plain_values(value: object, kept: object, tmp_path: Path) -> None:
    table = accounts(ledger=tmp_path / "t.ledger")
    assert table.run(lambda rows, e, b: value, name="value", **KEYWORDS).value == kept
    assert table.run(lambda rows, e, b: value, name="value", **KEYWORDS).value == kept


def test_a_real_opendp_measurement_answers() -> None:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def make(epsilon: float) -> Any:
        return space >> dp.t.then_clamp((0, 20_000)) >> dp.t.then_sum() >> dp.m.then_laplace(20_000 / epsilon)

    release = accounts().run(opendp(make), columns=["balance"], share="1/2")
    assert not release.failed
    assert release.value == pytest.approx(BALANCE.sum(), rel=0.5)


def test_a_measurement_that_is_not_what_it_must_be_is_refused_before_any_charge() -> None:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    for make, says in (
        (lambda epsilon: space >> dp.t.then_count() >> dp.m.then_laplace(0.5 / epsilon), "costs 2"),
        (lambda epsilon: space >> dp.t.then_count() >> dp.m.then_gaussian(1.0), "ZeroConcentrated"),
        (lambda epsilon: 7, "is no measurement"),
    ):
        table = accounts()
        with pytest.raises(InvalidRequest, match=says):
            table.run(opendp(make), **KEYWORDS)
        assert table.ledger.remaining == 1


def counting(**carrier: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(**carrier)), dp.symmetric_distance()
    return lambda epsilon: space >> dp.t.then_count() >> dp.m.then_laplace(1 / epsilon)


def scalar(epsilon: float) -> Any:
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return space >> dp.m.then_laplace(1 / epsilon)


@pytest.mark.parametrize(
    ("make", "column", "columns", "says"),
    [
        (counting(T=int), "balanse", ["balance"], "'balanse'"),
        (counting(T=int), "age", ["balance"], "'age'"),
        (counting(T=int), "level", ["balance", "age"], "'level'"),
        (counting(T=int), None, ["balance", "age"], "column='balance'"),
        (counting(T=str), None, ["balance"], "String"),
        (counting(T=bool), None, ["balance"], "bool"),
        (counting(T=int), None, ["job"], "'job' holds text"),
        (counting(T=int), None, ["paid"], "'paid' holds"),
        (counting(T=int), None, ["opened"], "'opened' holds"),
        (counting(T="usize"), None, ["balance"], "Begin with"),
        (scalar, None, ["balance"], "AbsoluteDistance"),
    ],
)
def test_a_measurement_that_does_not_fit_the_columns_is_refused_before_any_charge(
    make: Any, column: str | None, columns: list[str], says: str
) -> None:
    days = np.full(N, "2020-01-31", dtype="datetime64[s]")
    source = {"balance": BALANCE, "age": np.arange(N) % 80, "opened": days, "paid": BALANCE > 9}
    frame = pandas.DataFrame(source | {"job": pandas.array(["clerk"] * N, dtype="string")})
    table = prdp.open(frame, policy=POLICY, bounds={"balance": (0, 10**12)})
    with pytest.raises(InvalidRequest, match=says):
        table.run(opendp(make, column=column), columns=columns, share="1/8")
    assert table.ledger.remaining == 1


def test_a_measurement_reads_the_column_that_it_names_whatever_its_capitals() -> None:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def make(epsilon: float) -> Any:
        return space >> dp.t.then_clamp((0, 100)) >> dp.t.then_sum() >> dp.m.then_laplace(100 / epsilon)

    release = accounts().run(opendp(make, column="Age"), columns=["balance", "age"], share="1/2")
    assert release.value == pytest.approx(N * 39.5, rel=0.5)


def test_rows_are_handed_out_only_if_arrow_is_there() -> None:
    """Without it, reading them would fail after the charge."""
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import numpy, prdp\n"
        "table = prdp.open({'a': numpy.arange(9)}, policy=prdp.Policy.constant('1'))\n"
        "try:\n    table.run(lambda rows, e, b: 1, columns=['a'], share='1/2')\n"
        "except prdp.InvalidRequest as error:\n    print(error, table.ledger.remaining)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "prdp[arrow]" in ran.stdout
    assert ran.stdout.endswith(" 1\n")


@pytest.mark.parametrize(
    ("carrier", "column"),
    [
        ({"T": int}, [1, 2**40, -(2**40), None]),
        ({"T": float, "nan": False}, [1.5, float("nan"), float("inf"), None]),
        ({"bounds": (0, 10)}, [5, 20, None, 7]),
        ({"T": str}, ["a", "\0", None, "b"]),
    ],
)
def test_no_value_can_make_a_measurement_fail(carrier: dict[str, Any], column: list[Any]) -> None:
    """One row that did would show itself by that, whatever the noise."""
    space = dp.vector_domain(dp.atom_domain(**carrier)), dp.symmetric_distance()
    mechanism = opendp(lambda epsilon: space >> dp.t.then_count() >> dp.m.then_laplace(1 / epsilon))
    counted = mechanism(pyarrow.table({"c": column}), Fraction(1000), Fraction(1, 10))
    assert counted in range(1, 5)


@pytest.mark.parametrize("stop", [SystemExit("a secret"), KeyboardInterrupt("a secret"), GeneratorExit()])
def test_nothing_that_it_raises_leaves_the_charge_open_for_another_run(
    stop: BaseException, tmp_path: Path
) -> None:
    def stopped(rows: Any, epsilon: Fraction, beta: Fraction) -> object:
        raise stop

    table = accounts(ledger=tmp_path / "t.ledger")
    with suppress(KeyboardInterrupt):
        table.run(stopped, name="m", **KEYWORDS)
    assert table.ledger.remaining == Fraction(7, 8)
    assert table.run(shown, name="m", **KEYWORDS).failed
    assert all("secret" not in str(entry) for entry in table.ledger.entries)


@pytest.mark.parametrize("value", [10**6000, "\ud800", float("nan"), object(), {"a": {1, 2}}], ids=range(5))
def test_what_no_ledger_can_keep_counts_as_failed(value: object, tmp_path: Path) -> None:
    table = accounts(ledger=tmp_path / "t.ledger")
    assert table.run(lambda rows, e, b: value, name="m", **KEYWORDS).failed
    assert table.ledger.remaining == Fraction(7, 8)


def test_rows_come_in_random_order_and_enums_as_text() -> None:
    jobs = pandas.Categorical(["spy"] + ["clerk"] * 999)
    frame = pandas.DataFrame({"eps": [0.01] + [1.0] * 999, "job": jobs, "k": range(1000)})
    table = prdp.open(frame, policy=prdp.Policy.column("eps", at_least="0.01", at_most=1))
    seen = [
        table.run(lambda rows, e, b: rows["k"].to_pylist(), columns=["k"], share="1/4").value
        for _ in range(2)
    ]
    assert seen[0] != seen[1]
    assert sorted(seen[0])[-900:] == sorted(seen[1])[-900:]
    kind = table.run(lambda rows, e, b: str(rows.schema.field("job").type), columns=["job"], share="1/4")
    assert kind.value in {"string", "large_string"}


@pytest.mark.parametrize("number", [Fraction(1, 10), Fraction(1, 3), Fraction(2**60 + 1), Fraction(1, 2)])
def test_epsilon_is_rounded_down(number: Fraction) -> None:
    assert Fraction(rounded_down(number)) <= number
    assert Fraction(np.nextafter(rounded_down(number), np.inf)) > number


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"columns": []}, "lists no columns"),
        ({"columns": "balance"}, "lists no columns"),
        ({"columns": ["balanse"]}, "Did you mean 'balance'"),
        ({"columns": ["age", "age"]}, "twice"),
        ({"columns": ["age", "AGE"]}, "twice"),
        ({"columns": None}, "lists no columns"),
        ({"columns": 7}, "lists no columns"),
        ({"columns": {"age", "balance"}}, "lists no columns"),
        ({"columns": {"age": 1}}, "lists no columns"),
        ({"columns": iter(["age"])}, "lists no columns"),
        ({"columns": np.array([])}, "lists no columns"),
        ({"columns": [7]}, "'7'|7"),
        ({"columns": [["age"]]}, "age"),
        ({"name": "\ud800"}, "cannot be written"),
        ({"name": "\0"}, "cannot be written"),
        ({"name": 7}, "give a text"),
        ({"split": "1"}, "no part of the share"),
        ({"split": 1 / 3}, "split='1/3'"),
        ({"beta": "2"}, "not a failure rate"),
        ({"sample": 1}, "neither True nor False"),
        ({"mechanism": 7}, "takes a mechanism"),
        ({"mechanism": lambda rows: 1}, "takes a mechanism"),
    ],
)
def test_what_is_wrong_by_public_facts_is_refused_before_any_charge(
    options: dict[str, Any], says: str
) -> None:
    table = accounts()
    chosen = {"mechanism": shown, **KEYWORDS} | options
    with pytest.raises(InvalidRequest, match=says):
        table.run(chosen.pop("mechanism"), **chosen)
    assert table.ledger.remaining == 1


def test_what_a_mechanism_of_ones_own_would_be_given_is_reported_before_it_runs() -> None:
    ran = []
    reported = accounts().explain_run(
        lambda rows, epsilon, beta: ran.append(rows), columns=["balance"], share="1/2", name="mine"
    )
    assert "1/2 of every record's budget" in reported
    assert "level >= :b" in reported  # rows from a level on that is drawn first
    assert "mine with share 3/8" in reported
    assert ran == []
