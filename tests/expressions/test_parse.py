"""What is read, what is refused and where, and that nothing else ever happens."""

from __future__ import annotations

import json
import re
import sys

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.errors import ExpressionError, InvalidRequest
from prdp.expressions.nodes import (
    ARITHMETIC,
    COMPARISONS,
    MAX_CONSTANTS,
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    InList,
    IsNull,
    Negate,
    Node,
    Not,
    Number,
    Or,
    canonical,
    too_large,
)
from prdp.expressions.parse import MAX_CHARACTERS, parse
from tests.expressions.expression_trees import conditions, library_numbers, numbers

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


SPELLINGS = [
    ("10000/balance", "10000 / balance"),
    ("LEAST( 1e4/Balance , (100) )", "least(10000 / Balance, 100)"),
    ("pow(a,2)", "power(a, 2)"),
    ("ln(a)+log2(a)+LOG10(a)", "ln(a) + log2(a) + log10(a)"),
    ("a - (b - c) - d", "a - (b - c) - d"),
    ("a / (b * c) * d", "a / (b * c) * d"),
    ("- - 1", "1"),
    ("-a * -1", "-a * -1"),
    ("-(-a)", "-(-a)"),
    ("+a", "a"),
    (".5 + 5. + 1_000", "0.5 + 5 + 1000"),
    ("a == 1 and b != 2", "a = 1 AND b <> 2"),
    ("NOT a = 1 OR b", "NOT a = 1 OR b"),
    ("NOT (a OR b) AND c", "NOT (a OR b) AND c"),
    ("(a AND b) AND (c AND d)", "a AND b AND c AND d"),
    ("a between 1 and 2 and b", "a >= 1 AND a <= 2 AND b"),
    ("a not between 1 and 2", "NOT (a >= 1 AND a <= 2)"),
    ("a not in (1, -2)", "a NOT IN (1, -2)"),
    ("a not in [1, -2]", "a NOT IN (1, -2)"),
    ("a is not null", "a IS NOT NULL"),
    ("a + 1 is null", "a + 1 IS NULL"),
    ("case a when 1 then 2 when 3 then 4 end", "CASE WHEN a = 1 THEN 2 WHEN a = 3 THEN 4 END"),
    ("case when a then 1 else null end", "CASE WHEN a THEN 1 END"),
    ("date '2020-01-31' < d", "DATE '2020-01-31' < d"),
    ("timestamp '2020-01-31T10:00' < d", "TIMESTAMP '2020-01-31 10:00:00' < d"),
    ('\'it\'\'s\' = "a ""b"""', '\'it\'\'s\' = "a ""b"""'),
    ("date = 1", '"date" = 1'),
    ("TRUE and false or Null", "TRUE AND FALSE OR NULL"),
]


