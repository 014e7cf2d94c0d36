"""Benchmarks, run from the repository: `python -m benchmarks COMMAND`.

They need more packages than the library: pip install -e '.[benchmarks]'.
"""
