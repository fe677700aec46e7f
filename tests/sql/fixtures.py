"""The texts in ``texts/``, each with what becomes of it: a plan or an error that a person can check.

A file names its world in the first line. Then come blocks: a ``#`` line with a name, the SQL, and the
outcome:

``->`` lines say what is asked, of which rows and groups, and how each column is computed from the answers
(``a0`` is the first one, ``k0`` the first key). ``!!`` lines say why it is refused, and what is underlined.

``python -m tests.sql.fixtures`` prints all blocks with the outcomes of now, to be read and put there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import prdp
from prdp.expressions.nodes import canonical
from prdp.sql.catalog import read_public
from prdp.sql.days import Day
from prdp.sql.execute import explained, relations_of
from prdp.sql.grouping import SearchedKeys
from prdp.sql.margins import asked_margins
from prdp.sql.released_select import End, OutputClauses, PublicRows, ReleasedSelect, Union, Value
from prdp.sql.statement import Compiled, compiled
from tests.sql.worlds import WORLDS, World

FOLDER = Path(__file__).parent / "texts"


@dataclass(frozen=True, slots=True)
class Fixture:
    """One text and what becomes of it."""

    file: str
    world: str
    name: str
    text: str
    outcome: tuple[str, ...]

    @property
    def refused(self) -> bool:
        return self.outcome[:1] != () and self.outcome[0].startswith("!!")


def fixtures() -> list[Fixture]:
    return [fixture for path in sorted(FOLDER.glob("*.txt")) for fixture in read(path)]


def read(path: Path) -> Iterator[Fixture]:
    head, *blocks = path.read_text(encoding="utf-8").strip().split("\n\n# ")
    world = head.splitlines()[0].removeprefix("world: ")
    for block in blocks:
        name, *lines = block.splitlines()
        marks = ("-> ", "!! ")
        text = "\n".join(line for line in lines if not line.startswith(marks))
        outcome = tuple(line for line in lines if line.startswith(marks))
        yield Fixture(path.stem, world, name, text, outcome)


@cache
def opened(name: str) -> Any:
    """Return a world's tables, opened once: plans depend on public facts alone."""
    world = WORLDS[name]
    return world.opened(world.made(np.random.default_rng(0)), prdp.Policy.constant(1))


def outcome_of(fixture: Fixture) -> tuple[str, ...]:
    """Return what becomes of a text now, by the lines of its block."""
    world, queryable = WORLDS[fixture.world], opened(fixture.world)
    try:
        asked = compiled_in(world, queryable, fixture.text)
        explained(
            fixture.text, queryable, queryable._catalog, share="1/10", keys=world.keys, tables=world.public
        )
    except prdp.errors.SqlError as wrong:
        start, end = wrong.span
        underlined = wrong.text[start : min(end, start + 70)].split("\n")[0]
        return (f"!! {str(wrong).splitlines()[0]}", f"!! {underlined}")
    except prdp.InvalidRequest as wrong:
        return (f"!! {str(wrong).splitlines()[0]}",)
    return tuple(_lines(asked))


def compiled_in(world: World, queryable: Any, text: str) -> Any:
    catalog = queryable._catalog
    public = read_public(dict(world.public), catalog.tables)
    return compiled(text, queryable, catalog, public=public, keys=dict(world.keys))


def _lines(tree: Any) -> Iterator[str]:
    selects = [each for each in relations_of(tree) if isinstance(each, Compiled)]
    known = list({id(each): each for each in selects}.values())
    if tree is known[0]:
        yield from _asked(tree)
        yield from _ended(tree.tail)
        return
    for place, each in enumerate(known):
        yield f"-> q{place}:"
        yield from (f"->   {line[3:]}" for line in (*_asked(each), *_ended(each.tail)))
    yield from _composed(tree, {id(each): f"q{place}" for place, each in enumerate(known)})