@pytest.mark.parametrize(("text", "meaning"), SPELLINGS)
def test_an_expression_has_one_spelling_that_reads_back(text: str, meaning: str) -> None:
    assert canonical(parse(text)) == meaning
    assert parse(meaning) == parse(text)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("count(*)", "count", "one record alone"),
        ("max(a)", "max", "greatest(a, b)"),
        ("a > (select 1)", "select", "subquery"),
        ("a in (select b from t)", "select", "subquery"),
        ("abs(a) over (partition by b)", "over", "other records"),
        ("random()", "random", "random"),
        ("now()", "now", "not part of the record"),
        ("current_date > d", "current_date", "DATE '2020-01-31'"),
        ("sqrrt(a)", "sqrrt", "Did you mean sqrt?"),
        ("foo(a)", "foo", "The functions are least"),
        ('"abs"(a)', '"abs"', "not a function"),
        ("log(a)", "log", "log10"),
        ("log(2, a)", "log", "log2"),
        ("iff(a, 1, 2)", "iff", "CASE"),
        ("if(a, 1, 2)", "if", "CASE"),
        ("cast(a as blob)", "blob", "type"),
        ("cast(a as decimal(9, 2))", "decimal", "type"),
        ("cast(a as varchar(9))", "(", "lengths"),
        ("to_date(a)", "to_date", "conversions"),
        ("a::int", "::", "CAST"),
        ("a::int", "::", "conversions"),
        ("int '5'", "'5'", "conversions"),
        ("$1 + a", "$", "parameters"),
        ("a = ?", "?", "parameters"),
        ("*", "*", "not part of the language"),
        ("greatest(a, *)", "*", "not part of the language"),
        ("a // 2", "//", "floor"),
        ("round(a, b)", "b", "constant"),
        ("round(a, 16)", "16", "digits"),
        ("a // 2", "//", "integer division"),
        ("a ^ 2", "^", "power(a, b)"),
        ("a ** 2", "**", "power(a, b)"),
        ("@a", "@", "sign"),
        ("a | b", "|", "sign"),
        ("concat(a, b)", "concat", "a || b"),
        ("[a]", "[", "sign"),
        ("a like b", "b", "constant"),
        ("a like 'x!' escape '!'", "'x!'", "ends in its escape"),
        (f"a like '{'_' * 1_001}'", f"'{'_' * 1_001}'", "1,000 characters"),
        ("a like 'x' escape '!!'", "'!!'", "one character"),
        ("a similar to 'x'", "similar", "LIKE"),
        ("a ~ 'x'", "~", "LIKE"),
        ("regexp_matches(a, 'x')", "regexp_matches", "LIKE"),
        ("a is 1", "1", "NULL, TRUE and FALSE"),
        ("d at time zone 'UTC'", "at", "UTC"),
        ("trim(both 'x' from a)", "both", "ltrim"),
        ("extract(epoch from d)", "epoch", "parts"),
        ("date_trunc('fortnight', d)", "'fortnight'", "month"),
        ("date_diff('week', c, d)", "'week'", "/ 7"),
        ("d + interval '1 fortnight'", "interval '1 fortnight'", "days"),
        ("d + interval '1.5 days'", "interval '1.5 days'", "whole"),
        ("lowercase(a)", "lowercase", "Did you mean lower?"),
        ("a is distinct from b", "distinct", "IS NULL"),
        ("abs(distinct a)", "a", "does not fit"),
        ("accounts.balance", "accounts.balance", "without their table"),
        ("d.isna()", "d.isna", "Write d IS NULL."),
        ('"net worth".fillna(0) > 1', '"net worth".fillna', 'Write coalesce("net worth", 0).'),
        ("job.str.startswith('ch')", "job.str", "Write starts_with(job, 'text')"),
        ("(b - a).dt.days > 3", ").dt", "a - b is in days"),
        ("a in [1, 2)", ")", "does not fit"),
        ("a in [1", "1", "not closed"),
        ("a in []", "a in []", "IN needs a list"),
        ("a] = 1", "]", "does not fit"),
        ("a in ()", "a in ()", "IN needs a list"),
        ("a in (b)", "b", "IN needs a list"),
        ("a in (1, null)", "", "IN needs a list"),
        ("a in b", "a in b", "IN needs a list"),
        ("greatest(a)", "greatest(a)", "two or more"),
        ("abs(a, b)", "abs(a, b)", "one argument"),
        ("power(a)", "power(a)", "two arguments"),
        ("abs()", "abs()", "one argument"),
        ("a +", "+", "missing"),
        ("(a", "a", "not closed"),
        ("case when a then 1", "1", "not closed"),
        ("a b", "b", "does not fit"),
        ("a as b", "as", "does not fit"),
        ("0x10", "0x10", "not a number"),
        ("1not", "1not", "not a number"),
        (". 1.", ".", "not a number"),
        (". 1", ".", "not a number"),
        (".1.", ".1.", "not a number"),
        ("a + .", ".", "not a number"),
        ("a = b is null", "is", "two ways"),
        ("a < b < c", "<", "two ways"),
        ("a = b in (1)", "in", "two ways"),
        ("a between 1 and 2 is not null", "is", "two ways"),
        ("a is null not in (1)", "not", "two ways"),
        ("a is null + b", "+", "two ways"),
        ("a in (1) * b", "*", "two ways"),
        ("a = not b", "not", "parentheses"),
        ("- not a", "not", "parentheses"),
        ("a not", "not", "missing"),
        ("a not = 1", "=", "does not fit"),
        ("in + a", "in", "missing"),
        ("a and and b", "and", "missing"),
        ("case end", "case", "CASE needs a WHEN"),
        ("case when a end", "end", "does not fit"),
        ("a in (1", "1", "not closed"),
        ("a)", ")", "does not fit"),
        ("1e", "1e", "not a number"),
        ("1e400", "1e400", "outside the range"),
        ("a < 1e-400", "1e-400", "outside the range"),
        ("date '2020-02-30'", "'2020-02-30'", "not a date"),
        ("date '2020-01-31 10:00'", "'2020-01-31 10:00'", "not a date"),
        ("timestamp '2020-01-31 10:00+02'", "'2020-01-31 10:00+02'", "without a zone"),
        ("a; drop table t", ";", "only one expression"),
        ("a -- more", "-- more", "comments"),
        ("a /* more */ + 1", "/* more */", "comments"),
        ("{# more #} a", "{# more #}", "comments"),
        ("a = 'b", "'b", "does not end"),
        ('a = "b', '"b', "does not end"),
        ("", "", "empty"),
        ("  ", "  ", "empty"),
        ("-- nothing", "-- nothing", "empty"),
        ("a = 'x\0y'", "?", "character"),
    ],
)
def test_a_refusal_underlines_the_place_and_says_why(text: str, place: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    start, end = caught.value.span
    if place:
        assert caught.value.text[start:end] == place
    assert message in str(caught.value)
    assert isinstance(caught.value, InvalidRequest)


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(ExpressionError):
        parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "nested",
    [
        "(" * 33 + "a" + ")" * 33,
        "a in [" * 33 + "1" + "]" * 33,
        "abs(" * 33 + "a" + ")" * 33,
        "case when a then " * 33 + "1" + " end" * 33,
        "not " * 33 + "a",
        "- " * 33 + "a",
        "(-" * 17 + "a" + ")" * 17,
        "(" * 5_000,
        "case " * 2_000,
        "not a = " * 1_000 + "a",
        "+".join("a" * 129),
        "(" * 20 + "+".join("a" * 100) + ")+a" * 20 + "+a" * 100,
        "a + " * 2_600,
    ],
)
def test_what_nests_too_deep_or_is_too_long_is_refused(nested: str) -> None:
    with pytest.raises(ExpressionError):
        parse(nested)


