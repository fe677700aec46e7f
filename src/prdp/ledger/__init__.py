"""Ledgers: what is spent is written down before any record is read, and never given back.

Losses add up record by record, and each question uses the same fraction of the budget of all that it can be
about. So the fractions that were charged to any one content must not add up to more than 1; without fixed
columns, that is one sum. It is decided by public texts, and says nothing about any record.
"""

from prdp.ledger.account import Charge, Entry, Ledger, Notes, Wanted
from prdp.ledger.binding import Binding
from prdp.ledger.durable import DurableLedger
from prdp.ledger.memory import MemoryLedger, NoAccount
from prdp.ledger.storage import Beside, is_begun, shown_place

__all__ = [
    "Beside",
    "Binding",
    "Charge",
    "DurableLedger",
    "Entry",
    "Ledger",
    "MemoryLedger",
    "NoAccount",
    "Notes",
    "Wanted",
    "is_begun",
    "shown_place",
]