def _composed(tree: Any, named: dict[int, str]) -> Iterator[str]:
    match tree:
        case ReleasedSelect():
            sources = ", ".join(_called(source.relation, named) for source in tree.sources)
            joined = [held.text for source in tree.sources for held in source.on]
            yield f"-> over {sources}" + (f" on {' and '.join(joined)}" if joined else "")
            if tree.where is not None:
                yield f"-> where {tree.where.text}"
            if tree.by:
                yield f"-> by {', '.join(one.text for one in tree.by)}"
            for name, fold in tree.folds.items():
                held = f" where {fold.held.text}" if fold.held is not None else ""
                of = "" if fold.argument is None else fold.argument.text
                yield f"-> {name}: {fold.function}({of}){held}"
        case Union():
            yield f"-> {_called(tree.left, named)} and {_called(tree.right, named)}"
    yield from _ended(tree.tail)


def _called(relation: Any, named: dict[int, str]) -> str:
    if id(relation) in named:
        return named[id(relation)]
    if isinstance(relation, PublicRows):
        return f"{len(relation.rows)} public rows"
    return "(" + "; ".join(line[3:] for line in _composed(relation, named)) + ")"


def _asked(asked: Compiled) -> Iterator[str]:
    if not asked.queries:
        yield "-> asks nothing"
        return
    assert asked.queryable is not None
    planner = asked.queryable.planner
    words = ", ".join(str(query.known(planner.schema)) for query in asked.queries)
    over = f" over {', '.join(planner.over)}" if planner.over else ""
    where = f" where {canonical(planner.where)}" if planner.where is not None else ""
    by = ", ".join(item.text for item in asked.groups)
    found = isinstance(asked.keys, SearchedKeys)
    keys = f" by {by} ({'keys to be found' if found else f'{len(asked.keys)} keys'})" if by else ""
    yield f"-> asks {words}{over}{where}{keys}"
    for margin, (part, _) in asked_margins(asked).items() if asked.margins else ():
        named = ", ".join(item.text for item in part.groups) or "all"
        yield f"->   margin {margin} by {named}"


def _ended(tail: OutputClauses) -> Iterator[str]:
    def text_of(checked: Any) -> str:
        text: str = checked.text
        for name, extra in tail.extras.items():
            text = text.replace(name, _extra(extra, text_of)) if name in text else text
        return text

    for item in tail.items:
        yield f"-> {item.name} = {text_of(item.checked)}"
    if tail.having is not None:
        yield f"-> having {text_of(tail.having)}"
    if tail.qualify is not None:
        yield f"-> qualify {text_of(tail.qualify)}"
    if tail.order:
        yield "-> order " + ", ".join(
            f"{text_of(o.checked)}{' desc' if o.descending else ''}" for o in tail.order
        )
    if tail.limit is not None or tail.offset:
        yield f"-> rows {tail.offset} to {'the end' if tail.limit is None else tail.offset + tail.limit}"


def _extra(extra: Any, text_of: Any) -> str:
    match extra:
        case End():
            return f"{('low', 'high')[extra.end]}({text_of(extra.checked)})"
        case Value():
            return "(a subquery)"
        case Day():
            number = f"{extra.answer.name} days {'before' if extra.before else 'after'}"
            return f"{number} {extra.start.date()}" + (f", at most {extra.most}" if extra.most else "")
        case _:
            parts = ["" if extra.argument is None else text_of(extra.argument)]
            by = f"by {', '.join(map(text_of, extra.by))}" if extra.by else ""
            sort = [f"{text_of(o.checked)}{' desc' if o.descending else ''}" for o in extra.order]
            order = f"order {', '.join(sort)}" if sort else ""
            over = " ".join(filter(None, (by, order)))
            return f"{extra.function}({', '.join(parts)}) over ({over})"


def main() -> None:
    """Write every block with its outcome of now into the files that are named, or into all."""
    for path in [FOLDER / name for name in sys.argv[1:]] or sorted(FOLDER.glob("*.txt")):
        found = list(read(path))
        blocks = [f"# {f.name}\n{f.text}\n" + "\n".join(outcome_of(f)) for f in found]
        head = path.read_text(encoding="utf-8").split("\n\n# ", maxsplit=1)[0]
        path.write_text("\n\n".join([head, *blocks]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
