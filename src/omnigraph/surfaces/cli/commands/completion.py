"""`omnigraph completion`."""

from __future__ import annotations

import click

from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command

VARIABLE = "_OMNIGRAPH_COMPLETE"


@click.command(cls=Command, capability=Capability.LOCAL)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option("the script")
def command(shell: str, as_json: bool) -> None:
    """Print a script that lets a shell complete commands, options and names.

    \b
    bash   echo 'eval "$(omnigraph completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(omnigraph completion zsh)"' >> ~/.zshrc
    fish   omnigraph completion fish > ~/.config/fish/completions/omnigraph.fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(root, {}, "omnigraph", VARIABLE).source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        say(script)
