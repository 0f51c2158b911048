"""Prompts: pieces of work that people start by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen


@frozen
class Prompt:
    """A piece of work, and what it has to be told. `text` has the arguments in braces."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    """Name to what it means; all of them are needed."""
    text: str


PROMPTS: Final = (
    Prompt(
        "answer_question",
        "Answer a question from the graph",
        "Find the answer to a question in the graph, and say what it rests on.",
        {"question": "What somebody wants to know."},
        """\
Answer this question from the graph: {question}

1. Read the schema with `schema_get`, unless you know it.
2. Write one query that answers the question, or a few small ones; check them with `query_lint` if you are not sure.
3. Run them with `query`, values as parameters. Mend a query that is refused by what the error shows.
4. Answer in plain words. Name the entities the answer rests on, and the commit (`graph_commit_id`) it was read from.
   If the graph does not know, say so; do not fill in from elsewhere.
""",
    ),
    Prompt(
        "propose_change",
        "Propose a change for review",
        "Make a change on a branch of its own, look at it, and propose it.",
        {"change": "What is to be changed.", "branch": "Name of the branch, for example agent/rename-teams."},
        """\
Make this change to the graph, for others to review: {change}

1. Read the schema with `schema_get`, and what there is now with `query`.
2. Create the branch `{branch}` with `branches_create`, unless it is there.
3. Change it with `mutate` (or `load` for many records), values as parameters, `branch` set to `{branch}`.
4. Look at the result with `diff` from main to `{branch}`: every change in it must be one that was asked for.
5. Propose it: create a review if there is a tool for that; otherwise say that the branch is ready to be merged. Do not merge it.
""",
    ),
    Prompt(
        "what_changed",
        "Summarise what changed",
        "Read the change feed of a branch and summarise it for people.",
        {"since": "A commit id, or `beginning`."},
        """\
Summarise what changed in the graph since {since}.

1. Poll with `changes_poll`, `start` set to `beginning`, or to `after:` and the commit id. Follow `pageToken` until there is a
`cursor`. 2. Group the changes by what they mean to people, not by commit; name who made them. 3. Point out what looks wrong:
deletions in bulk, values that contradict each other, changes without a message. 4. Give the `cursor` at the end, so that the
next summary can go on from there.
""",
    ),
)
"""Every prompt."""


class UnknownPrompt(Exception):
    """There is no such prompt."""


def filled(name: str, arguments: Mapping[str, str]) -> tuple[Prompt, str]:
    """A prompt with its arguments."""
    prompt = next((p for p in PROMPTS if p.name == name), None)
    if prompt is None:
        raise UnknownPrompt(name)
    for argument in prompt.arguments:
        if not arguments.get(argument, "").strip():
            raise UsageError(f"prompt {name} needs `{argument}`: {prompt.arguments[argument]}", hint="")
    text = prompt.text
    for argument in prompt.arguments:
        text = text.replace(f"{{{argument}}}", arguments[argument])
    return prompt, text
