"""Benchmarks, as the commands `unlearnspn bench paper | scale | quality | serve`.

They need the packages of the extra: pip install 'unlearnspn[bench]'.
"""
