"""MCP: the graph as tools, resources and prompts for agents.

    request → session (which graph, whose, what may be done) → tool → the door → answer, bounded

A *tool* is a value with a name, typed inputs and outputs, and a function that asks the door for operations (`tool`, `tools`).
It is called within a *session*: the graphs it is about, the caller, and the door, which a session may have narrowed to one
branch or to reading (`session`). `answering` makes answers of results and errors and keeps both within their bounds; `protocol`
speaks to the official SDK; `stdio` and `exchange` are its two ways in: a process that a client starts, and one exchange over
HTTP.

The command line and the HTTP server host this package; it knows neither. Importing the package imports nothing of the SDK:
`protocol`, `stdio` and `exchange` do, when somebody starts them.
"""
