"""`SPN`: the density estimator."""

from __future__ import annotations

from unlearnspn.estimators.base import BaseSPN
from unlearnspn.estimators.density import DensityEstimator


class SPN(DensityEstimator, BaseSPN):
    """A sum-product network that can forget: removing a record equals training without it, bit for bit.

    Parameters
    ----------
    min_rows : int or "auto", default="auto"
        A node with at most so many records is not split any further (the paper's t). "auto" is 200, the paper's, below
        8,192 records, 800 from there on, and twice as many whenever there are twice as many records; without any
        numeric column it is 200 below 65,536 records.
    independence : {"gtest", "rdc"} or an independence test, default="gtest"
        How variables are found independent: the G-test, or the paper's randomized dependence coefficient; both on
        integer counts that are revised exactly.
    threshold : float, default=None
        When two variables count as dependent; None for the test's own default (3.0 for "gtest", 0.3 for "rdc").
    clustering : {"qkmeans"} or a clustering, default="qkmeans"
        How the records of a node are clustered.
    n_clusters : int or "auto", default="auto"
        Into how many clusters; 1 to leave records together. "auto" is 8, and 64 if `min_rows` is "auto" too and there
        are 8,192 records or more, 65,536 without any numeric column.
    epsilon : float, default=None
        The spacing of the lattice on which Q-k-means rounds its centroids, in standard deviations; None for one, and
        more with more than 16 variables. The coarser it is, the more rarely one record moves a centroid.
    max_rounds : int, default=0
        How many rounds Q-k-means runs at most; 0 to leave the clusters around their seeds, which only those who are
        seeds themselves can change by leaving.
    categorical_features : {"from_dtype", "all"}, array-like or None, default="from_dtype"
        Which columns are categorical: those with strings, categories or booleans; all; or the ones listed, by mask or
        name; by position, if no column has a number as its name. None for no column.
    factorization : {"naive", "chow-liu"} or a ChowLiu, default="chow-liu"
        What a node that is not split any further becomes: independent leaves, or a Chow-Liu tree of its categories
        and Gaussians.
    leaves : mapping, default=None
        Distributions for some columns, by column name: "gaussian", "exponential", "log-normal", "poisson" or
        "histogram" for numbers, "categorical" or "bernoulli" for categories, or a leaf. By default "gaussian" and
        "categorical".
    min_category_count : int, default=1
        Categories that fewer records have are left out: their values count as missing, in the model, in samples and in
        the exported circuit. Which these are is revised with every request. 1 leaves nothing out.
    alpha : float, default=0.3
        The smoothing of categorical leaves.
    min_std : float, default=0.05
        The least standard deviation of Gaussian leaves, as a share of their column's.
    n_bins : int or "auto", default="auto"
        Into how many bins numeric columns are coded for the G-test and for trees, at most. "auto" is 5 below 384
        records, 9 below 768, 13 below 32,768, and then 17, from 65,536 on 21 and from 131,072 on 25.
    random_state : int, default=0
        The seed. It is part of the model: the same seed and records always give the same network.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> spn = SPN(min_rows=30).fit(X)
    >>> spn.unlearn([0, 17]).records_removed
    2
    >>> rest = np.delete(np.arange(150), [0, 17])
    >>> spn.digest() == SPN(min_rows=30).fit(X[rest], ids=rest).digest()
    True
    """
