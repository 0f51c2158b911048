"""A Spark session: one that is there, a tuned local one, or one on a cluster.

    session()                                      this process's session, or a new one: where spark-submit says, or on all
                                                   cores of this machine
    session(master="spark://host:7077")            a new one on a cluster; the package is shipped to its executors
    session(master="sc://host:15002")              a client of a Spark Connect server

A session that is there is given as it is: it learns the formats, and not one of its settings is another one. Under `spark-submit`
a new session has the master and the settings that were submitted, and Spark's defaults for the rest; only what tasks need of
their environment is added where nothing is said (`_OF_WORKERS`). `master` and `config` win, as settings in a program do.

What differs from Spark's defaults in a session that is started here, and why:

* no web page, no progress bars, and everything the Java side says goes to a log file instead of the terminal
  (`spark.omnigraph.log` names it; when Spark cannot start, its last lines are in the error);
* columns travel as Arrow batches, small ones whose bytes nobody counts (`omnigraph.pipeline.batches`);
* the time zone is UTC; names are case-sensitive, as in a graph;
* the Python of the workers is the one that runs here, and Lance uses one thread in each, because Spark fills the cores itself;
* a Python worker keeps the memory it has, for the next batch and the next task: to give it back and have it again, page by page,
  was a sixth of its work;
* the Java side does not collect garbage just because it has loaded many classes, which Spark always does;
* `quick=True` compiles less and keeps an archive of loaded classes, which halves the start: for tests, commands, and loads of
  files that have to start a session themselves. Long work on the Java side (joins of what does not fit, other people's jobs) is
  better off without.
"""

from __future__ import annotations

import hashlib
import os
import py_compile
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import IO, Final

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from omnigraph.engine.calls.guard import guarded
from omnigraph.errors import SparkUnavailable
from omnigraph.model.versions import __version__
from omnigraph.pipeline.batches import NO_LIMIT, SPARK_ROWS
from omnigraph.pipeline.java import Java, cache_folder, find_java

LOG: Final = "spark.omnigraph.log"
"""Setting that names the log file of a session made here."""

_SHOWN_LINES: Final = 12

_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.maxResultSize": "0",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(SPARK_ROWS),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(NO_LIMIT),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

_OF_WORKERS: Final = {
    "spark.executorEnv.LANCE_CPU_THREADS": "1",
    "spark.executorEnv.LANCE_IO_THREADS": "2",  # with one, a commit waits for itself
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "1",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(256 << 20),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(512 << 20),
}

SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, which has started the Java side with the settings it was given."""

_FOR_CLASSES: Final = "-XX:MetaspaceSize=256m"
"""Room for the classes of Spark: each time the room is used up, the Java side looks through all of its memory."""


@guarded()
def session(
    *,
    master: str | None = None,
    app_name: str = "omnigraph",
    config: Mapping[str, str] | None = None,
    quick: bool = False,
) -> SparkSession:
    """A session to work with. Without a master and settings, that of this process is given if there is one."""
    config = dict(config or {})
    if master is not None and master.startswith("sc://"):
        return _remote(master, app_name, config)
    running = _running()
    if running is None:
        if SUBMITTED in os.environ:
            return _submitted(master, app_name, config)
        return _started(master or "local[*]", app_name, config, quick)
    if master is not None or config:
        asked = ", ".join([*([f"master {master}"] if master else []), *(f"{name}={value}" for name, value in config.items())])
        raise SparkUnavailable(
            f"a Spark session is running in this process ({_master(running)}), and there can be only one: "
            f"{asked} is not possible",
            hint="Use it, with ogs.session() or spark=…, or end it first with spark.stop().",
        )
    _register(running)
    return running


def ready(spark: SparkSession | None) -> SparkSession:
    """A session that knows the formats: the given one, or that of this process."""
    if spark is None:
        return session()
    _register(spark)
    return spark


def _running() -> SparkSession | None:
    """The session of this process, whichever thread asks."""
    active = SparkSession.getActiveSession()
    if active is not None and _is_alive(active):
        return active
    context = SparkContext._active_spark_context
    if context is None or context._jsc is None or context._jsc.sc().isStopped():
        return None
    found: SparkSession = SparkSession.builder.getOrCreate()
    return found


def _master(spark: SparkSession) -> str:
    return "Spark Connect" if is_connect(spark) else str(spark.sparkContext.master)


def is_local(spark: SparkSession) -> bool:
    """Whether the executors are this machine and this process's own."""
    return str(spark.conf.get("spark.master", "") or "").startswith("local[") and not is_connect(spark)


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a client of a Spark Connect server, which has no `sparkContext`."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def as_active(spark: SparkSession) -> Iterator[None]:
    """Let a session be the active one of its process for a while: Spark asks that one where it should ask the one at hand."""
    if is_connect(spark):
        yield
        return
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def package_zip() -> Path:
    """This package as a zip that executors can import from, made anew when the code has changed.

    Modules are in it as text and compiled: from a zip, every process of every executor would compile them again.
    """
    root = Path(__file__).parent.parent
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".typed") and path.is_file())
    mark = hashlib.sha256(MAGIC_NUMBER)
    for path in files:
        mark.update(f"{path.relative_to(root)}".encode() + b"\0" + path.read_bytes())
    target = cache_folder() / f"omnigraph-{__version__}-{mark.hexdigest()[:12]}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as zipped:
            for path in files:
                name = f"omnigraph/{path.relative_to(root).as_posix()}"
                zipped.write(path, name)
                if path.suffix == ".py":
                    zipped.writestr(f"{name}c", _compiled(path, name))
        draft.replace(target)
    return target


