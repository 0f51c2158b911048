"""Where a cluster lies is left out of what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.surfaces.http.answering.places import Places


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/srv/team", "."),
        ("/srv/team/", "."),
        ("/srv/team/__cluster/state.json", "__cluster/state.json"),
        ("there is no folder /srv/team.", "there is no folder .."),
        ("cannot read '/srv/team/a b.pg': denied", "cannot read 'a b.pg': denied"),
        ("file:///srv/team/graphs/people.omni holds no graph", "graphs/people.omni holds no graph"),
        ("s3://bucket/team/graphs/x", "graphs/x"),
        ("/srv/teams/x and /srv/team-2/y", "/srv/teams/x and /srv/team-2/y"),
        ("schema.people", "schema.people"),
        ("/srv/team//x", "x"),
        ("/srv//team/x", "x"),
        ("/srv/team/-x/y", "-x/y"),
        ("/srv/team/@x", "@x"),
        ("/srv/team.old/x", "/srv/team.old/x"),
        ({"a": ["/srv/team/x", 7, None]}, {"a": ["x", 7, None]}),
    ],
)
def test_what_is_left_of_a_text(said: object, told: object) -> None:
    assert Places("/srv/team", "s3://bucket/team").left_out(said) == told


def test_a_relative_name_is_no_word_to_leave_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places = Places("cluster")
    assert places.left_out(["cluster", "cluster.yaml", f"{tmp_path}/cluster/x.pg"]) == [".", "cluster.yaml", "x.pg"]


@pytest.mark.parametrize("places", [(), ("",), ("/",)])
def test_no_place_at_all(places: tuple[str, ...]) -> None:
    assert Places(*places).left_out("/srv/team/x") == "/srv/team/x"
