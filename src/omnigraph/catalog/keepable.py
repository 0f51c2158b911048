"""Constraints that nothing can be held against: what they are, and why.

    @check(v, "(?=x)")      the engine that runs patterns cannot run this one
    @check(v, …)            v is a list, and a pattern is held against one text
    @unique(v)              v is a list or a Vector, and those are not compared

Such a constraint is refused where it is declared. A graph may hold one all the same, if it was made before that was so: its
entities cannot be written, which a write says, and it may be taken out of the schema, unlike one that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnigraph.catalog.shape import Check, Constraint, Unique
from omnigraph.model.types import PropertyType


def void(constraint: Constraint, types: Mapping[str, PropertyType]) -> str | None:
    """Why nothing can be held against a constraint, given the types of the properties it names; None: it can be kept."""
    match constraint:
        case Check(name, pattern):
            type_ = types.get(name)
            if type_ is not None and type_.is_list:
                return f"`{name}` is {type_}, and a pattern is held against one text"
            return pattern_problem(pattern)
        case Unique(columns):
            for name in columns:
                type_ = types.get(name)
                if type_ is not None and (type_.is_list or type_.is_vector):
                    return f"`{name}` is {type_}, and only single values are compared"
    return None


_SINGLE = r"""[A-Za-z0-9 _@:/,;=!#%&<>'"~-]|\.|\\[.+*?()|\[\]{}^$/\\-]|\\[dwsDWS]|\[\^?[A-Za-z0-9_ .@:/,+-]+\]"""
_PLAIN = re.compile(rf"(?:\^|\$|\||\((?:\?:)?|(?:{_SINGLE})(?:[*+?]\??|\{{\d\d?(?:,\d{{0,2}})?\}}\??)?|\)(?:[*+?]\??)?)*")
_SHORT = 200


def is_plain(pattern: str) -> bool:
    """Whether a pattern is short and uses nothing but what every engine has; so most schemas are read without asking one."""
    if len(pattern) > _SHORT or _PLAIN.fullmatch(pattern) is None:
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def pattern_problem(pattern: str) -> str | None:
    """Why a pattern cannot be run; None if it can. It is compiled by what will run it, unless it is plain."""
    if is_plain(pattern):
        return None
    from omnigraph.model.arrow import pattern_problem as compiled  # only schemas with such a pattern wait for it

    return compiled(pattern)
