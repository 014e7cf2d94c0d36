"""What an auditor can check with the vault in hand: everything, down to learning from scratch."""

from __future__ import annotations

from collections.abc import Iterator

from unlearnspn.certificates import Audit, Digests, Finding, PublicKey, check_chain
from unlearnspn.progress import Progress, tell
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.home import Home
from unlearnspn.vault.ledger import entries


def audit_vault(home: Home, key: PublicKey | None, head: str | None, relearn: bool, progress: Progress | None) -> Audit:
    """Read the vault anew and check all of it, in one state: once more if somebody changes it meanwhile."""
    home.forget()
    while True:
        try:
            tell(progress, "pages", 0)
            home.database.check()
            home.database.require_accounted()
            contents = home.contents()
        except DamagedVaultError as error:
            return Audit((Finding(False, "vault", str(error)),))
        tell(progress, "ledger", 0)
        with home.database.reading():
            if home.is_current():
                audit, check = check_chain(entries(home.database), key, head)
                break
    findings = [
        Finding(True, "file", "every byte of it belongs to the vault: tables, rows and nothing else"),
        Finding(True, "vault", "its pages and its seal are as they were written"),
        _finding(check.key == home.public_key, "seal", "the seal was made by the key that the ledger says is in use"),
        *_compare_with_ledger(home, contents),
    ]
    if relearn:
        tell(progress, "learning from scratch", 0)
        findings += _learn_from_scratch(contents)
    return audit + Audit.of(findings)


def _compare_with_ledger(home: Home, contents: Contents) -> Iterator[Finding]:
    statement = home.ledger.statement
    agrees = contents.commitments == statement.after and len(contents) == statement.counts.remaining
    yield _finding(agrees, "records", "records and model are those that the last entry speaks of")


def _learn_from_scratch(contents: Contents) -> Iterator[Finding]:
    if contents.learned is None:
        return
    fresh = contents.learned.model.relearn()
    same = Digests(*fresh.digests) == contents.digests
    yield _finding(
        same, "retraining", f"learning from scratch on the {len(contents):,} records held gives the same digests"
    )


def _finding(ok: bool, check: str, message: str) -> Finding:
    return Finding(ok, check, message if ok else f"it is not so that {message}")