@pytest.mark.parametrize(
    "nested",
    [
        "(" * 32 + "a" + ")" * 32,
        "abs(" * 32 + "a" + ")" * 32,
        "least(1, " * 32 + "a" + ")" * 32,
        "case when a > 0 then " * 32 + "1" + " end" * 32,
        "+".join("a" * 128),
        " and ".join(["a"] * 1_200),
        f"a in ({','.join('1' * 4_000)})",
    ],
)
def test_what_nests_32_levels_or_is_merely_long_is_read_whoever_asks(nested: str) -> None:
    def deep_in_a_program(frames: int) -> Node:
        return deep_in_a_program(frames - 1) if frames else parse(nested)

    room = sys.getrecursionlimit() - 450
    assert canonical(deep_in_a_program(room)) == canonical(parse(nested))


def test_repeating_by_between_cannot_make_a_small_text_a_large_tree() -> None:
    text = "a"
    for _ in range(30):
        text = f"case when {text} between 1 and 2 then 1 else 2 end"
    with pytest.raises(ExpressionError, match="says too much"):
        parse(text)


def test_a_tree_with_more_constants_than_a_text_has_room_for_is_too_large() -> None:
    longest = f"a in ({','.join('1' * 4_996)})"
    assert len(longest) <= MAX_CHARACTERS
    assert len(longest) + 2 * (MAX_CONSTANTS - 4_996) > MAX_CHARACTERS
    ones = tuple(Number(1.0) for _ in range(MAX_CONSTANTS + 1))
    assert not too_large(parse(longest))
    assert not too_large(InList(Column("a"), ones[1:]))
    assert too_large(InList(Column("a"), ones))


WORDS = r"""
    a b x y 1 2.5 1e3 't' "q" ( ) ( ) , + - * / = <> < >= . ; -- /* % :: $1 ? {{ }} [ ] @ # é
    and or not is null true in between case when then else end date timestamp least abs power log2 sum
    select from over distinct interval cast as exists any if call set order by map values with struct
    filter like escape collate show create table
"""
words = st.sampled_from([*WORDS.split(), "\n"])


