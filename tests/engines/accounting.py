"""A private MariaDB and slurmdbd, so that sacct of a private Slurm works."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from engines.daemons import as_account, wait_for

if TYPE_CHECKING:
    from engines.private_slurm import PrivateSlurm

DATABASE_PROGRAMS = ("slurmdbd", "mariadbd", "mariadb-install-db", "mariadb")
SMALL = ("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M")
SMALL += ("--innodb-flush-log-at-trx-commit=0", "--innodb-data-file-path=ibdata1:4M:autoextend")


def accounting_options(cluster: PrivateSlurm, port: int) -> dict[str, str]:
    """Return the options of Slurm that use slurmdbd."""
    return {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": "127.0.0.1",
        "AccountingStoragePort": str(port),
        "AccountingStoragePass": str(cluster.munge),
        "AccountingStoreFlags": "job_comment",
    }


def start_accounting(cluster: PrivateSlurm, port: int) -> None:
    """Start the database and slurmdbd, which slurm.conf names already."""
    database = cluster.folder / "db"
    _start_database(cluster, database)
    _write_configuration(cluster, port)
    environment = {**cluster.environment, "MYSQL_UNIX_PORT": str(database / "s")}
    cluster.daemons.start("slurmdbd", [*as_account("slurm"), "slurmdbd", "-D"], environment)
    wait_for(lambda: _answers(port), "slurmdbd")
    cluster.run("sacctmgr", "-i", "add", "cluster", cluster.name)


def _start_database(cluster: PrivateSlurm, folder: Path) -> None:
    folder.mkdir()
    account = pwd.getpwnam("mysql")
    os.chown(folder, account.pw_uid, account.pw_gid)
    plain = ["--no-defaults", "--user=mysql", f"--datadir={folder}"]
    install = ["mariadb-install-db", *plain, "--auth-root-authentication-method=normal"]
    subprocess.run(
        [*install, "--skip-test-db", "--skip-name-resolve", *SMALL],
        env=cluster.environment,
        check=True,
        capture_output=True,
    )
    place = folder / "s"
    server = ["mariadbd", *plain, f"--socket={place}", "--skip-networking", *SMALL]
    cluster.daemons.start("mariadbd", [*server, f"--pid-file={folder}/pid"], cluster.environment)
    wait_for(place.exists, "MariaDB")
    cluster.run(
        *("mariadb", "--no-defaults", f"--socket={place}", "-uroot", "-e"),
        "create user 'slurm'@'localhost' identified by 'x'; "
        "grant all on slurm_acct_db.* to 'slurm'@'localhost';",
    )


def _write_configuration(cluster: PrivateSlurm, port: int) -> None:
    options = {
        "DbdHost": "localhost",
        "DbdAddr": "127.0.0.1",
        "DbdPort": port,
        "CommunicationParameters": "NoInAddrAny",  # loopback only
        "SlurmUser": "slurm",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={cluster.munge}",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "slurm",
        "StoragePass": "x",
        "StorageLoc": "slurm_acct_db",
        "LogFile": f"{cluster.folder}/log/slurmdbd.log",
        "PidFile": f"{cluster.folder}/state/slurmdbd.pid",
    }
    path = cluster.folder / "slurmdbd.conf"
    path.write_text("".join(f"{key}={value}\n" for key, value in options.items()))
    path.chmod(0o600)
    account = pwd.getpwnam("slurm")
    os.chown(path, account.pw_uid, account.pw_gid)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True
