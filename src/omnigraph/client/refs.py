"""Branches and tags of a graph on a server: `g.branches`, `g.tags`."""

from __future__ import annotations

import builtins
from urllib.parse import quote

import msgspec

from omnigraph.client.asking import no_actor
from omnigraph.client.transport import Transport
from omnigraph.client.values import deleted_tag_of, ref_of, some_commit_of, tag_of
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import guarded
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.commits.deleted_tags import DeletedTag
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.refs import Ref, Tag
from omnigraph.wire import outputs as o
from omnigraph.wire import own_outputs as own


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


class RemoteBranches:
    """The branches of a graph on a server: `g.branches`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        names = self.list()
        return one_line(f"{counted(len(names), 'branch')}: {', '.join(names)}")

    @guarded(name=arguments.branch)
    def create(self, name: str, from_: State = "main", *, actor: str | None = None) -> Ref:
        """A branch that starts where another branch is, or at a commit or tag."""
        no_actor(actor)
        made = self._transport.post("/branches", {"name": name, "from": name_of(from_)}, o.BranchCreateOutput)
        return self.get(made.name)

    @guarded(name=arguments.branch)
    def get(self, name: str) -> Ref:
        """A branch: where it came from, who created it and when."""
        return ref_of(self._transport.get(f"/branches/{segment(name)}", o.BranchOutput))

    @guarded()
    def list(self) -> list[str]:
        """Names, sorted."""
        return self._transport.get("/branches", o.BranchListOutput).branches

    @guarded(name=arguments.branch)
    def delete(self, name: str, *, actor: str | None = None) -> Commit | None:
        """Forget a branch. Gives its last commit, which says who deleted it."""
        no_actor(actor)
        said = self._transport.send("DELETE", f"/branches/{segment(name)}").content
        return some_commit_of(msgspec.json.decode(said, type=o.BranchDeleteOutput).commit)


class RemoteTags:
    """The tags of a graph on a server: `g.tags`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        names = [tag.name for tag in self.list()]
        return one_line(f"{counted(len(names), 'tag')}{': ' if names else ''}{', '.join(names)}")

    @guarded(name=arguments.branch)
    def create(self, name: str, commit: State, *, actor: str | None = None) -> Tag:
        """A name for a commit (or for the newest of a branch), which is then never reclaimed."""
        no_actor(actor)
        return tag_of(self._transport.post("/tags", {"name": name, "commit": name_of(commit)}, own.TagOutput))

    @guarded()
    def deleted(self) -> builtins.list[DeletedTag]:
        """Tags that were deleted, by name: what they named, who deleted them and when. Of each name the last deletion."""
        return [deleted_tag_of(d) for d in self._transport.get("/tags/deleted", own.DeletedTagListOutput).deleted]

    @guarded()
    def list(self) -> builtins.list[Tag]:
        """Every tag, by name."""
        return [tag_of(tag) for tag in self._transport.get("/tags", own.TagListOutput).tags]

    @guarded(name=arguments.branch)
    def delete(self, name: str, *, actor: str | None = None) -> DeletedTag | None:
        """Forget a name."""
        no_actor(actor)
        said = self._transport.send("DELETE", f"/tags/{segment(name)}").content
        gone = msgspec.json.decode(said, type=own.TagDeleteOutput).deleted
        return None if gone is None else deleted_tag_of(gone)
