"""YAML without surprises: a key that stands twice is a problem; aliases are refused (they make a small file a large value)."""

from __future__ import annotations

from typing import Any

from omnigraph.cluster.config.diagnostics import Diagnostics


def read_yaml(text: str, name: str, problems: Diagnostics) -> Any:
    """The value of a YAML text; None if it cannot be read. Every duplicate key is reported, by its path."""
    import yaml

    class Strict(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise yaml.composer.ComposerError(None, None, f"an alias (*{event.anchor}) is not allowed", event.start_mark)
            return super().compose_node(parent, index)

    loader = None
    try:
        loader = Strict(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _find_duplicates(node, "", problems)
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError, LookupError, AttributeError, TypeError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        where = name if mark is None else f"{name}:{mark.line + 1}"
        problems.error("invalid_cluster_yaml", where, str(getattr(error, "problem", None) or error))
        return None
    finally:
        if loader is not None:
            loader.dispose()


def _find_duplicates(node: Any, path: str, problems: Diagnostics) -> None:
    import yaml

    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            below = f"{path}.{name}" if path else name
            if name in seen:
                problems.error("duplicate_yaml_key", below, f"`{name}` stands twice, again in line {key.start_mark.line + 1}")
            seen.add(name)
            _find_duplicates(value, below, problems)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _find_duplicates(value, f"{path}[{number}]", problems)
