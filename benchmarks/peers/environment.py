"""Environments for the peers: virtual ones, with pinned versions, made once and kept in a cache folder.

python -m benchmarks.peers.environment [--folder FOLDER]

makes all of them. The folder is the one given, that of the variable UNLEARNSPN_PEERS, or one in the user's cache.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

#: The Python that the pinned versions have wheels for.
PYTHON = (3, 11)
FOLDER_VARIABLE = "UNLEARNSPN_PEERS"


@dataclass(frozen=True)
class Peer:
    """A library, and every package that its environment holds: none is chosen by pip."""

    name: str
    version: str
    beside: tuple[str, ...]

    @property
    def requirements(self) -> tuple[str, ...]:
        """What is installed, without dependencies: those that are declared include whole frameworks never imported."""
        return (f"{self.name}=={self.version}", *self.beside)

    @property
    def folder_name(self) -> str:
        """The name of its folder, another one for other versions."""
        pins = hashlib.sha256("\n".join(self.requirements).encode()).hexdigest()
        return f"{self.name}-{self.version}-{pins[:8]}"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


_COMMON = (
    "numpy==2.2.6",
    "scipy==1.15.3",
    "scikit-learn==1.6.1",
    "joblib==1.4.2",
    "threadpoolctl==3.5.0",
    "networkx==3.4.2",
    "packaging==24.2",
    "python-dateutil==2.9.0.post0",
    "six==1.17.0",
)
SPFLOW = Peer(
    "spflow",
    "0.0.48",
    (
        *_COMMON,
        "mpmath==1.3.0",
        "statsmodels==0.14.4",
        "pandas==2.2.3",
        "patsy==1.0.1",
        "pytz==2024.2",
        "tzdata==2024.2",
    ),
)
#: With SDMetrics, and without torch, which only synthesizers need that are not asked for.
SDV = Peer(
    "sdv",
    "2.0.0",
    (
        *_COMMON,
        "sdmetrics==0.32.0",
        "pandas==2.2.3",
        "pytz==2024.2",
        "tzdata==2024.2",
        "copulas==0.14.1",
        "rdt==2.0.0",
        "Faker==40.54.0",
        "boto3==1.44.3",
        "botocore==1.44.3",
        "s3transfer==0.19.3",
        "jmespath==1.1.0",
        "urllib3==2.8.0",
        "cloudpickle==3.1.2",
        "graphviz==0.21",
        "platformdirs==4.14.5",
        "plotly==7.1.0",
        "narwhals==2.28.0",
        "PyYAML==6.0.3",
        "tqdm==4.67.1",
        "typing_extensions==4.16.0",
    ),
)
DEEPROB_KIT = Peer(
    "deeprob-kit",
    "1.1.0",
    (
        *_COMMON,
        "tqdm==4.67.1",
        "matplotlib==3.10.3",
        "contourpy==1.3.2",
        "cycler==0.12.1",
        "fonttools==4.58.4",
        "kiwisolver==1.4.8",
        "pillow==11.2.1",
        "pyparsing==3.2.3",
    ),
)
PEERS = (SPFLOW, DEEPROB_KIT, SDV)


class EnvironmentFailed(RuntimeError):
    """An environment could not be made."""


def why_not() -> str | None:
    """Say why no environment can be made with this Python, or return None if one can."""
    if sys.version_info[:2] == PYTHON:
        return None
    wanted, running = ".".join(map(str, PYTHON)), ".".join(map(str, sys.version_info[:2]))
    return f"the peers' pinned versions need Python {wanted}, and this is {running}: run it with Python {wanted}"


def cache_folder() -> Path:
    """Return the folder where environments are kept if no other is given."""
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "unlearnspn" / "peers"


def python_of(peer: Peer, folder: Path | None = None) -> Path:
    """Return the Python of a peer's environment, which is made if it is not there yet."""
    folder = (folder or cache_folder()).absolute()
    home = folder / peer.folder_name
    if not home.exists():
        if reason := why_not():
            raise EnvironmentFailed(reason)
        print(f"making an environment for {peer} in {home}, once; it takes about a minute", file=sys.stderr)
        _make(peer, home)
    return _python_in(home)


def _make(peer: Peer, home: Path) -> None:
    """Make it elsewhere and move it when it is whole: a folder that is there can be used."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=home.parent) as temporary:
        making = Path(temporary) / "environment"
        venv.create(making, with_pip=True)
        _install(peer, _python_in(making))
        try:
            making.rename(home)
        except OSError:
            if not home.exists():  # else another process was faster, and made the same
                raise


def _install(peer: Peer, python: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    command = [str(python), "-m", "pip", "install", *options, *peer.requirements]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise EnvironmentFailed(f"pip could not install {peer}; it said:\n{done.stdout}")


def _python_in(home: Path) -> Path:
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main(arguments: list[str] | None = None) -> int:
    """Make all environments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help=f"where to keep them (or ${FOLDER_VARIABLE})")
    options = parser.parse_args(arguments)
    for peer in PEERS:
        print(f"{peer}: {python_of(peer, options.folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
