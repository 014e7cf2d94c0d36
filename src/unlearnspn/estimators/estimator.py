"""What scikit-learn asks of an estimator, answered without importing it: scipy and pandas would come along."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import MethodType
from typing import Any, Self


class Estimator:
    """Parameters that can be listed, read and set by name, and what scikit-learn's tools ask beside.

    It behaves as `sklearn.base.BaseEstimator` does, for `clone`, searches, pipelines and `check_estimator`.
    """

    @classmethod
    def _parameter_defaults(cls) -> dict[str, Any]:
        """Return what the constructor takes, by name, in order, with its defaults."""
        parameters = sorted(signature(cls).parameters.items())
        return {name: parameter.default for name, parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep` adds those of parameters that have some, as "name__inner"."""
        found: dict[str, Any] = {}
        for name in self._parameter_defaults():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update({f"{name}__{inner}": given for inner, given in value.get_params().items()})
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also inner ones; they count from the next `fit` on."""
        known = self._parameter_defaults()
        inner: dict[str, dict[str, Any]] = {}
        for name in (key.partition("__")[0] for key in params):
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {list(known)!r}."
                )
        for key, value in params.items():
            name, within, rest = key.partition("__")
            if within:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, given in inner.items():
            getattr(self, name).set_params(**given)
        return self

    def __repr__(self) -> str:
        """Return the parameters that are not as by default."""
        defaults = self._parameter_defaults()
        shown = {name: repr(getattr(self, name)) for name in defaults}
        changed = [f"{name}={text}" for name, text in shown.items() if text != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """Return the diagram that scikit-learn draws of its estimators."""
        from sklearn.utils import estimator_html_repr  # noqa: PLC0415

        return str(estimator_html_repr(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(allow_nan=True, categorical=True, string=True),
        )


def available_if(condition: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], _Conditional]:
    """Make a method one that objects have only while a condition holds, as scikit-learn's decorator does."""
    return lambda method: _Conditional(method, condition)


class _Conditional:
    """A method that objects have only while a condition holds."""

    def __init__(self, method: Callable[..., Any], condition: Callable[[Any], bool]) -> None:
        self.__doc__ = method.__doc__
        self._method = method
        self._condition = condition

    def __get__(self, estimator: Any, owner: type) -> Callable[..., Any]:
        if estimator is None:
            return self._method
        if not self._condition(estimator):
            raise AttributeError(f"this {owner.__name__} has no attribute {self._method.__name__!r}")
        return MethodType(self._method, estimator)
