"""Estimators after scikit-learn's conventions, one a module."""
