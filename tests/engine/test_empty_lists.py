"""An empty list written in a query is a list of texts; of any other type it is given as a parameter, which the error says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.engine import graphs

from omnigraph.errors import TypeCheckError


@pytest.mark.parametrize("kind", ["I32", "U64", "F32", "Bool", "Date", "DateTime"])
def test_what_is_written_for_an_empty_list_is_what_the_error_says(tmp_path: Path, kind: str) -> None:
    graph = graphs.make_graph(tmp_path, f"node T {{ k: String @key  l: [{kind}]?  s: [String]? }}", {})
    graph.mutate('query q() { insert T { k: "texts", s: [] } }')
    with pytest.raises(TypeCheckError) as refused:
        graph.mutate('query q() { insert T { k: "a", l: [] } }')
    declared = re.search(r"\$empty: \[\w+\]", str(refused.value))
    assert declared is not None, refused.value
    graph.mutate(f'query q({declared[0]}) {{ insert T {{ k: "a", l: $empty }} }}', {"empty": []})
    assert graph.query('query q() { match { $t: T { k: "a" } } return { $t.l as l } }').rows == [{"l": []}]
