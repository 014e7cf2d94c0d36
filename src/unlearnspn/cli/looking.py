"""Looking at a vault: `show` (the network) and `log` (the ledger)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from unlearnspn.certificates.bundle import write_bundle
from unlearnspn.certificates.showing import show_ledger
from unlearnspn.cli import options as given
from unlearnspn.cli.exits import printable
from unlearnspn.cli.group import examples
from unlearnspn.cli.opening import open_vault, read_ledger, require_free, write_new
from unlearnspn.cli.output import console, print_json, print_notice
from unlearnspn.exchange.outcomes import describe_entry

if TYPE_CHECKING:
    from unlearnspn.spn.views import NodeView

_SHOWN_CHILDREN = 12


def show(
    vault: given.VaultPath,
    depth: Annotated[int, typer.Option("--depth", min=0, help="How deep the tree is shown.")] = 4,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="FILE", help="Draw it into a new file (png, svg, pdf). Needs unlearnspn\\[plot]."
        ),
    ] = None,
    json: given.Json = False,
) -> None:
    """Show the network: in the terminal, or as a picture."""
    require_free(picture)
    with open_vault(vault) as opened:
        root = opened.root_
        if picture is not None:
            _draw(root, picture, depth)
            if not json:
                print_notice(f"drawn into {picture}")
                return
        if json:
            print_json(_describe(root, depth))
        else:
            tree = Tree(_label(root))
            _grow(tree, root, depth)
            console().print(tree)


def log(
    vault: given.VaultPath,
    first: Annotated[int, typer.Option("--first", min=0, help="The entry to begin with.")] = 0,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the whole ledger into a new file, for auditors."),
    ] = None,
    json: given.Json = False,
) -> None:
    """Show the ledger: every change of the vault, each a signed entry."""
    require_free(export)
    envelopes = read_ledger(vault, 0 if export is not None else first)
    if export is not None:
        write_new(export, write_bundle(envelope.encoded for envelope in envelopes))
        print_notice(f"{len(envelopes):,} entries in {export}")
        envelopes = envelopes[first:]
        if not json:
            return
    if not json:
        show_ledger(console(), envelopes)
        return
    print_json([describe_entry(envelope) for envelope in envelopes])


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=examples("show people.uspn --depth 2", "show people.uspn --picture people.svg"))(show)
    app.command(epilog=examples("log people.uspn", "log people.uspn --export ledger.jsonl"))(log)


def _draw(root: NodeView, picture: Path, depth: int) -> None:
    try:
        import matplotlib  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'unlearnspn[plot]'") from error
    matplotlib.use("Agg")
    from unlearnspn.plots import plot_network  # noqa: PLC0415

    figure = plot_network(root, max_depth=depth).get_figure(root=True)
    assert figure is not None
    drawn = io.BytesIO()
    figure.savefig(drawn, format=picture.suffix.lstrip(".") or "png", bbox_inches="tight")
    write_new(picture, drawn.getvalue())


def _grow(tree: Tree, node: NodeView, depth: int) -> None:
    if depth == 0:
        return
    weights = node.weights or (None,) * len(node.children)
    pairs = list(zip(node.children, weights, strict=True))
    for child, weight in pairs[:_SHOWN_CHILDREN]:
        _grow(tree.add(_label(child, weight)), child, depth - 1)
    if len(pairs) > _SHOWN_CHILDREN:
        tree.add(Text(f"… {len(pairs) - _SHOWN_CHILDREN} more", style="dim"))


def _label(node: NodeView, weight: float | None = None) -> Text:
    label = Text()
    if weight is not None:
        label.append(f"{weight:.1%} ", style="bold")
    label.append(node.distribution or node.operation.value, style="cyan")
    names = ", ".join(node.scope[:6]) + (f" and {len(node.scope) - 6} more" if len(node.scope) > 6 else "")
    label.append(printable(f" of {names}"))
    label.append(f", {node.n_records:,} records", style="dim")
    return label


def _describe(node: NodeView, depth: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "address": node.address,
        "operation": node.operation.value,
        "columns": list(node.scope),
        "records": node.n_records,
        "distribution": node.distribution,
        "weights": list(node.weights),
    }
    if depth > 0:
        described["children"] = [_describe(child, depth - 1) for child in node.children]
    return described
