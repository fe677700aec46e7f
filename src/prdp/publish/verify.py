"""Verify a publication: its signature, its files, and that ledgers hold the charges that paid for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prdp.declare.strict_json import strict_json
from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger import DurableLedger
from prdp.publish.charges import charge_facts
from prdp.publish.manifest import MANIFEST, PUBLIC_KEY, SIGNATURE, digests
from prdp.publish.signature import fingerprint, is_signed
from prdp.safety.plain_text import printable


@dataclass(frozen=True, slots=True)
class Finding:
    """A thing that was verified.

    Attributes:
        holds: Whether it holds; None where it could not be looked at.
        text: What was found.
    """

    holds: bool | None
    text: str


def verify(
    folder: Path | str,
    *,
    public_key: Path | str | None = None,
    ledgers: Mapping[str, Path | str] | None = None,
) -> list[Finding]:
    """Verify a publication, and return what was found.

    Args:
        folder: The publication.
        public_key: The office's public key, from elsewhere; else the one in the folder, which whoever changes
            the files could change as well.
        ledgers: For each private table by name, its ledger; of others, charges are not verified.
    """
    folder = Path(folder)
    try:
        content, signature = (folder / MANIFEST).read_bytes(), (folder / SIGNATURE).read_bytes()
        key = Path(public_key or folder / PUBLIC_KEY).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{folder} is no publication: {error.filename} cannot be read.") from None
    signed = is_signed(content, signature, key)
    where = "the key that was given" if public_key else "the key in the folder; compare it with the office's"
    found = [Finding(signed, f"{'signature' if signed else 'no signature'} by {fingerprint(key)}, {where}")]
    try:
        manifest = strict_json(content.decode())
        files, accounts = dict(manifest["files"]), list(manifest["accounts"])
        found += _edition(manifest, signed=signed)
        return [*found, *_files(folder, files), *_accounts(accounts, ledgers or {})]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [*found, Finding(False, f"{MANIFEST} is not one that prdp writes")]


def _edition(manifest: Mapping[str, Any], *, signed: bool) -> Iterator[Finding]:
    """Yield which publication it is: an earlier edition under another name has its own signature."""
    words = ", edition ".join(filter(None, (str(manifest["title"]), str(manifest["edition"]))))
    yield Finding(signed, printable(f"{words}, drawn on {manifest['drawn_at']}"))
    if manifest["simulated"]:
        yield Finding(None, "simulated: made-up records, not private, not for publication")


def _files(folder: Path, stated: Mapping[str, str]) -> Iterator[Finding]:
    there = digests(folder)
    for name in sorted({*stated, *there}):
        if name not in there:
            yield Finding(False, f"{printable(name)} is missing")
        elif name not in stated:
            yield Finding(False, f"{printable(name)} is not in the manifest")
        elif there[name] != stated[name]:
            yield Finding(False, f"{printable(name)} was changed")
    same = sum(there.get(name) == digest for name, digest in stated.items())
    yield Finding(same == len(stated), f"{same} of {len(stated)} files are as they were signed")


def _accounts(accounts: list[dict[str, Any]], ledgers: Mapping[str, Path | str]) -> Iterator[Finding]:
    for account in accounts:
        name, charges = account["table"], account["charges"]
        if name not in ledgers:
            yield Finding(
                None, f"{len(charges)} charges to {printable(name)}: give its ledger to compare them"
            )
            continue
        try:
            ledger = DurableLedger(ledgers[name], expected_head=account["head"])
        except LedgerError as error:
            yield Finding(False, f"the ledger of {printable(name)}: {error}")
            continue
        entries = {str(entry.number): entry for entry in ledger.entries}
        same = sum(
            charge == charge_facts(entries[str(charge["number"])])
            for charge in charges
            if str(charge["number"]) in entries
        )
        yield Finding(
            same == len(charges) and ledger.identity == account["identity"],
            f"{same} of {len(charges)} charges are in the ledger of {printable(name)}, with their answers",
        )
