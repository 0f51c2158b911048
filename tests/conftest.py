"""For all tests: how long an example takes says something about the machine, not about the claim."""

from hypothesis import settings

settings.register_profile("omnigraph", deadline=None)
settings.load_profile("omnigraph")
