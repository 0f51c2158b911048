"""What reading the first text of a process costs: counted, because times depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, re
compiled = []
compiles = re.compile
re.compile = lambda *given: compiled.append(given) or compiles(*given)
from omnigraph.language import Source, parse_queries
imported = len(compiled)
query = "query q($name: String) { match { $p: Person { name: $name } $p knows $f } return { $f.name } limit 3 }"
parse_queries(Source(query))
first = len(compiled) - imported
parse_queries(Source(query))
print(json.dumps([imported, first, len(compiled) - imported - first]))
"""


def test_a_pattern_is_compiled_when_it_is_first_looked_for() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    imported, first, again = json.loads(ran.stdout)
    assert imported <= 10, "the grammars have about 70 terminals; compiling all of them takes longer than the rest of a query"
    assert 0 < first <= 16
    assert again == 0
