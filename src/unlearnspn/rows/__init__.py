"""Rows: what statistics read of the records."""
