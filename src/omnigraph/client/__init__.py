"""Graphs behind a server, used as if they were here: `og.connect(url, graph=…, token=…)`."""
