"""Campaigns and reports by somebody who means harm: refused by public facts, or harmless."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.nodes import MAX_CONSTANTS, MAX_LEVELS
from prdp.local import (
    Bins,
    Campaign,
    Categories,
    Client,
    Collector,
    FrameworkProtocol,
    Report,
    Tally,
    measured,
)
from prdp.local.client.campaign import MAX_REPORT_BITS, policy_text
from prdp.local.client.client import Checked, another_policy
from prdp.local.protocols.categories import MAX_BITS, Frequencies, Method
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.protocol import Terms
from prdp.local.protocols.randomisers import PRIME, Bit, Hashed, Symbol
from prdp.local.protocols.summing import ProportionalSum, RatioSum

POLICY = prdp.Policy("10000 / balance", at_least="1e-8", at_most=100)
CAMPAIGN = Campaign("balances", POLICY, "1/2", DomainCount())
TEXT = CAMPAIGN.to_json()
COLUMN = '["column","balance"]'


class Watched(dict[str, object]):
    """A record that notices when somebody looks at it."""

    def __init__(self) -> None:
        super().__init__(balance=40_000)
        self.seen = False

    def __getitem__(self, name: str) -> object:
        self.seen = True
        return super().__getitem__(name)

    def get(self, name: str, default: object = None) -> object:
        self.seen = True
        return super().get(name, default)


def refusal(text: str | bytes) -> str:
    """Return why a client refuses; nothing is spent by then, and the record was not looked at."""
    me, record = Client(), Watched()
    with pytest.raises(InvalidRequest) as caught:
        me.report(text, record)
    assert me.remaining == 1
    assert not record.seen
    assert len(str(caught.value)) < 1000
    assert str(caught.value).encode().decode().replace("\n", "").isprintable()
    return str(caught.value)


def asking(inner: dict[str, Any], domain: int = 1) -> str:
    """Return a campaign whose general framework holds an inner protocol, as JSON."""
    facts = json.loads(TEXT)
    facts["protocol"] = {"kind": "framework", "domain": domain, "inner": inner}
    return json.dumps(facts)


def frequencies(values: list[Any], method: str, **more: Any) -> str:
    return asking({"kind": "frequencies", "column": "v", "categories": values, "method": method, **more})


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('"name":"balances"', '"name":"a\\ud800"'),
        TEXT.replace('"noise":"bits"', '"noise":"bits","column":"a\\udfff"'),
        TEXT.replace('"kind":"count by domain"', '"kind":"\\ud800"'),
        TEXT.replace('"at_most":"100"', '"at_most":"\\ud800"'),
        TEXT.replace('"balance"', '"\\ud800"'),
        TEXT.replace('"round":1', '"round":1,"\\ud800":1'),
        TEXT.replace("balances", "\ud800"),
        TEXT.replace("balances", "\ud800").encode(errors="surrogatepass"),
        frequencies(["\ud800"], "bits"),
        frequencies(["a", "b\udc00"], "olh", buckets=2),
    ],
)
def test_a_campaign_with_half_of_a_character_is_refused(text: str | bytes) -> None:
    assert "half of a character" in refusal(text)


def test_half_of_a_character_is_refused_where_an_analyst_writes_it() -> None:
    for wrong in (
        lambda: Categories("job", ["\ud800"]),
        lambda: Categories("\ud800", ["a"]),
        lambda: Bins("\ud800", (0, 1)),
        lambda: measured("\ud800", 0, 1),
        lambda: DomainCount(column="\ud800"),
    ):
        with pytest.raises(InvalidRequest, match="half of a character"):
            wrong()


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('"share":"1/2"', '"share":"1","share":"1/2"'),
        TEXT.replace('"at_most":"100"', '"at_most":"1","at_most":"100"'),
        TEXT.replace('"noise":"bits"', '"noise":"bits","noise":"bits"'),
        TEXT.replace('"noise":"bits"', '"noise":"bits","nois\\u0065":"laplace"'),
        frequencies(["a"], "bits").replace('"method"', '"method": "grr", "method"'),
    ],
)
def test_a_campaign_that_says_something_twice_is_refused(text: str) -> None:
    """Two readers could take two different ones: what an owner was shown and what the client answers."""
    assert "twice" in refusal(text)


def test_a_campaign_of_very_many_keys_takes_no_longer_than_it_is_long() -> None:
    many = ",".join(f'"{key}":1' for key in range(100_000))
    assert "not known" in refusal(TEXT.replace('"round":1', f'"round":1,{many}'))


@pytest.mark.parametrize("method", ["bits", "oue"])
def test_more_values_than_a_report_has_bits_for_are_refused(method: Method) -> None:
    most = Categories("v", range(MAX_BITS))
    assert Frequencies(most, method).size == MAX_BITS
    text = Campaign("most", POLICY, "1", FrameworkProtocol(Frequencies(most, method), 1)).to_json()
    more = text.replace(f",{MAX_BITS - 1}]", f",{MAX_BITS - 1},{MAX_BITS}]")
    assert "olh" in refusal(more)
    assert "olh" in refusal(frequencies(list(range(1 << 20)), method))


def test_a_campaign_whose_reports_would_be_too_long_is_refused() -> None:
    """Noise for budgets of 2^-500 and values of 1e40: eleven seconds of coins, and 24 kilobytes."""
    wide = prdp.Policy("1 / v", at_least=Fraction(1, 2**400), at_most=Fraction(1, 2**145))
    with pytest.raises(InvalidRequest, match="bits, and clients draw and send at most"):
        Campaign("wide", wide, "1", RatioSum(measured("v", 0, 10**40)))
    usual = Campaign("usual", POLICY, "1/2", RatioSum(measured("v", 0, 10**40)))
    assert sum(field.bits for field in usual.fields) <= MAX_REPORT_BITS


@pytest.mark.parametrize("values", [[], [1, 1], [1, True], [None], [10**41], [[]], [["a"] * 9] * 9])
def test_values_that_are_no_categories_are_refused(values: list[Any]) -> None:
    assert refusal(frequencies(values, "grr"))


@pytest.mark.parametrize("buckets", [-1, 0, 1, 1025, 2.0, True, None, "2"])
def test_hashes_into_one_bucket_or_too_many_are_refused(buckets: object) -> None:
    """One bucket says nothing of anybody, and its estimate would divide by zero."""
    assert "buckets" in refusal(frequencies(["a", "b"], "olh", buckets=buckets))
    with pytest.raises(InvalidRequest, match="buckets"):
        Frequencies(Categories("v", ["a", "b"]), "olh", buckets)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["bits", "grr", "oue", "olh"])
@pytest.mark.parametrize("values", [1, 2, 30])
@pytest.mark.parametrize("loss", ["1e-160", "1e-20", "1e-9", "1/2", "40", "1e9", "1e150"])
def test_frequencies_are_scaled_by_the_laws_own_chances_at_any_budget(
    method: Method, values: int, loss: str
) -> None:
    """Of budgets so small that two doubles for the two chances would be the same, too."""
    budget, clients = Fraction(loss), 1000
    protocol = Frequencies.chosen(Categories("v", range(values)), budget, method)
    more = speaks(protocol, budget, 0) - speaks(protocol, budget, None)
    nobody, everybody = (
        protocol.estimate(budget, Tally(clients, (count,) * values))[0] for count in (0, clients)
    )
    assert everybody[0] - nobody[0] == pytest.approx(float(clients / more), rel=1e-9)
    assert math.isfinite(everybody[1])


def speaks(protocol: Frequencies, budget: Fraction, here: int | None) -> Fraction:
    """Return how likely a report is to speak for the first value, from the law that it is drawn from."""
    bits = 1200
    law = protocol.law_at(budget, here)[0]
    if isinstance(law, Hashed):
        if here is None:
            return Fraction(1, law.buckets)
        law = Symbol(0, law.buckets, law.loss)
    return Fraction(law.chance(int(isinstance(law, Bit)))(bits)[0], 1 << bits)


def nested(levels: int, name: str = "not") -> str:
    return TEXT.replace(COLUMN, f'["{name}",' * levels + COLUMN + "]" * levels)


@pytest.mark.parametrize("levels", [MAX_LEVELS, 300, 500, 900, 950, 1000, 3000, 100_000])
def test_a_policy_that_is_nested_too_deeply_is_refused(levels: int) -> None:
    stated = refusal(nested(levels))
    assert "too large" in stated or "too deeply" in stated


CASES = '["case",[[["boolean",true],' * 120 + COLUMN + ']],["null"]]' * 120
EITHER = '["or",["boolean",false],["and",["boolean",true],' * 60 + '["boolean",true]' + "]]" * 60


@pytest.mark.parametrize("expression", [nested(120, "negate"), TEXT.replace(COLUMN, CASES)])
def test_a_policy_of_as_many_levels_as_are_allowed_is_answered(expression: str) -> None:
    checked = Client().check(expression, {"balance": 40_000})
    assert checked.is_informative
    assert Client().report(expression, {"balance": 40_000})


def test_a_deep_condition_is_evaluated_and_not_taken_for_a_missing_budget() -> None:
    text = TEXT.replace(COLUMN, f'["case",[[{EITHER},{COLUMN}]],["null"]]')
    assert Client().check(text, {"balance": 40_000}).loss is not None


def test_a_program_that_has_little_stack_left_gets_the_same_kind_of_refusal() -> None:
    def at_depth(frames: int) -> object:
        return at_depth(frames - 1) if frames else Client().report(nested(120, "negate"), {"balance": 3})

    left = sys.getrecursionlimit() - len(list_of_frames())
    with pytest.raises(InvalidRequest, match="too deeply"):
        at_depth(left - 150)


def list_of_frames() -> list[object]:
    frame, found = sys._getframe(), list[object]()
    while frame is not None:
        found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('"round":1', f'"round":{DEEP}'),
        TEXT.replace('"round":1', f'"round":1,"more":{DEEP}'),
        TEXT.replace('"kind":"count by domain"', f'"kind":{DEEP}'),
        TEXT.replace('["number",10000.0]', DEEP),
        TEXT.replace("10000.0", DEEP),
        frequencies([], "grr").replace("[]", DEEP),
        asking({"kind": "frequencies", "column": "v", "edges": [0, "x"], "method": "grr"}).replace(
            '"x"', DEEP
        ),
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
    ids=range(9),
)
def test_lists_nested_deeply_anywhere_are_refused(text: str) -> None:
    assert refusal(text)


@pytest.mark.slow
def test_a_policy_of_too_many_constants_or_parts_is_refused() -> None:
    ones = ",".join(['["number",1]'] * (MAX_CONSTANTS + 1))
    assert "too large" in refusal(TEXT.replace(COLUMN, f'["in",{COLUMN},{ones}]'))
    assert "too large" in refusal(TEXT.replace(COLUMN, f'["+",{",".join([COLUMN] * 500_000)}]'))


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("10000.0", "NaN"),
        TEXT.replace("10000.0", "-Infinity"),
        TEXT.replace("10000.0", "1e999"),
        TEXT.replace("10000.0", "9" * 4000),
        TEXT.replace('"round":1', f'"round":{"9" * 4000}'),
        TEXT.replace('"version":1', '"version":true'),
        TEXT.replace('"version":1', '"version":1.0'),
        TEXT.replace('"kind":"count by domain"', f'"kind":"{"x" * 10_000}"'),
        TEXT.replace('"kind":"count by domain"', '"kind":"\\u001b[2J"'),
        TEXT.replace('"round":1', '"round":1,"\\u001b[2J":1'),
        TEXT.replace('"noise":"bits"', f'"noise":"bits","{"x" * 10_000}":1'),
        asking({"kind": "x" * 10_000}),
        asking({"kind": "frequencies", "column": "v", "edges": ["1", "2" * 10_000], "method": "grr"}),
        asking({"kind": "frequencies", "column": "v", "edges": ["1", None], "method": "grr"}),
        TEXT.replace('count by domain","noise":"bits"', 'count in proportion","budget":"1e400"'),
        TEXT.replace('count by domain","noise":"bits"', 'count in proportion","budget":"1e-400"'),
        TEXT + " " * (1 << 24),
        None,
        7,
    ],
    ids=range(19),
)  # fmt: skip
def test_a_malformed_campaign_is_refused_in_few_and_printable_words(text: Any) -> None:
    assert refusal(text)


@pytest.mark.parametrize("number", [Fraction(10**300), Fraction(1, 10**300), Fraction(10**120 + 1, 10**120)])
def test_a_campaign_that_no_client_could_read_is_refused_where_it_is_made(number: Fraction) -> None:
    measure = measured("v", 0, 100)
    for wrong in (
        lambda: ProportionalCount(number),
        lambda: ProportionalSum(measure, number),
        lambda: measured("v", 0, 0, round_to=number),
        lambda: Campaign("v", prdp.Policy("v", at_least="1/2", at_most=number), "1", DomainCount()),
    ):
        with pytest.raises(InvalidRequest):
            wrong()
    fine = Fraction(10**97 + 1, 10**97)
    for protocol in (ProportionalCount(fine), ProportionalSum(measured("v", 0, 1, round_to=fine), fine)):
        policy = prdp.Policy("v", at_least="1/2", at_most=fine)
        campaign = Campaign("v", policy, "1", protocol)
        assert Campaign.from_json(campaign.to_json()) == campaign


def test_what_an_unit_reads_has_nothing_that_a_terminal_obeys() -> None:
    """Column names and policies are the asker's own words, and an owner reads them in a terminal."""
    name = "\x1b]0;you agreed\x07" + "x" * 10_000
    stated = str(Checked((name,), None, is_informative=False))
    theirs = policy_text(prdp.Policy.column(name.replace("\x07", ""), at_least="1/2", at_most=1))
    for shown in (stated, str(another_policy(policy_text(POLICY), theirs))):
        assert shown.isprintable()
        assert len(shown) < 1000


