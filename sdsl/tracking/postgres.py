"""An empty PostgreSQL database becomes a store once, however many commands begin at once.

MLflow makes its tables without a lock, and of two who do so at once one fails. Here only the holder
of an advisory lock makes them. The lock ends with its connection, also when its holder is killed;
what that one began, PostgreSQL takes back, and the next one begins anew.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mlflow.store.db.base_sql_model import Base
from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.pool import NullPool

LOCK = 0x5D51_5D51  # any number that nobody else would choose


def is_postgres(uri: str) -> bool:
    return uri.startswith(("postgresql:", "postgresql+"))


@contextmanager
def made_by_one(uri: str) -> Iterator[None]:
    """Inside, MLflow may open the database: it is complete, or nobody else makes it now."""
    engine = create_engine(uri, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if not _is_complete(connection):
            connection.execute(text(f"SELECT pg_advisory_lock({LOCK})"))
        yield


def _is_complete(connection: Connection) -> bool:
    """MLflow's last step is the first experiment."""
    if not set(Base.metadata.tables) <= set(inspect(connection).get_table_names()):
        return False
    return bool(connection.scalar(text("SELECT EXISTS (SELECT 1 FROM experiments)")))
