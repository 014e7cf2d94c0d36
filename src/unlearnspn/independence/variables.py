"""The variables of a node as the randomized dependence coefficient sees them.

A numeric variable has levels in place of values, a categorical one its codes; a missing value is 0 in either.
"""

from __future__ import annotations

import cython
import numpy as np

from unlearnspn.independence.random_features import Matrix
from unlearnspn.slices import Slice


@cython.cclass
class Variables:
    """What is read of the records and of the variables of a node, in the order of its scope."""

    def __init__(self, data: Slice, n_levels: int, sines: Matrix) -> None:
        records = data.records
        place: cython.longlong[::1] = records.place
        is_numeric: cython.uchar[::1] = records.is_numeric.view(np.uint8)
        n_codes: cython.longlong[::1] = data.encoding.sizes
        lines: cython.longlong[:, ::1] = np.empty((4, data.scope.size), np.int64)
        #: [row, variable], by all variables of the table.
        self.codes = records.codes
        #: [row, place]
        self.values = records.values
        #: Fingerprints of categories, [variable, code], by all variables of the table.
        self.prints = data.encoding.prints
        #: Random features of levels, [variable, level, feature], by all variables of the table.
        self.sines = sines
        self.scope = data.scope
        self.n_levels = n_levels
        #: How many levels or codes each variable can have, with 0; and the most of them.
        self.sizes = lines[0]
        self.most_codes = 0
        #: The numeric variables, as positions in the scope, and where their values stand.
        self.numeric = lines[1]
        self.places = lines[2]
        self.n_numeric = 0
        #: Which of the numeric variables each one is; -1 for a categorical one.
        self.columns = lines[3]
        i: cython.Py_ssize_t
        for i in range(self.scope.shape[0]):
            v: cython.Py_ssize_t = self.scope[i]
            if is_numeric[v]:
                self.numeric[self.n_numeric] = i
                self.places[self.n_numeric] = place[v]
                self.columns[i] = self.n_numeric
                self.n_numeric += 1
                self.sizes[i] = self.n_levels + 1
            else:
                self.columns[i] = -1
                self.sizes[i] = n_codes[v]
            self.most_codes = max(self.most_codes, self.sizes[i])
