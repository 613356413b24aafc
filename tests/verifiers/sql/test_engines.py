"""DuckDB, PostgreSQL and translation: the same verdicts, behind guards of their own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.verifiers.sql import SqlVerifier
from rewardkit.verifiers.sql._engines.base import Limits, QueryError
from rewardkit.verifiers.sql._engines.duckdb import DuckdbEngine
from rewardkit.verifiers.sql._engines.sqlite import SqliteEngine
from rewardkit.verifiers.sql.compat import r_ves
from tests._needs import needs

DDL = (
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b VARCHAR(9)); CREATE TABLE c(a INTEGER REFERENCES t(a))"
)
ROWS = "INSERT INTO t VALUES (1, 'x'), (2, NULL); INSERT INTO c VALUES (1), (1)"


def reference(sql, **more):
    return {"schema": DDL, "rows": ROWS, "sql": sql, **more}


@pytest.fixture(scope="module")
def duck() -> Iterator[SqlVerifier]:
    with SqlVerifier(dialect="duckdb", workers=1, databases=6, timeout_s=20.0) as made:
        yield made


def test_duckdb_runs_in_its_own_dialect(duck):
    verdict = duck.verify("FROM t SELECT b", reference("SELECT b FROM t"))
    assert verdict.passed
    assert "transpiled" not in verdict.evidence
    wrong = duck.verify(
        "SELECT b FROM t WHERE b IS NOT NULL OR a = 2", reference("SELECT b FROM t")
    )
    assert wrong.evidence["why"] == "coincidental"
    assert "INSERT INTO" in wrong.evidence["witness"]


@pytest.mark.parametrize(
    "hostile",
    [
        "COPY t TO '/tmp/rewardkit_duck.csv'",
        "ATTACH '/tmp/rewardkit_duck.db'",
        "EXPORT DATABASE '/tmp/rewardkit_duck'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "SELECT getenv('HOME')",
        "SET memory_limit = '64GB'",
        "SELECT b FROM t; DELETE FROM t",
        "SELECT length(repeat('x', 1000000000)) FROM t",
        "SELECT * FROM duckdb_settings()",
        "SELECT '\ud800'",
    ],
)
def test_duckdb_refuses(duck, hostile):
    assert duck.verify(hostile, reference("SELECT b FROM t")).score == 0.0
    assert duck.verify("SELECT b FROM t", reference("SELECT b FROM t")).passed
    assert not list(Path("/tmp").glob("rewardkit_duck*"))


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM t",
        "CREATE TABLE x(a INT)",
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY t TO '/tmp/rewardkit_duck.csv'",
        "SET threads = 4",
        "SELECT 1; SELECT 2",
    ],
)
def test_the_duckdb_store_refuses_without_the_parser_s_help(sql):
    engine = DuckdbEngine(schema=DDL, rows=ROWS)
    store = engine.given()
    with pytest.raises(QueryError) as caught:
        store.run(sql, Limits())
    assert caught.value.kind in ("unsafe", "several_statements")
    assert store.run("SELECT COUNT(*) FROM t", Limits()).rows == [(2,)]
    engine.close()


def test_duckdb_interrupts_a_query():
    engine = DuckdbEngine(schema=DDL, rows=ROWS)
    endless = "SELECT COUNT(*) FROM range(1000000000) x, range(1000000000) y"
    with pytest.raises(QueryError) as caught:
        engine.given().run(endless, Limits(seconds=0.3))
    assert caught.value.kind in ("timeout", "memory")
    engine.close()


@pytest.mark.parametrize(
    ("dialect", "sql", "same", "engine"),
    [
        (
            "mysql",
            "SELECT `b` FROM `t` ORDER BY `a` LIMIT 1, 1",
            "SELECT b FROM t ORDER BY a LIMIT 1 OFFSET 1",
            "sqlite",
        ),
        (
            "postgres",
            "SELECT DISTINCT ON (b) b, a FROM t ORDER BY b, a",
            "SELECT b, MIN(a) FROM t GROUP BY b ORDER BY b",
            "duckdb",
        ),
    ],
)
def test_other_dialects_are_translated_and_say_so(verifier, dialect, sql, same, engine):
    verdict = verifier.verify(same, reference(sql, dialect=dialect))
    assert verdict.passed, verdict
    assert verdict.evidence["transpiled"] == f"{dialect} to {engine}"


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    """A server of our own: $REWARDKIT_POSTGRES_DSN, or the programs of an installed one."""
    needs("psycopg")
    given = os.environ.get("REWARDKIT_POSTGRES_DSN")
    if given:
        yield given
        return
    server = shutil.which("pg_ctl") or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), reverse=True)), None
    )
    if server is None:
        pytest.skip("no PostgreSQL server is installed here (apt-get install postgresql)")
    # Not below pytest's own folder, which another user may not enter.
    folder = Path(tempfile.mkdtemp(prefix="rewardkit-pg-"))
    run_as: dict[str, object] = {}
    if os.geteuid() == 0:  # a server refuses to run as root
        import pwd

        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("root, and no user postgres to run a server as")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        run_as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    bin_folder = Path(server).resolve().parent

    def run(*command: str) -> None:
        subprocess.run(
            command,
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **run_as,
        )

    run(str(bin_folder / "initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "grader")
    options = f"-k {folder} -c listen_addresses= -c fsync=off -c shared_buffers=16MB"
    run(server, "-D", f"{folder}/data", "-o", options, "-w", "-l", f"{folder}/log", "start")
    yield f"host={folder} user=grader dbname=postgres"
    run(server, "-D", f"{folder}/data", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def postgres(dsn: str) -> Iterator[SqlVerifier]:
    with SqlVerifier(dialect="postgres", dsn=dsn, workers=1, databases=6, timeout_s=20.0) as made:
        yield made


def test_postgres_runs_in_scratch_schemas(postgres):
    sql = "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a"
    verdict = postgres.verify("SELECT a, b FROM t ORDER BY a", reference(sql))
    assert verdict.passed, verdict
    assert "transpiled" not in verdict.evidence
    wrong = postgres.verify("SELECT a, b FROM t WHERE a < 3 ORDER BY a", reference(sql))
    assert wrong.evidence["why"] == "coincidental"


@pytest.mark.parametrize(
    ("hostile", "why"),
    [
        ("WITH x AS (DELETE FROM t RETURNING b) SELECT b FROM x", "unsafe"),
        ("SELECT b FROM t; DROP TABLE t", "several_statements"),
        ("SELECT b FROM t WHERE b = '\\'; DROP TABLE t; --'", "several_statements"),
        ("SELECT set_config('statement_timeout', '0', false)", "unsafe"),
        ("SELECT pg_sleep(100)", "unsafe"),
        ("SELECT relname FROM pg_class", "unsafe"),
        ("SELECT nextval('x')", "unsafe"),
        ("SELECT b FROM t FOR UPDATE", "unsafe"),
    ],
)
def test_postgres_refuses(postgres, hostile, why):
    verdict = postgres.verify(hostile, reference("SELECT b FROM t"))
    assert (verdict.score, verdict.evidence["why"]) == (0.0, why)


def test_postgres_ends_a_long_query_and_keeps_nothing(postgres, dsn):
    endless = "SELECT COUNT(*) FROM generate_series(1, 1000000000) WHERE random() < 2"
    with SqlVerifier(dialect="postgres", dsn=dsn, workers=1, timeout_s=4.0) as quick:
        assert quick.verify(endless, reference("SELECT b FROM t")).reason.value == "timeout"
    psycopg = needs("psycopg")
    with psycopg.connect(dsn) as connection:
        left = "SELECT COUNT(*) FROM pg_namespace WHERE nspname LIKE 'rewardkit%'"
        assert connection.execute(left).fetchall() == [(0,)]


def test_the_tables_of_a_live_database_are_read(dsn):
    psycopg = needs("psycopg")
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE live(a INT)")
        connection.execute("INSERT INTO live VALUES (1), (2)")
    live = {"dsn": dsn, "dialect": "postgres", "sql": "SELECT MAX(a) FROM live"}
    with SqlVerifier(workers=1) as verifier:
        verdict = verifier.verify("SELECT a FROM live ORDER BY a DESC LIMIT 1", live)
        assert (verdict.score, verdict.evidence["tier"]) == (1.0, "given rows")
        assert verifier.verify("SELECT MIN(a) FROM live", live).score < 0.31


def test_a_server_that_is_not_there_is_an_abstention(tmp_path):
    needs("psycopg")
    with SqlVerifier(dialect="postgres", dsn=f"host={tmp_path} user=x", workers=1) as verifier:
        verdict = verifier.verify("SELECT b FROM t", reference("SELECT b FROM t"))
    assert verdict.score is None


def test_sqlite_needs_no_other_engine():
    code = (
        "import sys\n"
        "sys.modules['duckdb'] = None\n"
        "from rewardkit import SqlVerifier\n"
        "from rewardkit.errors import EngineMissingError\n"
        f"reference = {reference('SELECT b FROM t')!r}\n"
        "with SqlVerifier(workers=1) as verifier:\n"
        "    assert verifier.verify('SELECT t.b FROM t', reference).passed\n"
        "    for make in (lambda: SqlVerifier(dialect='duckdb'),\n"
        "                 lambda: verifier.verify('x', {**reference, 'dialect': 'duckdb'})):\n"
        "        try:\n"
        "            make()\n"
        "        except EngineMissingError as error:\n"
        "            print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert "duckdb" in done.stdout


@pytest.mark.parametrize("make", [DuckdbEngine, SqliteEngine])
def test_costs_are_counted_and_are_the_same_each_time(make):
    store = make(schema=DDL, rows=ROWS).given()
    quick, dear = "SELECT b FROM t", "SELECT x.b FROM t x, c y, c z"
    assert store.cost(quick, Limits()) == store.cost(quick, Limits()) > 0
    assert store.cost(dear, Limits()) > 2 * store.cost(quick, Limits())
    with pytest.raises(QueryError):
        store.cost("SELECT nope FROM t", Limits())


def test_postgres_tells_the_cost_of_its_plan(dsn):
    from rewardkit.verifiers.sql._engines.postgres import PostgresEngine

    store = PostgresEngine(schema=DDL, rows=ROWS, dsn=dsn).given()
    quick = store.cost("SELECT b FROM t", Limits())
    assert store.cost("SELECT x.b FROM t x, c y, c z", Limits()) > 2 * quick > 0
    with pytest.raises(QueryError):
        store.cost("SELECT 1; DROP TABLE t", Limits())


def test_efficiency_is_in_the_tiers_of_the_engines_cost():
    with SqlVerifier(dialect="duckdb", workers=1, databases=2, efficiency=True) as verifier:
        dear = "SELECT b FROM t WHERE a IN (SELECT x.a FROM t x, t y, t z)"
        verdict = verifier.verify(dear, reference("SELECT b FROM t"))
    assert verdict.passed
    cost = verdict.evidence["cost"]
    assert cost["unit"] == "rows"
    assert verdict.parts["efficiency"] == r_ves(cost["reference"] / cost["prediction"]) / 1.25 < 0.8
