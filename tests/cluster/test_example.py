"""The example is what it says: it validates, its policies pass their tests, it is applied and can be served."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from omnigraph.cluster.serving.revision import read_serving
from omnigraph.surfaces.cli.main import run

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster"


def test_it_is_applied_and_can_be_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "cluster"))
    assert run(["cluster", "validate", "--config", str(folder)]) == 0
    assert capsys.readouterr().err == "", "not even a warning"
    assert run(["cluster", "apply", "--init", "--config", str(folder), "--as", "ada"]) == 0
    found = read_serving(str(folder))
    assert {g.id: sorted(g.queries) for g in found.graphs} == {
        "knowledge": ["add_topic", "experts", "topics"],
        "support": ["open_ticket", "open_tickets"],
    }
    assert {g.id: g.provider and g.provider.name for g in found.graphs} == {"knowledge": "words", "support": None}
    assert found.cluster_policy is not None
    assert {bundle.name for bundle in found.policies} == {"knowledge", "server", "support"}


@pytest.mark.parametrize("bundle", ["knowledge", "server", "support"])
def test_its_policies_pass_their_tests(bundle: str) -> None:
    pytest.importorskip("cedarpy")
    folder = EXAMPLE / "policies"
    assert run(["policy", "test", "--file", f"{folder}/{bundle}.yaml", "--tests", f"{folder}/{bundle}.tests.yaml"]) == 0


def test_every_policy_has_tests() -> None:
    bundles = {path.stem for path in (EXAMPLE / "policies").glob("*.yaml") if not path.stem.endswith(".tests")}
    assert {path.name.removesuffix(".tests.yaml") for path in (EXAMPLE / "policies").glob("*.tests.yaml")} == bundles
