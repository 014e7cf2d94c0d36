"""The newcomer's page: its commands, its steps in a browser, and its pictures, in the order of the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

from walking import shell_blocks, steps, take_step

from serving import serving

PAGE = Path(__file__).parents[2] / "docs" / "desk.md"
#: Set to a folder to have the pictures of the page made anew.
PICTURES = os.environ.get("UNLEARNSPN_PICTURES")


def run(block, folder):
    """Run the commands of a block as they stand, with the programs of this environment."""
    programs = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-e", "-c", block], cwd=folder, env=programs, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_of_newcomers(visit, tmp_path):
    text = PAGE.read_text("utf-8")
    install, make, verify = shell_blocks(text)
    assert install.startswith("pip install")  # as it is here already
    run(make, tmp_path)
    with serving(tmp_path / "people.uspn") as served:
        link = re.search(r"https?://\S+/first\?key=\S+", served.process.stdout.readline())[0]
        visitor = visit(served.url, viewport={"width": 1180, "height": 760})
        page = visitor.page
        page.on("download", lambda file: file.save_as(tmp_path / file.suggested_filename))
        page.goto(link)
        for step in steps(text):
            take_step(page, step)
            if PICTURES and step["click"] == "I have verified the identity":
                page.screenshot(path=f"{PICTURES}/desk-request.png")
        page.get_by_text("VERIFIED", exact=True).wait_for()
        if PICTURES:
            fill_inbox(page, visitor)
            page.screenshot(path=f"{PICTURES}/desk-inbox.png")
        said = run(verify, tmp_path)
        assert "VERIFIED" in said
        assert served.end()[0] in (0, 130)
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.name.startswith("people.uspn"))
    assert b"p-217" not in left
    assert b"by letter" not in left
    assert b"p-218" in left


def fill_inbox(page, visitor):
    """File some requests, so that the picture of the inbox shows some."""
    for wish, subject, received in (
        ("Erasure", "p-40", "2026-10-14"),
        ("Access", "p-8", "2026-11-02"),
        ("Erasure", "p-40", "2026-11-16"),
        ("Correction", "p-121", "2026-11-18"),
    ):
        visitor.go("/requests/new")
        page.get_by_label(wish).first.check()
        page.get_by_label("Subject").first.fill(subject)
        page.get_by_label("Received on").fill(received)
        page.get_by_role("button", name="File the request").click()
    visitor.go("/")
