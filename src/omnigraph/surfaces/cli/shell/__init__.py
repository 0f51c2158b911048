"""`omnigraph shell`: statements at a prompt, or from a pipe.

statements    where one ends, and what it is
session       what statements and dot commands do
prompt        the prompt: editing, history, completion (prompt_toolkit)
"""
