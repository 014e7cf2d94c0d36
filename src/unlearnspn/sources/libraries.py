"""Libraries that only some sources need: loaded when they are, or named with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Packages that are called otherwise than the modules in them.
_PACKAGES = {
    "MySQLdb": "mysqlclient",
    "cx_Oracle": "cx-Oracle",
    "mysql": "mysql-connector-python",
    "psycopg": "psycopg[binary]",
    "psycopg2": "psycopg2-binary",
}


def load_library(module: str, purpose: str, extra: str) -> Any:
    """Import a module, or say what has to be installed."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ImportError(f"{purpose} need {name}: pip install 'unlearnspn[{extra}]'") from error


def package_of(module: str) -> str:
    """Return the package that has a module, as it is installed.

    >>> package_of("MySQLdb"), package_of("mysql.connector"), package_of("oracledb")
    ('mysqlclient', 'mysql-connector-python', 'oracledb')
    """
    name = module.partition(".")[0]
    return _PACKAGES.get(name, name)
