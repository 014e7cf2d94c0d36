"""A certificate as a web page: one file without anything from elsewhere, made to be printed on A4."""

from __future__ import annotations

from html import escape

from unlearnspn.certificates.describing import TITLES, Section, describe
from unlearnspn.certificates.envelope import Envelope

_STYLE = """
  :root { --ink: #1c2430; --quiet: #5a6573; --line: #d5dae1; --accent: #1f5f8b; }
  * { box-sizing: border-box; }
  body { margin: 0; background: #eef1f4; color: var(--ink); }
  body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
  main { max-width: 210mm; margin: 24px auto; padding: 18mm 16mm; background: #fff; border: 1px solid var(--line); }
  header { border-bottom: 3px solid var(--accent); padding-bottom: 10px; margin-bottom: 18px; }
  h1 { font-size: 26px; margin: 0; }
  header p { margin: 4px 0 0; color: var(--quiet); }
  h2 { font-size: 15px; margin: 18px 0 6px; color: var(--accent); letter-spacing: .02em; break-after: avoid; }
  section { break-inside: avoid; }
  table { width: 100%; border-collapse: collapse; }
  th, td { text-align: left; vertical-align: top; padding: 3px 0; border-bottom: 1px solid var(--line); }
  td, pre { overflow-wrap: anywhere; }
  th { width: 34%; padding-right: 12px; font-weight: 400; color: var(--quiet); }
  code, pre { font: 12px/1.45 ui-monospace, Menlo, Consolas, monospace; }
  pre { white-space: pre-wrap; background: #f6f8fa; border: 1px solid var(--line); padding: 8px; margin: 0; }
  ul { margin: 0; padding-left: 20px; }
  p { margin: 0 0 6px; }
  @media (max-width: 600px) { main { margin: 0; padding: 16px; border: 0; } th { width: 40%; } }
  @page { size: A4; margin: 16mm; }
  @media print {
    body { background: #fff; font-size: 10.5pt; }
    main { max-width: none; margin: 0; padding: 0; border: 0; }
    code, pre { font-size: 8pt; }
  }
"""


def render_page(envelope: Envelope) -> str:
    """Return a certificate as a self-contained page; the certificate itself, for machines, is at its end."""
    statement = envelope.statement
    title = TITLES[statement.action]
    name = f"entry {statement.link.entry} of the ledger of vault {statement.link.vault}"
    parts = [_section(section) for section in describe(envelope)]
    if statement.guarantee:
        parts.insert(2, f"<section><h2>Guarantee</h2><p>{escape(statement.guarantee)}</p></section>")
    if statement.limits:
        limits = "".join(f"<li>{escape(limit)}</li>" for limit in statement.limits)
        parts.insert(3, f"<section><h2>What it does not reach</h2><ul>{limits}</ul></section>")
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}: {escape(statement.request.id)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1><p>{escape(name)}</p></header>
{body}
<section><h2>How to check it</h2>
<p>Save the text below, one line with its line end, as <code>certificate.json</code>, get the public key of the vault's
owner from a source that you trust, and run
<code>unlearnspn verify certificate.json --key public-key.pem</code>. It is an in-toto statement in a DSSE envelope, so
other tools can check it too. With the receipt that the requester got, add <code>--receipt receipt.json</code>.</p>
</section>
<section><h2>The certificate</h2>
<pre id="certificate">{escape(envelope.encoded.decode("ascii"))}</pre></section>
</main>
</body>
</html>
"""


def _section(section: Section) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{_value(value, section.codes)}</td></tr>" for name, value in section.lines
    )
    return f"<section><h2>{escape(section.heading)}</h2><table>{rows}</table></section>"


def _value(value: str, code: bool) -> str:
    return f"<code>{escape(value)}</code>" if code else escape(value)