class Talkative(DomainCount):
    """A protocol of somebody's own whose laws fail, and say what the record is."""

    kind = "talkative"

    def law(self, terms: Any, own: Any) -> Any:
        laws = super().law(terms, own)
        if own is None:
            return laws

        class Failing:
            def draw(self, entropy: Any) -> int:  # noqa: ARG002
                raise RuntimeError(own.record)

        return (Failing(),) * len(laws)


class Broken:
    """A generator that gives out: after it has, not even the dummy can be drawn."""

    def bytes(self, count: int) -> bytes:
        raise OSError(f"no {count} bytes")


def test_an_error_of_a_client_has_no_other_behind_it_that_holds_the_record() -> None:
    campaign = Campaign("talkative", POLICY, "1/2", Talkative())
    with pytest.raises(LedgerError, match="no report could be drawn") as caught:
        Client(entropy=Broken()).report(campaign, {"balance": 123_456_789})
    error: BaseException | None = caught.value
    while error is not None:
        assert "123456789" not in str(error)
        error = error.__context__


def test_a_report_that_says_what_no_client_can_is_refused() -> None:
    """A hash function that multiplies by 0 puts all values into one bucket: one report speaks for all."""
    values = Categories("v", ["a", "b", "c", "d"])
    for method, low, high in (("grr", 4, 5), ("olh", PRIME * (PRIME - 1) * 3 - 1, PRIME * (PRIME - 1) * 3)):
        protocol = Frequencies(values, method, 3 if method == "olh" else 0)  # type: ignore[arg-type]
        campaign = Campaign("v", POLICY, "1", FrameworkProtocol(protocol, 1))
        collector, size = Collector(campaign), len(Client().report(campaign, None).payload)
        (field,) = campaign.fields
        assert 1 << field.bits > high  # the bits would hold it
        assert collector.receive(Report(campaign.digest, b"1" * 16, low.to_bytes(size, "big")))
        with pytest.raises(InvalidRequest, match="form"):
            collector.receive(Report(campaign.digest, b"2" * 16, high.to_bytes(size, "big")))
        assert len(collector) == 1


