"""The seal of a vault: a signature under the digest of all that is stored and the end of the ledger.

So nothing can be changed in the file without the private key, however consistently; and a model that somebody else has
made up is never loaded into compiled code.
"""

from __future__ import annotations

from unlearnspn.certificates import CertificateError, PublicKey, SigningKey
from unlearnspn.certificates.canonical import decode_base64, decode_json, encode_base64, encode_json
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.ledger import Ledger

_PURPOSE = b"unlearnspn vault seal 1\n"


def write_seal(database: Database, key: SigningKey, ledger: Ledger, pages: str) -> None:
    """Put a seal on what is stored, in place of the last one."""
    assert ledger.last is not None
    statement = encode_json(
        {
            "vault": ledger.vault,
            "entry": ledger.statement.link.entry,
            "ledger": ledger.last.digest,
            "pages": pages,
            "key": encode_base64(key.public.raw),
        }
    )
    # Not overwritten: a row of another length would leave traces of the one before.
    database.execute("DELETE FROM seal")
    database.execute("INSERT INTO seal VALUES (1, ?, ?)", (statement, key.sign(_PURPOSE + statement)))


def check_seal(database: Database, ledger: Ledger, pages: str) -> PublicKey:
    """Raise unless the seal is on what is stored; return the key that is in use."""
    found = list(database.rows("SELECT statement, signature FROM seal"))
    if len(found) != 1:
        raise DamagedVaultError(f"{database.path} is damaged: its seal is missing")
    ((statement, signature),) = found
    try:
        said = decode_json(bytes(statement), "the seal")
        key = PublicKey(decode_base64(said["key"], "the seal's key"))
    except (CertificateError, KeyError, TypeError, ValueError) as error:
        raise DamagedVaultError(f"{database.path} is damaged: {error}") from error
    if not isinstance(signature, bytes) or not key.verifies(_PURPOSE + statement, signature):
        raise DamagedVaultError(f"{database.path} is damaged: the signature of its seal does not fit")
    last = ledger.last
    assert last is not None
    expected = {"vault": ledger.vault, "entry": ledger.statement.link.entry, "ledger": last.digest, "pages": pages}
    for name, value in expected.items():
        if said.get(name) != value:
            what = {"pages": "what is stored", "ledger": "the last entry of the ledger"}.get(name, f"the {name}")
            raise DamagedVaultError(f"{database.path} is damaged: {what} is not what the seal says")
    if last.key_ids[-1:] != (key.id,) or not last.signed_by(key):
        raise DamagedVaultError(f"{database.path} is damaged: the last entry of the ledger is not signed by its key")
    return key
