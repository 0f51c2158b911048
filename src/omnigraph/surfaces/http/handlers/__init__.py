"""Handlers by what they are about. Each turns a request into an operation and what comes of it into an answer."""
