"""The graph and the calls that the tests of the command line use."""

from __future__ import annotations

from tests.surfaces.conftest import og, people, people_once
from tests.surfaces.test_contract import filled

__all__ = ["filled", "og", "people", "people_once"]
