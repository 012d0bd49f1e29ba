"""Isolates this process so that it sees only the submission and the interpreter, then starts the worker.

``unshare`` runs this script in new user, mount, network, process and IPC namespaces (unprivileged on Linux). The script
builds an empty root of limited size, binds the interpreter and the copy of the submission read-only into it, makes it
the root directory, forbids further namespaces, makes /proc read-only (if root started the harness, /proc/sys would
otherwise be writable), joins a new session keyring, drops every capability, sets limits and replaces itself by the
worker. Standard library only; an OSError here means "cannot isolate".
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError with the kernel's reason unless a call returned 0."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Call mount(2)."""
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode() or None)
    check(libc.mount(*arguments), f"mount {target}")


def bind(source: str, root: str, writable: bool) -> None:
    """Bind a path to the same path inside ``root``, read-only unless ``writable``."""
    target = root + source
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "a"):
            pass
    mount(source, target, "none", MS_BIND | MS_REC)
    if not writable:
        flags = MS_BIND | MS_REMOUNT | MS_RDONLY
        try:
            mount("none", target, "none", flags)
        except OSError:
            mount("none", target, "none", flags | MS_NOSUID | MS_NODEV)


def enter(root: str, shown: list, devices: list, scratch_bytes: int) -> None:
    """Make ``root`` the root directory, with the paths ``shown`` and nothing else."""
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, f"size={scratch_bytes},nr_inodes=100000")
    for path in shown:
        if os.path.islink(path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(os.readlink(path), root + path)
        else:
            bind(path, root, writable=False)
    for path in devices:
        bind(path, root, writable=True)
    os.makedirs(root + "/tmp", exist_ok=True)
    os.makedirs(root + "/proc", exist_ok=True)
    process_files(root + "/proc")
    old = root + "/.old"
    os.makedirs(old)
    check(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], root.encode(), old.encode()), "pivot_root")
    os.chdir("/")
    check(libc.umount2(b"/.old", MNT_DETACH), "umount")
    os.rmdir("/.old")


def process_files(place: str) -> None:
    """Mount /proc of the new process namespace read-only, after forbidding further namespaces."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    try:
        mount("proc", place, "proc", flags)
    except OSError:
        os.rmdir(place)  # without /proc a method sees less, not more
        return
    with contextlib.suppress(OSError), open(f"{place}/sys/user/max_user_namespaces", "w") as most:
        most.write("0")
    mount("none", place, "none", flags | MS_BIND | MS_REMOUNT | MS_RDONLY)


def limit(memory_bytes: int) -> None:
    """Limit the memory, join a new keyring and drop every capability in every namespace."""
    libc.syscall(SYS_KEYCTL[os.uname().machine], KEYCTL_JOIN_SESSION_KEYRING, None)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break


def limit_cpu(seconds: int) -> None:
    """Limit the CPU seconds of each process, in case the guard has died."""
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    seconds = seconds if most == resource.RLIM_INFINITY else min(seconds, most)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def die_with(harness: int) -> None:
    """Let the kernel end this process when the harness ends (Linux)."""
    if sys.platform == "linux":
        check(libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0), "death signal")
        if os.getppid() != harness:  # it has already ended
            sys.exit(1)


def main() -> None:
    """Read the job from the command line and replace this process by the worker."""
    job = json.loads(sys.argv[1])
    if job["root"]:
        enter(job["root"], job["shown"], job["devices"], job["scratch_bytes"])
        limit(job["memory_bytes"])
    else:
        die_with(job["harness"])
        resource.setrlimit(resource.RLIMIT_AS, (job["memory_bytes"], job["memory_bytes"]))
    limit_cpu(job["cpu_s"])
    os.execve(job["command"][0], job["command"], job["environment"])


if __name__ == "__main__":
    main()
