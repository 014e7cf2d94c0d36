"""What the benchmarks need beside the library; importing this module tells whether it is there."""

import matplotlib
import pandas as pd

__all__ = ["matplotlib", "pd"]
