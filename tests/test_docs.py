"""The documentation says what is there."""

import importlib.util
import re
from pathlib import Path

import unlearnspn

ROOT = Path(__file__).parents[1]


def load_make_api():
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_api_reference_is_up_to_date():
    make_api = load_make_api()
    assert make_api.PAGE.read_text("utf-8") == make_api.render(), "run python docs/make_api.py"


def test_the_api_reference_has_everything_public():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    for name in unlearnspn.__all__:
        assert f"### {name}" in page, name
    for query in ("score_samples", "condition", "sample", "impute", "mutual_information", "save", "unlearn"):
        assert f"**`{query}(" in page, query


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    for page in pages:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
