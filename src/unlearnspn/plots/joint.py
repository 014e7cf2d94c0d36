"""The distribution of two columns together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unlearnspn.errors import InvalidTableError
from unlearnspn.plots.canvas import circuit_of, require_matplotlib
from unlearnspn.plots.data_columns import read_data
from unlearnspn.plots.joint_categories import draw_table
from unlearnspn.plots.joint_mixed import draw_ridges
from unlearnspn.plots.joint_numbers import draw_regions
from unlearnspn.schema import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_joint(model: Any, a: str, b: str, data: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the distribution of two columns together.

    - Two numeric columns: the smallest regions that hold 25, 50, 75 and 95 % of the probability, a to the right and b
      upwards, and the data as points.
    - Two categorical columns: a table of probabilities in percent, a downwards and b to the right, with the data's
      shares in brackets.
    - One of each: the density of the numeric column for each category, each as high as its row, and the data's
      histograms behind; the categories' probabilities are beside their names.

    Parameters
    ----------
    model : SPN, SPNClassifier or Circuit
        Whose distribution is drawn. Pass ``model.condition(…)`` for a conditional one.
    a, b : str
        The columns' names.
    data : table, default=None
        Rows to compare with; other columns are ignored.
    ax : matplotlib Axes, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from unlearnspn import SPN
    >>> wine = load_wine(as_frame=True).data
    >>> ax = plot_joint(SPN(min_rows=50).fit(wine), "alcohol", "proline", data=wine)
    """
    require_matplotlib()
    if a == b:
        raise InvalidTableError(f"{a!r} is one column: a joint distribution needs two, plot_marginal draws one")
    whole = circuit_of(model)
    circuit = whole.marginal([a, b])
    columns = read_data(data, whole, [a, b])
    numeric = [domain.kind is Kind.NUMERIC for domain in circuit.domains.columns]
    if all(numeric):
        return draw_regions(circuit, columns, ax)
    if not any(numeric):
        return draw_table(circuit, columns, ax)
    return draw_ridges(circuit, columns, ax)
