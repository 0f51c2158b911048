"""`omnigraph embed`."""

from __future__ import annotations

import os

import click

from omnigraph.errors import UsageError
from omnigraph.model.phrases import counted
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command
from omnigraph.surfaces.cli.seeds import Job, Mode, Selector, Spec, manifest, rewrite


@click.command(cls=Command, capability=Capability.LOCAL)
@click.option("--seed", metavar="YAML", help="A manifest that names input, output and spec.")
@click.option("--input", "source", metavar="FILE", help="JSON lines to read.")
@click.option("--output", "target", metavar="FILE", help="JSON lines to write.")
@click.option("--spec", "spec_path", metavar="JSON", help="Which properties are embedded, and where the vector goes.")
@click.option("--clean", is_flag=True, help="Remove vectors instead.")
@click.option("--reembed-all", is_flag=True, help="Also replace existing vectors.")
@click.option("--type", "types", multiple=True, metavar="T", help="Only records of these types.")
@click.option("--select", "selectors", multiple=True, metavar="SEL", help="Only these: Type:field=value or field=value.")
@json_option("what was done")
def command(
    seed: str | None,
    source: str | None,
    target: str | None,
    spec_path: str | None,
    clean: bool,
    reembed_all: bool,
    types: tuple[str, ...],
    selectors: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add vectors to a file of records before it is loaded.

    Records that have a vector keep it unless they are selected, or --reembed-all is given. The provider is the one the
    environment names; OMNIGRAPH_EMBEDDINGS_MOCK=1 derives made-up vectors from the text, without a network.

    \b
    omnigraph embed --input data.jsonl --output data.embedded.jsonl --spec embed.json
    """
    if clean and reembed_all:
        raise click.UsageError("--clean and --reembed-all exclude each other")
    given = (source, target, spec_path)
    if (seed is None) == (given == (None, None, None)) or (seed is None and None in given):
        raise click.UsageError("give --seed, or --input, --output and --spec")
    read, written, spec = manifest(seed) if seed is not None else given
    assert read is not None
    assert written is not None
    assert spec is not None
    chosen = tuple(Selector.read(text) for text in selectors)
    if clean:
        mode = Mode.CLEAN
    elif reembed_all:
        mode = Mode.REEMBED_ALL
    else:
        mode = Mode.REEMBED_SELECTED if chosen else Mode.FILL_MISSING
    from omnigraph.embedding import configured

    embedder = configured(os.environ)
    if embedder is None and mode is not Mode.CLEAN:
        raise UsageError(
            "no embedding provider is configured",
            hint="Set OMNIGRAPH_EMBEDDINGS_MOCK=1 for made-up vectors; from Python, pass embedder=… to og.open.",
        )
    job = Job(Spec.read(spec), mode, types, chosen)
    rewrite(read, written, job, embedder.embed if embedder is not None else lambda _texts, _dimension: ())
    count = job.count
    if as_json:
        print_json(
            {
                "input": read,
                "output": written,
                "records": count.records,
                "selected_records": count.selected,
                "embedded_records": count.embedded,
                "cleaned_records": count.cleaned,
                "mode": mode.value,
                "dimension": job.spec.dimension,
                "model": None if embedder is None else embedder.model,
            }
        )
        return
    say(
        f"embedded {counted(count.embedded, 'record')} (selected {count.selected}, cleaned {count.cleaned}) "
        f"from {read} -> {written} [{mode.value} {job.spec.dimension}d]"
    )