@settings(max_examples=100)
@given(data=st.binary(max_size=60), prefix=st.booleans())
def test_no_bytes_make_a_collector_do_anything_but_take_or_refuse(data: bytes, prefix: bool) -> None:
    collector = Collector(CAMPAIGN)
    head = bytes(Client().report(CAMPAIGN, None))[:53] if prefix else b""
    try:
        taken = collector.receive(head + data)
    except InvalidRequest:
        taken = False
    assert len(collector) == taken
    assert collector.tally.clients == taken


def test_a_report_with_one_bit_of_its_token_flipped_is_a_new_client_s() -> None:
    """Reports are not signed: the page on the local model tells operators to let each client in once."""
    collector = Collector(CAMPAIGN)
    report = Client().report(CAMPAIGN, {"balance": 40_000})
    flipped = bytes([report.token[0] ^ 1]) + report.token[1:]
    assert collector.receive(report)
    assert collector.receive(Report(report.campaign, flipped, report.payload))
    assert len(collector) == 2


@pytest.mark.parametrize("loss", ["1/1000", "1/100", "1/10"])
def test_one_forged_report_weighs_as_much_as_the_page_on_the_local_model_says(loss: str) -> None:
    terms = Terms(prdp.Policy.constant(loss).levels, Fraction(1))
    bits, budget = DomainCount(), float(Fraction(loss))
    honest, forged = (bits.estimate(terms, Tally(1, (ones,))).counts[0] for ones in (0, 1))
    assert max(-honest, forged) == pytest.approx(1 / budget, rel=0.1)
    (field,) = DomainCount("laplace").fields(terms)
    assert field.last > 178 / budget


