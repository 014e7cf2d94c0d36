"""Questions to a model: `score`, `sample`, `query`, `impute`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from unlearnspn.cli import options as given
from unlearnspn.cli.group import examples
from unlearnspn.cli.opening import load_circuit
from unlearnspn.cli.output import console, print_json, print_notice
from unlearnspn.exchange.conditions import read_conditions

if TYPE_CHECKING:
    from unlearnspn.circuit import Circuit
    from unlearnspn.sources import Options
    from unlearnspn.tables import Table


class How(StrEnum):
    """How rows are filled in."""

    MEAN = "mean"
    MPE = "mpe"
    SAMPLE = "sample"


def score(
    vault: given.ModelPath,
    source: given.Source,
    missing: given.Missing = None,
    format: given.FileFormat = None,
    delimiter: given.Delimiter = ",",
    encoding: given.Encoding = None,
    table: given.Table = None,
    query: given.Query = None,
    output: given.Output = None,
    json: given.Json = False,
) -> None:
    """Print the log-density of each row: the lower, the less usual. Columns that the source lacks are left open.

    In JSON, null stands for minus infinity: no row can be less usual.
    """
    from unlearnspn.exchange.tables import write_rows  # noqa: PLC0415

    circuit = load_circuit(vault)
    rows, ids = _read(circuit, source, _options(missing, format, delimiter, encoding, table, query))
    densities = circuit.score_samples(rows).tolist()
    names: list[Any] = list(range(1, len(densities) + 1)) if ids is None else ids
    if json and output is None:
        print_json({"rows": [{"id": name, "log_density": each} for name, each in zip(names, densities, strict=True)]})
        return
    write_rows(["row" if ids is None else "id", "log_density"], zip(names, densities, strict=True), output)
    print_notice(f"mean log-density {sum(densities) / len(densities):.6f} of {len(densities):,} rows")


def sample(
    vault: given.ModelPath,
    n: Annotated[int, typer.Option("-n", min=1, help="How many rows.")] = 10,
    given_: given.Given = None,
    seed: given.Seed = None,
    output: given.Output = None,
    json: given.Json = False,
) -> None:
    """Draw synthetic rows from the model."""
    from unlearnspn.exchange.tables import rows_of, write_rows  # noqa: PLC0415

    circuit = load_circuit(vault)
    evidence = read_conditions(given_ or (), circuit.domains)
    rows = rows_of(circuit.sample(n, given=evidence or None, random_state=seed), circuit)
    if json and output is None:
        print_json({"rows": [dict(zip(circuit.columns, row, strict=True)) for row in rows]})
    else:
        write_rows(circuit.columns, rows, output)


def query(
    vault: given.ModelPath,
    event: Annotated[
        list[str] | None, typer.Argument(metavar="CONDITION", help="What is asked about, such as 'age >= 60'.")
    ] = None,
    given_: given.Given = None,
    expect: Annotated[
        list[str] | None, typer.Option("--expect", metavar="COLUMN", help="Print the mean of a column. Repeatable.")
    ] = None,
    json: given.Json = False,
) -> None:
    """Print the probability of conditions, or means of columns, given what is known."""
    if not event and not expect:
        raise typer.BadParameter("say what is asked: conditions such as 'age >= 60', or --expect COLUMN")
    from unlearnspn.tables.times import written  # noqa: PLC0415

    circuit = load_circuit(vault)
    evidence = read_conditions(given_ or (), circuit.domains) or None
    answers: dict[str, Any] = {}
    if event:
        answers["probability"] = circuit.probability(read_conditions(event, circuit.domains), given=evidence)
    for name in expect or ():
        answers[f"mean of {name}"] = written(circuit.expectation(name, given=evidence))
    if json:
        print_json(answers)
        return
    for name, answer in answers.items():
        console().print(Text(f"{name}: {answer if isinstance(answer, str) else format(answer, '.6g')}"))


def impute(
    vault: given.ModelPath,
    source: given.Source,
    how: Annotated[
        How, typer.Option("--how", help="Means and most probable categories, one explanation, or a draw.")
    ] = How.MEAN,
    missing: given.Missing = None,
    format: given.FileFormat = None,
    delimiter: given.Delimiter = ",",
    encoding: given.Encoding = None,
    table: given.Table = None,
    query: given.Query = None,
    seed: given.Seed = None,
    output: given.Output = None,
    json: given.Json = False,
) -> None:
    """Fill in what is missing in each row; the rest stays as it is."""
    from unlearnspn.exchange.tables import rows_of, to_array, write_rows  # noqa: PLC0415

    circuit = load_circuit(vault)
    read, ids = _read(circuit, source, _options(missing, format, delimiter, encoding, table, query))
    rows = rows_of(circuit.impute(to_array(read), how=how.value, random_state=seed), circuit)
    names = circuit.columns
    if ids is not None:
        names = [str(circuit.domains.id_column), *names]
        rows = [[name, *row] for name, row in zip(ids, rows, strict=True)]
    if json and output is None:
        print_json({"rows": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        write_rows(names, rows, output)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=examples("score people.uspn new.csv", "score people.circuit new.csv -o scores.csv"))(score)
    app.command(epilog=examples("sample people.uspn -n 100 --given 'city = Ulm' --seed 1 -o synthetic.csv"))(sample)
    app.command(
        epilog=examples(
            "query people.uspn 'cost > 500' --given 'smoker = true'", "query people.uspn --expect cost --json"
        )
    )(query)
    app.command(epilog=examples("impute people.uspn holes.csv -o filled.csv"))(impute)


def _read(circuit: Circuit, source: str, options: Options) -> tuple[Table, list[Any] | None]:
    from unlearnspn.exchange.tables import options_for, rows_for  # noqa: PLC0415
    from unlearnspn.sources import read_source  # noqa: PLC0415

    return rows_for(circuit, read_source(source, options_for(circuit, options)))


def _options(
    missing: list[str] | None, format: Any, delimiter: str, encoding: str | None, table: str | None, query: str | None
) -> Options:
    from unlearnspn.sources import Options  # noqa: PLC0415

    delimiter = "\t" if delimiter == "\\t" else delimiter
    blanks = frozenset(missing or ())
    return Options(format=format, delimiter=delimiter, encoding=encoding, missing=blanks, table=table, query=query)
