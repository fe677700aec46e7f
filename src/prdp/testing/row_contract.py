"""The contract of the row language: what an engine computes of a record is what plain Python computes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.computed import column_of, read_column
from prdp.declare.groups import read_grouping
from prdp.engines.engine import Engine
from prdp.expressions.spelling import is_writable
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.brevity import Brevity
from prdp.testing.engine_records import record_of
from prdp.testing.reference import Record, in_groups, reference_summary
from prdp.testing.row_language import ROW_EXPRESSIONS, ROW_RECORDS

_LARGEST_KEY = 1e30


class RowContract(Brevity):
    """Tests that every function gives for every record what the reference gives."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def row_records(self) -> Sequence[Record]:
        """Return the records that functions are tried on; an engine leaves out what it cannot hold."""
        return ROW_RECORDS

    def refuses(self, engine: Engine, reading: CellRead, text: str) -> bool:  # noqa: ARG002
        """Say whether an engine has no word for an expression, and so refuses it; ours refuse none."""
        return False

    def test_a_quotient_is_never_rounded_up_to_a_level(self) -> None:
        """Divide so that budgets lie just below levels and just above: with four digits, some would rise."""
        text = Policy("10000 / v", at_least="1/10", at_most=10)
        near = (int(10**5 / 2 ** (level / 8)) + step for level in range(54) for step in (0, 1))
        values = sorted(set(near))
        engine = self.engine([record_of(v=value) for value in values])
        policy = text.within(engine.schema, {})
        keys = read_grouping(["v"], values, engine.schema)
        levels = policy.levels
        for value, found in zip(
            values, engine.summarise(CellRead(policy, levels, {}, None, None, keys)), strict=True
        ):
            index = levels.index(policy.budget({"v": value}))
            promised = {cell.key.quanta for cell in found.cells}
            assert all(quanta * levels.quantum <= Fraction(10**4, value) for quanta in promised), value
            assert promised <= {
                levels.quanta(place) for place in (index or 0, (index or 0) - 1) if place >= 0
            }
            assert promised or not index, value

    def test_every_function_gives_for_every_record_what_the_reference_gives(self) -> None:
        """Group by each expression, its values being the keys; the sum tells which records are in which."""
        records = self.row_records()
        engine = self.engine(records)
        policy = Policy.column("eps", at_least="1/10", at_most="10").within(engine.schema, {})
        for text in self.some(ROW_EXPRESSIONS, 6):  # a record that is in no group has no value
            read = read_column(text, engine.schema, "group_by")
            values = [column_of(record, read.name, read.expression) for record in records]
            keys = [*dict.fromkeys(value for value in values if _can_be_a_key(value))]
            grouping = read_grouping([text], keys, engine.schema)
            measure = Measure("v", Fraction(1), 0, 2**62)
            reading = CellRead(policy, policy.levels, {}, measure, None, grouping)
            if self.refuses(engine, reading, text):
                continue
            found = engine.summarise(reading)
            expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
            assert [one.cells for one in found] == [one.cells for one in expected], text
            assert all(one.cells for one in expected), text


def _can_be_a_key(value: object) -> bool:
    """Say whether a group can have this key: no NULL, nothing huge, and nothing that cannot be written."""
    if isinstance(value, str):
        return is_writable(value)
    return value is not None and not (isinstance(value, float) and abs(value) > _LARGEST_KEY)
