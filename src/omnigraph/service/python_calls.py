"""For surfaces that are called from Python: arguments are checked, and errors are ours, as in the calls of a graph."""

from __future__ import annotations

from omnigraph.engine.calls import arguments as arguments
from omnigraph.engine.calls.arguments import AnyPath as AnyPath
from omnigraph.engine.calls.arguments import State as State
from omnigraph.engine.calls.arguments import name_of as name_of
from omnigraph.engine.calls.guard import guarded as guarded