def test_what_one_collector_gathered_is_not_added_twice() -> None:
    one, two = Collector(CAMPAIGN), Collector(CAMPAIGN)
    for collector in (one, one, two):
        collector.receive(Client().report(CAMPAIGN, None))
    early = one.tally
    one.receive(Client().report(CAMPAIGN, None))
    merged = one.tally + two.tally
    assert merged.clients == 4
    kept = Tally.from_json(one.tally.to_json())
    for tally, again in ((early, early), (early, one.tally), (merged, two.tally), (kept, one.tally)):
        with pytest.raises(InvalidRequest, match="twice"):
            _ = tally + again
    unmarked = Tally(1, (1,))
    with pytest.raises(InvalidRequest, match="twice"):
        _ = unmarked + unmarked
    assert (unmarked + Tally(1, (1,))).clients == 2  # equal ones may be of two collectors
    assert Tally.from_json(merged.to_json()) + Collector(CAMPAIGN).tally == merged


def test_a_tally_that_is_not_what_to_json_wrote_is_refused() -> None:
    collector = Collector(CAMPAIGN)
    collector.receive(Client().report(CAMPAIGN, None))
    text = collector.tally.to_json()
    for wrong in (
        text.replace('"clients": 1', '"clients": 5, "clients": 1'),
        text.replace('"clients": 1', '"clients": true'),
        text.replace('"clients": 1', '"clients": -1'),
        text.replace('"clients": 1', f'"clients": {"9" * 5000}'),
        text.replace('"totals": [', '"totals": [1.5, '),
        text.replace('"totals": [', f'"totals": [{DEEP}, '),
        text.replace('"version"', '"more": 1, "version"'),
        text.replace('"campaign": "', '"campaign": "00 '),
        text.replace('"collectors": [', '"collectors": [1, '),
        "[" * 100_000,
    ):
        assert wrong != text
        with pytest.raises(InvalidRequest, match="no tally"):
            Tally.from_json(wrong)
    old = json.loads(text)
    del old["collectors"]
    assert Tally.from_json(json.dumps(old)) == collector.tally
