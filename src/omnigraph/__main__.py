"""`python -m omnigraph` is the `omnigraph` command."""

from omnigraph.surfaces.cli.start import main

if __name__ == "__main__":
    main()
