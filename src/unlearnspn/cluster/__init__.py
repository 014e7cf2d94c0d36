"""The same models, bit for bit, learned where the records are: on the workers of a cluster.

`shard.py` is what a worker holds: some of the records; it counts and labels, and decides nothing. `holder.py` asks all
shards and merges their answers, so that the engine (`spn/`) decides as it does on one machine. Only `dask_shards.py`
and `dask_tables.py` know Dask.
"""
