"""What is asked of a cluster through the door: a plan, a deployment, and what came of one. All of it is `config_manage`.

They are about the cluster, not about one of its graphs, so decisions and the audit call what they are about `root`. Whoever may
deploy decides what is served and by which policies, so no right to single graphs is asked for besides; what is done to each graph
is done by a service of its own (`by`), which writes it down in the same audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from omnigraph.cluster.config.files import SentFiles
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import SMALL, Lookup, Operation

if TYPE_CHECKING:
    from omnigraph.cluster.applying.deploying import Deployment
    from omnigraph.cluster.applying.outputs import Planned
    from omnigraph.cluster.applying.session import Control
    from omnigraph.service import Caller, Service
    from omnigraph.service.graphs import Graphs

_CONFIG_MANAGE = (Access(Action.CONFIG_MANAGE),)


@frozen(slots=False)
class PlanDeployment(Operation["Planned"]):
    """What a deployment would do. Nothing is changed."""

    name: ClassVar = "cluster plan"
    sent: SentFiles
    by: Callable[[], Service]

    @property
    def size(self) -> int:
        return self.sent.size

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return _CONFIG_MANAGE

    def run(self, graphs: Graphs, caller: Caller) -> Planned:
        from omnigraph.cluster.applying.planning import plan

        with _control(self.sent, self.by, caller) as control:
            return plan(control)


@frozen(slots=False)
class Deploy(Operation["Deployment"]):
    """A configuration that was sent is applied, once for each id."""

    name: ClassVar = "cluster deploy"
    sent: SentFiles
    by: Callable[[], Service]
    deployment_id: str

    @property
    def writes(self) -> bool:
        return True

    @property
    def size(self) -> int:
        return SMALL + self.sent.size

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return _CONFIG_MANAGE

    def run(self, graphs: Graphs, caller: Caller) -> Deployment:
        from omnigraph.cluster.applying.deploying import deploy

        with _control(self.sent, self.by, caller) as control:
            return deploy(control, self.deployment_id)

    def changed(self, result: Deployment) -> bool:
        return result.record.result is not None and bool(result.record.result["state_written"])


@frozen(slots=False)
class ListDeployments(Operation["list[Deployment]"]):
    """The deployments of a cluster, the newest first."""

    name: ClassVar = "cluster deployments"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return _CONFIG_MANAGE

    def run(self, graphs: Graphs, caller: Caller) -> list[Deployment]:
        from omnigraph.cluster.applying.deploying import every

        return every(self.graph.uri)


@frozen(slots=False)
class ShowDeployment(Operation["Deployment"]):
    """What came of a deployment, or how far it is."""

    name: ClassVar = "cluster deployment show"
    deployment_id: str

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return _CONFIG_MANAGE

    def run(self, graphs: Graphs, caller: Caller) -> Deployment:
        from omnigraph.cluster.applying.deploying import show

        return show(self.graph.uri, self.deployment_id)


@contextmanager
def _control(sent: SentFiles, by: Callable[[], Service], caller: Caller) -> Iterator[Control]:
    from omnigraph.cluster.applying.session import Control

    service = by()
    try:
        yield Control(Path(sent.where), service, caller, sent=sent)
    finally:
        service.close()
