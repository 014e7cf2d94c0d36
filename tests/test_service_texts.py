"""The texts of the console: each language has the same ones with the same places, and those that templates use."""

import re
from importlib.resources import files
from string import Formatter

import pytest

from unlearnspn.certificates import Action
from unlearnspn.service.console.texts import _texts, languages, names, text
from unlearnspn.service.jobs import JobState
from unlearnspn.service.roles import SCOPES_OF_TOKENS, Role
from unlearnspn.spn.operations import Operation
from unlearnspn.tables import Family

CONSOLE = files("unlearnspn.service.console")
OTHERS = [code for code in languages() if code != "en"]
SOURCES = [
    file
    for folder, end in (("templates", ".html"), (".", ".py"))
    for file in (CONSOLE / folder).iterdir()
    if file.name.endswith(end)
]


def places(language):
    return {
        name: sorted(field for _, field, _, _ in Formatter().parse(template) if field is not None)
        for name, template in _texts(language).items()
    }


@pytest.mark.parametrize("language", OTHERS)
def test_languages_have_the_same_texts_with_the_same_places(language):
    assert names(language) == names("en")
    assert places(language) == places("en")


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_texts_that_are_used_are_there(file):
    used = set(re.findall(r"""\bt\(\s*"([a-z_.-]+)"\s*[,)]""", file.read_text("utf-8")))
    used |= set(re.findall(r"""\bt\(\s*'([a-z_.-]+)'\s*[,)]""", file.read_text("utf-8")))
    assert used <= names("en")


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_nothing_is_taken_for_html_that_is_not(file):
    content = file.read_text("utf-8")
    assert not re.search(r"\|\s*safe\b|\bautoescape\b(?!=True)|\bMarkup\(", content)
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|<script(?! src=\"/static/)|javascript:", content)


def test_texts_whose_names_are_put_together_are_there():
    made = [
        *(f"action.{action.value}" for action in Action),
        *(f"did.{action.value}" for action in Action),
        *(f"role.{role.value}" for role in Role),
        *(f"people.may_{role.value}" for role in Role),
        *(f"scope.{scope.value.replace(':', '_')}" for scope in SCOPES_OF_TOKENS),
        *(f"job.state_{state.value}" for state in JobState),
        *(f"family.{family.name.lower()}" for family in Family),
        *(f"network.{operation.name.lower()}{end}" for operation in Operation for end in ("", "_what")),
    ]
    assert set(made) <= names("en")


def test_all_that_the_audit_log_says_has_words():
    said = set()
    for folder in (CONSOLE, CONSOLE / ".."):
        for file in folder.iterdir():
            if file.name.endswith(".py"):
                found = re.findall(
                    r"""(?:audit\.write(?:_done)?\([^,()]+|_(?:changed|done)\(who), "([^"]+)\"""",
                    file.read_text("utf-8"),
                )
                said.update(found)
    assert len(said) > 20
    assert {f"deed.{re.sub('[^a-z]+', '_', what)}" for what in said} <= names("en")


def test_a_text_may_have_a_place_called_name():
    assert "anna" in text("en", "account.what", name="anna")
