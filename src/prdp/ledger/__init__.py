"""Ledgers: what is spent is written down before any record is read, and never given back.

Losses add up record by record, and each question uses the same fraction of everybody's budget, so
one sum of fractions that must not pass 1 is the whole account. It says nothing about any record.
"""

from prdp.ledger.account import Charge, Entry, Ledger, Notes
from prdp.ledger.binding import Binding
from prdp.ledger.durable import DurableLedger
from prdp.ledger.memory import MemoryLedger
from prdp.ledger.no_account import NoAccount

__all__ = ["Binding", "Charge", "DurableLedger", "Entry", "Ledger", "MemoryLedger", "NoAccount", "Notes"]
