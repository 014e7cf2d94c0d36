"""The command line: thin commands over `Vault` and the certificates; nothing heavy is imported before it is needed."""

from unlearnspn.cli.app import app

__all__ = ["app"]
