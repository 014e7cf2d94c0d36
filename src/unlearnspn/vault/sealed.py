"""What is stored in a vault, once its seal was checked; and the ledger alone, for which no model is loaded."""

from __future__ import annotations

from typing import NamedTuple

from unlearnspn.certificates import Envelope, PublicKey
from unlearnspn.storage.files import PathLike
from unlearnspn.vault.database import Database, resolve
from unlearnspn.vault.ledger import Ledger, entries
from unlearnspn.vault.pages import PageStore
from unlearnspn.vault.seal import check_seal


class Sealed(NamedTuple):
    """The end of the ledger, all pages, and the key that has signed both."""

    ledger: Ledger
    store: PageStore
    key: PublicKey


def read_sealed(database: Database) -> Sealed:
    """Read all pages and the end of the ledger, within a transaction; raise unless the seal is on them."""
    database.require_whole()
    ledger, store = Ledger.read(database), PageStore.read(database)
    return Sealed(ledger, store, check_seal(database, ledger, store.digest()))


def read_envelopes(database: Database, first: int = 0) -> list[Envelope]:
    """Return the entries of the ledger, from one on."""
    return [Envelope.decode(encoded) for encoded in entries(database, first)]


def read_ledger(path: PathLike, first: int = 0) -> list[Envelope]:
    """Return the entries of a vault's ledger, from one on; the seal is checked, and no model is loaded."""
    with Database.open(resolve(path)) as database, database.reading():
        read_sealed(database)
        return read_envelopes(database, first)
