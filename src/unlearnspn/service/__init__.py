"""The desk of a data protection officer: a service over one vault, with an API and a console in the browser."""
