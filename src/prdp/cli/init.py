"""``prdp init``: asks what must be declared of a table, or takes it from options, and writes prdp.toml."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line, in_toml
from prdp.cli.messages import complain, plain, write
from prdp.cli.policy_facts import LARGE, warned
from prdp.cli.table_options import KNOWN, columns_of, tables_here
from prdp.declare.exact import exact
from prdp.engines.sources.public_file import guessed_types
from prdp.engines.sources.text_files import parted_otherwise
from prdp.errors import ExpressionError, InvalidRequest, PolicyError, PrdpError
from prdp.projects.fields import public_text, table_text
from prdp.projects.project import project
from prdp.projects.toml_file import NAME, listed
from prdp.schema import Kind

_FLOATS = ("DOUBLE", "FLOAT", "REAL")
_SHOWN = 10  # files
_TEXT = "VARCHAR"
_TYPES_LIKE = typer.Option(
    "--types-like",
    help="Records to guess the types of a CSV file's columns from: public or made-up ones, or the file "
    "itself if what its values look like is public.",
    metavar="FILE",
    show_default=False,
)

_PUBLIC = typer.Option(
    "--public",
    help="A public CSV or Parquet file that statements can join, such as regions.csv.",
    metavar="FILE",
    autocompletion=tables_here,
    show_default=False,
)


@at_the_command_line
def init(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A file, a Delta or Iceberg folder, or a table of --database.",
            metavar="FILE",
            autocompletion=tables_here,
            show_default=False,
        ),
    ] = None,
    *,
    table_name: Annotated[str | None, given.TABLE_NAME] = None,
    database: Annotated[str | None, given.DATABASE] = None,
    policy: Annotated[str | None, given.POLICY] = None,
    at_most: Annotated[str | None, given.AT_MOST] = None,
    at_least: Annotated[str | None, given.AT_LEAST] = None,
    notion: Annotated[str | None, given.NOTION] = None,
    bounds: Annotated[list[str] | None, given.BOUNDS] = None,
    round_to: Annotated[list[str] | None, given.ROUND_TO] = None,
    types: Annotated[list[str] | None, given.TYPES] = None,
    keys: Annotated[list[str] | None, given.KEYS] = None,
    privacy_unit: Annotated[str | None, given.PRIVACY_UNIT] = None,
    max_rows: Annotated[int | None, given.MAX_ROWS] = None,
    public: Annotated[list[Path] | None, _PUBLIC] = None,
    ledger: Annotated[str | None, given.LEDGER] = None,
    types_like: Annotated[Path | None, _TYPES_LIKE] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a prdp.toml that is there.")] = False,
) -> None:
    """Write prdp.toml: a table, its policy, bounds and public keys.

    Asks in a terminal what options leave open. Reads the columns' names and types; records of --types-like
    alone.
    """
    if Path(NAME).exists() and not force:
        raise InvalidRequest(f"there is a {NAME} here already. Edit it, or write over it with --force.")
    asks = sys.stdin.isatty() and policy is None
    if source is None and asks:
        source = _asked_for_source(database)
    if source is None:
        raise InvalidRequest("say which file or table: prdp init accounts.parquet --policy '1'")
    columns = _columns(source, table_name, database)
    options: dict[str, Any] = {
        "at_most": at_most,
        "at_least": at_least,
        "notion": notion,
        "privacy_unit": privacy_unit,
        "max_rows": max_rows,
        "ledger": ledger,
    }
    options |= {"bounds": bounds or (), "round_to": round_to or (), "types": types or (), "keys": keys or ()}
    declared = given.entry(source, policy or "1", table_name=table_name, database=database, **options)
    guessed = {} if types_like is None else guessed_types(types_like)
    texts = _add_types(declared, columns, guessed, asks=asks)
    if asks:
        _ask_the_rest(declared, columns)
    name = given.name_of(source, declared.get("table"))
    joined = _public_tables(public or (), name)
    given.project_of(name, declared, public=joined).refuse_private(name)
    if not asks:  # what was typed in a dialogue is kept, also where something in it is wrong
        _refuse_invalid(name, declared, texts)
    _write(name, declared, joined)
    if texts:
        write(_taken_for_text(texts))
    if policy is None and not asks:
        write("The policy is 1, the same budget for every record: change it if some need more protection.")
    _try(name)


def _asked_for_source(database: str | None) -> str:
    question = "Which table of the database" if database else "Which file holds the table"
    return _asked(question, check=lambda text: _columns(text, None, database))


def _columns(source: str, table_name: str | None = None, database: str | None = None) -> dict[str, str]:
    """Return the columns of a file or a table and their types, or refuse what is none."""
    if database is not None:
        name = given.name_of(source, source)
        facts = given.project_of(name, given.entry(source, "1", database=database)).facts(name)
        return {name: kind.native for name, kind in facts.schema.items() if kind.kind is not Kind.OTHER}
    given.refuse_nameless(source, table_name)
    if "*" not in source and "://" not in source and not Path(source).exists():
        raise InvalidRequest(f"there is no file {source}.{_files_here()}")
    found = columns_of(source, table_name)
    if parted := parted_otherwise(list(found)):
        raise InvalidRequest(f"{source}: {parted}")
    return found


def _files_here() -> str:
    found = sorted(path.name for path in Path().iterdir() if path.name.endswith(KNOWN))
    return f" Here are {', '.join(found[:_SHOWN])}." if found else ""


def _add_types(
    declared: dict[str, Any], columns: dict[str, str], guessed: dict[str, str], *, asks: bool
) -> list[str]:
    """Give every column of a CSV file a type, and return the columns of which nothing was known.

    Options come first, then what was guessed, then a number where there are bounds, else text.
    """
    if any(columns.values()):
        return []
    types, unknown = dict(declared.get("types", {})), []
    bounded = {name.lower() for name in declared.get("bounds", {})}
    for name in columns:
        if name in types:
            continue
        if asks and name.lower() not in bounded:
            words = given.TYPE_WORDS
            near = next((word for word, kind in words.items() if kind == guessed.get(name)), "text")
            kind = _asked(f"What does {name} hold ({', '.join(words)})?", near, choices=words)
            types[name] = words[kind]
        elif name in guessed:
            types[name] = guessed[name]
        elif name.lower() in bounded:
            types[name] = _number_type(declared.get("round_to", {}).get(name))
        else:
            types[name] = _TEXT
            unknown.append(name)
    declared["types"] = types
    return unknown


def _public_tables(files: Sequence[Path], name: str) -> dict[str, str]:
    """Return public files by the names that they have in statements."""
    found = {given.name_of(str(file)): str(file) for file in files}
    if missing := [file for file in files if not file.is_file()]:
        raise InvalidRequest(f"--public {missing[0]}: there is no such file.")
    if name in found or len(found) < len(files):
        raise InvalidRequest("--public needs files whose names differ from each other and from the table's.")
    return found


def _refuse_invalid(name: str, declared: dict[str, Any], texts: list[str]) -> None:
    """Refuse options that declare no table, before anything is written."""
    try:
        given.project_of(name, declared).facts(name)
    except ExpressionError:
        untyped = [column for column in texts if re.search(rf"\b{re.escape(column)}\b", declared["policy"])]
        if not untyped:
            raise
        which = f"{listed(untyped)} {'are' if len(untyped) > 1 else 'is'}"
        words = " ".join(f"--type {quote(f'{column}=number')}" for column in untyped)
        raise InvalidRequest(
            f"the policy {declared['policy']} needs numbers, and {which} read as text: a CSV file has no "
            f"types. Add {words}, or have all types guessed: --types-like sample.csv"
        ) from None


def _taken_for_text(names: list[str]) -> str:
    """Report which columns are read as text, and how to change that."""
    which = f"{listed(names)} are" if len(names) > 1 else f"{names[0]} is"
    return plain(
        f"{which} read as text: a CSV file has no types, and no record was read. If that is wrong, "
        f"write --type {quote(f'{names[0]}=integer')}, or have it guessed: --types-like sample.csv"
    )


def _number_type(round_to: str | None) -> str:
    digits = len(round_to.partition(".")[2]) if round_to else 0
    return f"DECIMAL(18,{digits})" if digits else "DOUBLE"


def _ask_the_rest(declared: dict[str, Any], columns: dict[str, str]) -> None:
    """Ask for what no option gave."""
    write(f"Columns: {plain(', '.join(columns))}")
    kinds = declared.get("types") or columns
    numbers = [name for name in columns if not kinds[name].startswith((_TEXT, "DATE", "TIME", "BOOL"))]
    example = (numbers or ["balance"])[0]
    near = 10 if kinds.get(example, "").endswith("INT") else 1000
    write("The budget of a record, public, as SQL over its columns: 1 for everybody alike, or for instance")
    write(f"{near} / greatest(abs({plain(example)}), {near}): 1 up to {near:,}, half of it at {2 * near:,}.")
    write("A record whose policy is unknown, because a value is missing, is left out of every answer.")
    declared["policy"] = _asked("Policy?", "1", check=lambda text: _check_policy(declared, text))
    for name in numbers:
        _ask_bounds(declared, name, is_float=kinds[name].startswith(_FLOATS))
    for name in (name for name in columns if name not in numbers):
        _ask_keys(declared, name)
    _ask_at_most(declared)
    privacy_unit = _asked(
        "Which column says whose row it is (none: every row is a record of its own)?",
        "none",
        choices=["none", *columns],
    )
    if privacy_unit != "none":
        declared["privacy_unit"] = privacy_unit
        write("A limit of a unit's rows narrows its intervals; what a unit adds beyond it is cut off.")
        limit = _asked(f"How many rows of one {privacy_unit} count (none: all)?", "none", check=_check_rows)
        if limit != "none":
            declared["max_rows"] = int(limit)


def _check_rows(text: str) -> None:
    if text != "none" and not (text.isdecimal() and int(text) >= 1):
        raise InvalidRequest("a limit of rows is a whole number from 1 on: write 20, or none.")


def _check_policy(declared: dict[str, Any], text: str) -> None:
    """Refuse a policy that cannot be read; whether it fits the bounds is seen when these are known."""
    name = given.name_of(declared["source"], declared.get("table"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given.project_of(name, declared | {"policy": text}).facts(name)
    except ExpressionError:
        raise
    except PrdpError:
        return


def _ask_at_most(declared: dict[str, Any]) -> None:
    """Ask for the largest budget where the policy and the bounds leave it open, or leave it large."""
    name = given.name_of(declared["source"], declared.get("table"))

    def wrong_with_it() -> str:
        """Return what is wrong with the largest budget; empty where nothing is."""
        try:
            return warned(given.project_of(name, declared).facts(name).policy)
        except PolicyError as error:
            return str(error) if "at_most" in error.arguments else ""
        except PrdpError:  # reported when the file is tried
            return ""

    if "at_most" in declared or not (wrong := wrong_with_it()):
        return
    write(plain(wrong[:1].upper() + wrong[1:]))
    answer = _asked("The largest budget of any record (none: as it is)?", str(LARGE), check=_check_budget)
    if answer != "none":
        declared["at_most"] = answer


def _check_budget(text: str) -> None:
    if text != "none" and exact(text, "the largest budget") <= 0:
        raise InvalidRequest(f"a budget is more than 0: write {LARGE}, or none.")


def _ask_bounds(declared: dict[str, Any], name: str, *, is_float: bool) -> None:
    """Ask for a number column's bounds; those of floats may be followed by what values are rounded to."""
    options: dict[str, Any] = {}

    def read(text: str) -> None:
        options.clear()
        if text == "none":
            return
        low, high, round_to = (*text.split(":"), "", "")[:3]
        if not high or exact(low, "the least value") > exact(high, "the greatest value"):
            raise InvalidRequest(f"{text} has no least and greatest value: write 0:1e9, or none.")
        if round_to and exact(round_to, "the rounding step") <= 0:
            raise InvalidRequest(f"the rounding step {round_to} is not more than 0: write 0.01 for cents.")
        rounding = [f"{name}={round_to}"] if round_to else []
        options.update(given.entry("", "", bounds=[f"{name}={low}:{high}"], round_to=rounding))

    asked = ", such as 0:1e9, or 0:1e9:0.01 to round to 0.01" if is_float else ", such as 0:1e9"
    _asked(f"Public bounds of {name}{asked} (none: not added up)?", "none", check=read)
    for key in ("bounds", "round_to"):
        if key in options:
            declared.setdefault(key, {}).update(options[key])


