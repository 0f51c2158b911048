"""Lint rules, one per module; each has a fixture of the same name under `tests/language/lint`."""