@quick
@given(text=st.one_of(st.text(max_size=40), st.text("ab1 .+-*/()'\"<>=,;:{}[]#%", max_size=40)))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refused(text)


@settings(quick, max_examples=400)
@given(soup=st.lists(words, max_size=14))
def test_any_soup_of_words_is_read_or_refused(soup: list[str]) -> None:
    read_or_refused(" ".join(soup))


PIECES = re.compile(r"'[^']*'|\"[^\"]*\"|\w+|\s+|[^\w\s]")


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """Draw a text that is nearly an expression: one or two that are, cut up, spliced and repeated."""
    texts = draw(st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=2))
    pieces = [piece for text, _ in texts for piece in PIECES.findall(text)]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(pieces)))
        end = min(len(pieces), start + draw(st.integers(0, 3)))
        cut = pieces[start:end]
        times = draw(st.sampled_from([2, 3, 40, 900]))
        changes: list[list[str]] = [
            [],
            cut * times,
            cut[::-1],
            [*cut, draw(words)],
            [piece.swapcase() for piece in cut],
        ]
        pieces[start:end] = draw(st.sampled_from(changes))
    return "".join(pieces)


@settings(quick, max_examples=400)
@given(text=mutants())
def test_anything_near_an_expression_is_read_or_refused(text: str) -> None:
    read_or_refused(text)


def read_or_refused(text: str) -> None:
    try:
        node = parse(text)
    except ExpressionError as refusal:
        start, end = refusal.span
        assert 0 <= start <= end <= len(refusal.text)
        assert str(refusal).startswith(str(refusal.reason))
        return
    try:
        assert parse(canonical(node)) == node
    except ExpressionError as refusal:  # - - a is spelled -(-a): a little longer, and deeper
        assert str(refusal).startswith(("this nests", "the expression has more"))


@quick
@given(node=st.one_of(numbers(), conditions(), library_numbers()))
def test_the_canonical_text_of_any_tree_reads_back_as_that_tree(node: Node) -> None:
    assert parse(canonical(node)) == node


def test_every_word_that_the_engine_knows_can_name_a_column() -> None:
    for (word,) in duckdb.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall():
        column = Column(word)
        for node in (column, Compare("=", column, Number(1.0)), Case(((column, column),), column)):
            assert parse(canonical(node)) == node


SIGNS = [*ARITHMETIC, *COMPARISONS, "and", "or", "and not", "or not", "is null and", "is null or", "/ -"]
pairs = st.tuples(st.sampled_from(["a", "b", "least(a, b)"]), st.sampled_from(SIGNS))


@settings(quick, max_examples=300)
@given(pieces=st.lists(pairs, min_size=2, max_size=5))
def test_what_is_read_binds_as_it_does_in_the_engine(pieces: list[tuple[str, str]]) -> None:
    text = " ".join(word for piece in pieces for word in piece) + " c"
    try:
        node = parse(text)
    except ExpressionError:
        return
    assert engine_tree(text) == engine_tree(in_parentheses(node))


def in_parentheses(node: Node) -> str:
    """Return the text of a tree with everything in parentheses that can be."""
    match node:
        case Negate():
            return f"(- {in_parentheses(node.operand)})"
        case Not():
            return f"(NOT {in_parentheses(node.operand)})"
        case IsNull():
            return f"({in_parentheses(node.operand)} IS NULL)"
        case Arithmetic() | Compare():
            return f"({in_parentheses(node.left)} {node.op} {in_parentheses(node.right)})"
        case And() | Or():
            return f"({f' {type(node).__name__} '.join(map(in_parentheses, node.parts))})"
        case _:
            return canonical(node)


def engine_tree(text: str) -> object:
    (serialised,) = duckdb.execute("SELECT json_serialize_sql(?)", [f"SELECT {text}"]).fetchall()
    tree = json.loads(serialised[0])
    assert not tree["error"], text
    return without_places(tree)


def without_places(tree: object) -> object:
    if isinstance(tree, dict):
        return {k: without_places(v) for k, v in tree.items() if not k.startswith("query_location")}
    return [without_places(part) for part in tree] if isinstance(tree, list) else tree
