"""The `omnigraph` command.

Each command is a module in `commands`, imported only when it is called, so that `omnigraph --help` stays instant. What the
commands share: `files` (reading texts), `output` (JSON, colour, errors).
"""
