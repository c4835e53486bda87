"""What jobs leave on a machine: processes, files in /dev/shm, segments of System V."""
import os
import pathlib

from command import BINARY


def ranks_of(parent):
    """Processes of the job by their rank."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (stat / "exe").resolve() != pathlib.Path(BINARY).resolve():
                continue
            environment = dict(word.split("=", 1) for word in (stat / "environ").read_bytes().decode(errors="replace").split("\0") if "=" in word)
            if int((stat / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found[int(environment["OMPI_COMM_WORLD_RANK"])] = int(stat.name)
        except (OSError, ValueError, KeyError):
            continue
    return found


def is_alive(process):
    """Whether a process runs; one that has ended and was not fetched by its parent doesn't."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def processes_of(word):
    """Processes of the program with the word in an argument."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "exe").resolve() == pathlib.Path(BINARY).resolve() and word in (process / "cmdline").read_bytes().decode(errors="replace"):
                found.add(int(process.name))
        except OSError:
            continue
    return found


def is_mapped(path):
    """Whether a living process has the file in its memory."""
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        try:
            if path in maps.read_text():
                return True
        except OSError:
            continue
    return False


def abandoned_files():
    """Files in /dev/shm that no process maps."""
    left = {name for name in os.listdir("/dev/shm") if not is_mapped(f"/dev/shm/{name}")}
    return {name for name in left if os.path.exists(f"/dev/shm/{name}")}


def segments():
    """Segments of System V (`ipcs -m`) by their numbers: how many processes are attached."""
    try:
        lines = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()
    except OSError:
        return {}
    names = lines[0].split()
    rows = [dict(zip(names, line.split())) for line in lines[1:]]
    return {int(row["shmid"]): int(row["nattch"]) for row in rows}