def _ask_keys(declared: dict[str, Any], name: str) -> None:
    """Ask for a grouping column's public keys; a file that is not there is asked for again."""
    options: dict[str, Any] = {}

    def read(text: str) -> None:
        options.clear()
        if text != "none":
            options.update(given.entry("", "", keys=[f"{name}={text}"])["keys"])
            table = given.name_of(declared["source"], declared.get("table"))
            given.project_of(table, declared | {"keys": options}).keys_of(table)

    asked = "a file, one on each line, or a,b,c"
    _asked(f"Public keys of {name}, to group by: {asked} (none: no groups)?", "none", check=read)
    if options:
        declared.setdefault("keys", {}).update(options)


def _asked(
    question: str,
    default: str | None = None,
    choices: Collection[str] | None = None,
    check: Callable[[str], object] | None = None,
) -> str:
    """Ask until the answer is one of the choices and passes the check."""
    while True:
        answer = str(typer.prompt(question, default=default)).strip()
        if choices is not None and answer not in choices:
            complain(f"{plain(answer)} is none of {plain(', '.join(choices))}.")
            continue
        try:
            if check is not None:
                check(answer)
        except (PrdpError, OSError) as error:
            complain(str(error))
            continue
        return answer


def _write(name: str, declared: dict[str, Any], public: dict[str, str]) -> None:
    """Write the file."""
    text = "# Private tables. Editors complete it by its JSON Schema, which prdp check --schema prints.\n\n"
    with open(f"{NAME}.new", "w", encoding="utf-8") as file:
        file.write(text + table_text(name, declared))
        if public:
            file.write("\n" + public_text(public))
    os.replace(f"{NAME}.new", NAME)
    write(f"{NAME} is written: table {name}.")


def _try(name: str) -> None:
    """Try the file; one that does not open stays, with what is wrong in it."""
    try:
        facts = project(NAME).facts(name)
    except PrdpError as error:
        complain(f"{error.spelled(in_toml)}\nCorrect it in {NAME}, then run: prdp check")
        raise typer.Exit(2) from None
    if options := warned(facts.policy):
        complain(options)
    write(f'Next: prdp check, and then: prdp ask "SELECT COUNT(*) FROM {name}" --share 0.1')