def _compiled(path: Path, name: str) -> bytes:
    """A module as Python keeps it, never to be compared with its text again."""
    with tempfile.NamedTemporaryFile(suffix=".pyc") as made:
        py_compile.compile(str(path), made.name, name, doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
        return Path(made.name).read_bytes()


@guarded()
def ship_package(spark: SparkSession) -> None:
    """Let the executors of a session import this package. What it depends on must be installed there."""
    spark.addArtifacts(str(package_zip()), pyfile=True)


def _is_alive(spark: SparkSession) -> bool:
    if is_connect(spark):
        return True
    return spark.sparkContext._jsc is not None and not spark.sparkContext._jsc.sc().isStopped()


def _remote(url: str, app_name: str, config: Mapping[str, str]) -> SparkSession:
    if find_spec("grpc") is None:
        raise SparkUnavailable(
            f"cannot reach Spark at {url}: a client of Spark Connect needs the package grpcio",
            hint="pip install 'pyspark[connect]', or use a spark:// master.",
        )
    builder = SparkSession.builder.remote(url).appName(app_name)
    for name, value in config.items():
        builder = builder.config(name, value)
    try:
        spark: SparkSession = builder.getOrCreate()
        ship_package(spark)
        _register(spark)
    except Exception as error:  # whatever the client library raises, the person needs the address and the reason
        raise SparkUnavailable(f"cannot reach Spark at {url}: {error}", hint="Check the address and the server.") from error
    return spark


def _submitted(master: str | None, app_name: str, config: Mapping[str, str]) -> SparkSession:
    """A session as spark-submit was configured: its settings are in the Java that it started."""
    try:
        SparkContext._ensure_initialized()
        conf = SparkConf(_jvm=SparkContext._jvm)
        for name, value in {"spark.app.name": app_name, "spark.master": "local[*]", **_OF_WORKERS}.items():
            conf.setIfMissing(name, value)
        for name, value in {**({} if master is None else {"spark.master": master}), **config}.items():
            conf.set(name, value)
        chosen = str(conf.get("spark.master"))
        if chosen.startswith("local"):  # tasks run here: with the Python that runs here, unless somebody says otherwise
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        context = SparkContext(conf=conf)
    except (PySparkException, Py4JError, OSError, RuntimeError, ValueError) as error:
        raise SparkUnavailable(f"Spark {pyspark.__version__} could not start: {error}", hint=_hint(None)) from error
    return _equipped(context, chosen)


def _started(master: str, app_name: str, config: Mapping[str, str], quick: bool) -> SparkSession:
    java = find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    log = tempfile.NamedTemporaryFile("wb", prefix="omnigraph-spark-", suffix=".log", delete=False)  # noqa: SIM115 - Java writes on
    settings = {**_SETTINGS, **_OF_WORKERS, "spark.master": master, "spark.app.name": app_name, LOG: log.name}
    settings["spark.sql.warehouse.dir"] = str(Path(tempfile.gettempdir()) / "omnigraph-warehouse")
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    settings["spark.driver.extraJavaOptions"] = _FOR_CLASSES
    if quick:
        settings["spark.driver.extraJavaOptions"] += f" {_quick_options(java)}"
    settings |= config
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    try:
        context = _context(conf, java, log)
    except (PySparkException, OSError, RuntimeError, ValueError) as error:
        raise SparkUnavailable(_why(error, master, java, Path(log.name)), hint=_hint(java)) from error
    finally:
        log.close()
    return _equipped(context, master)


def _equipped(context: SparkContext, master: str) -> SparkSession:
    """The session of a new context, with what is needed to work with it."""
    spark: SparkSession = SparkSession.builder.getOrCreate()
    if not master.startswith("local"):
        ship_package(spark)
    assert spark.sparkContext is context
    _register(spark)
    return spark


def _register(spark: SparkSession) -> None:
    """Let a session know the formats, if it does not."""
    from omnigraph.pipeline.source import register  # which needs sessions itself

    register(spark)


def _context(conf: SparkConf, java: Java, log: IO[bytes]) -> SparkContext:
    """A context, on a virtual machine whose words go to a file."""
    if SparkContext._gateway is not None:
        return SparkContext(conf=conf)
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = java.home
    try:
        with warnings.catch_warnings():  # Lance warns of forks; this one becomes Java at once
            warnings.filterwarnings("ignore", message="lance is not fork-safe")
            gateway = launch_gateway(conf, popen_kwargs={"stderr": log})  # type: ignore[no-untyped-call]
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
    return SparkContext(gateway=gateway, conf=conf)


def _quick_options(java: Java) -> str:
    """Less compiling, and classes from an archive, which the first session to end leaves for those after it."""
    mark = hashlib.sha256(f"{java.home}\0{java.major}\0{pyspark.__version__}\0{pyspark.__file__}".encode()).hexdigest()[:12]
    archive = cache_folder() / f"spark-{pyspark.__version__}-{mark}.jsa"
    archive.parent.mkdir(parents=True, exist_ok=True)
    use = "SharedArchiveFile" if archive.exists() else "ArchiveClassesAtExit"
    return f"-XX:TieredStopAtLevel=1 -XX:{use}={archive} -Xshare:auto -Xlog:disable -Xlog:all=off"


def _why(error: Exception, master: str, java: Java, log: Path) -> str:
    tried = f"Java {java.major} from {java.found_at}"
    said = log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
    lines = [f"Spark {pyspark.__version__} could not start on {master} with {tried}", f"  {error}".rstrip()]
    return "\n".join([*lines, *(f"  {line}" for line in said)])


def _hint(java: Java | None) -> str:
    if java is None:
        return "Check what spark-submit was given."
    return f"Check the master, JAVA_HOME (now {java.home}) and the memory of this machine."
