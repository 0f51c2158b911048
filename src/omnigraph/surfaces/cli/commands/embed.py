"""`omnigraph embed`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from omnigraph.errors import UsageError
from omnigraph.model.phrases import counted
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import PURPOSE, SERVERS, WRITES, Capability, Command, address, connect_to, here
from omnigraph.surfaces.cli.seeds import Job, Mode, Selector, Spec, manifest, rewrite

if TYPE_CHECKING:
    from omnigraph.embedding import Usage


@click.command(cls=Command, capability=Capability.LOCAL, usable=WRITES | SERVERS)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--seed", metavar="YAML", help="A manifest that names input, output and spec.")
@click.option("--input", "source", metavar="FILE", help="JSON lines to read.")
@click.option("--output", "target", metavar="FILE", help="JSON lines to write.")
@click.option("--spec", "spec_path", metavar="JSON", help="Which properties are embedded, and where the vector goes.")
@click.option("--clean", is_flag=True, help="Remove vectors instead.")
@click.option("--reembed-all", is_flag=True, help="Also replace existing vectors.")
@click.option("--type", "types", multiple=True, metavar="T", help="Only records or entities of these types.")
@click.option("--select", "selectors", multiple=True, metavar="SEL", help="Only these: Type:field=value or field=value.")
@click.option("--branch", metavar="B", help="The branch of a graph to work on; main unless given.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="Of a graph: end after so many seconds.")
@json_option("what was done")
def command(
    uri: str | None,
    seed: str | None,
    source: str | None,
    target: str | None,
    spec_path: str | None,
    clean: bool,
    reembed_all: bool,
    types: tuple[str, ...],
    selectors: tuple[str, ...],
    branch: str | None,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Make vectors: of the texts of a graph, or of a file of records before it is loaded.

    Of a graph, vectors of @embed properties are made where they are missing or their text has changed. Ctrl-C, a failure or
    --timeout keep what was made for the next time. Of a graph behind a server, the provider of the server makes them.

    Of a file, records that have a vector keep it unless they are selected, or --reembed-all is given. The provider is the one
    the environment names; OMNIGRAPH_EMBEDDINGS_MOCK=1 derives made-up vectors from the text, without a network.

    \b
    omnigraph embed people.omni --type Doc
    omnigraph embed --server https://graphs.example --graph people
    omnigraph embed --input data.jsonl --output data.embedded.jsonl --spec embed.json
    """
    if clean and reembed_all:
        raise click.UsageError("--clean and --reembed-all exclude each other")
    given = (source, target, spec_path)
    flags = here()
    if uri is not None or any(map(flags.given, PURPOSE)):
        if seed is not None or any(given) or clean or selectors:
            raise click.UsageError("a graph takes --type, --branch, --timeout and --reembed-all; the others are for files")
        _embed_graph(uri, branch or "main", types, reembed_all, timeout, as_json)
        return
    if branch is not None or timeout is not None:
        raise click.UsageError("--branch and --timeout are for graphs: name one")
    if (seed is None) == (given == (None, None, None)) or (seed is None and None in given):
        raise click.UsageError("name a graph, or give --seed, or --input, --output and --spec")
    if seed is not None:
        read, written, spec = manifest(seed)
    else:
        assert source is not None
        assert target is not None
        assert spec_path is not None
        read, written, spec = source, target, Spec.read(spec_path)
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
            hint="Set OMNIGRAPH_EMBED_PROVIDER and its key, or OMNIGRAPH_EMBEDDINGS_MOCK=1 for made-up vectors.",
        )
    job = Job(spec, mode, types, chosen)
    usage: Usage | None = None
    if embedder is None:
        rewrite(read, written, job, lambda _texts, _dimension: ())
    else:
        from omnigraph.embedding.paced import Paced
        from omnigraph.embedding.port import Provider

        if isinstance(embedder, Provider):
            embedder.prepare(job.spec.dimension)
        paced = Paced(embedder)
        rewrite(read, written, job, lambda texts, dimension: paced.embed(texts, dimension).tolist())
        usage = paced.usage
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
                **({} if usage is None else {"usage": _usage(usage)}),
            }
        )
        return
    say(
        f"embedded {counted(count.embedded, 'record')} (selected {count.selected}, cleaned {count.cleaned}) "
        f"from {read} -> {written} [{mode.value} {job.spec.dimension}d]"
    )
    if usage is not None and usage.texts:
        say(f"provider: {usage}")


def _embed_graph(uri: str | None, branch: str, types: tuple[str, ...], again: bool, timeout: float | None, as_json: bool) -> None:
    from omnigraph.service.operations.embed import Embed
    from omnigraph.surfaces.cli.confirmation import echo_write, interruptible

    where = address(uri)
    echo_write("embed", where)
    with connect_to(where, read_only=False) as graph, interruptible(graph, branch):
        done = graph.run(Embed(graph.ref, types or None, branch, again, timeout))
    if as_json:
        properties = [
            {
                "type": p.type,
                "property": p.property,
                "entities": p.entities,
                "requested": p.requested,
                "commit": p.commit,
                "usage": _usage(p.usage),
            }
            for p in done.properties
        ]
        print_json({"uri": where, "branch": branch, "model": done.model, "properties": properties, "usage": _usage(done.usage)})
        return
    for found in done.properties:
        say(repr(found))
    say(f"embedded {counted(done.entities, 'entity')} of {where} with {done.model}")
    if done.usage.texts:
        say(f"provider: {done.usage}")


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "texts": usage.texts,
        "requests": usage.requests,
        "retries": usage.retries,
        "tokens": usage.tokens,
        "cost": usage.cost,
        "seconds": round(usage.seconds, 3),
    }
