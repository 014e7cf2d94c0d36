"""`python -m unlearnspn.cli`: the command line without its script."""

from unlearnspn.cli import app

if __name__ == "__main__":
    app(prog_name="unlearnspn")
