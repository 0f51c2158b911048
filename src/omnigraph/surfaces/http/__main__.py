"""`python -m omnigraph.surfaces.http`: what `omnigraph serve` becomes."""

from omnigraph.surfaces.http.process.command import start

start()
