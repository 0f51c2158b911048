"""`python -m omnigraph.surfaces.http`: what `omnigraph serve` becomes."""

from omnigraph.surfaces.http.command import start

start()
