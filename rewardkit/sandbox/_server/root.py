"""What a sandbox sees: a few host directories, read-only, in a root of its own."""

import os
from collections.abc import Iterable

from rewardkit.sandbox._server import linux

__all__ = ["USER", "build_root", "hide_proc", "mount_fresh_proc", "mount_fresh_tmp"]

USER = 1000
"""The user and group number that a sandboxed program sees itself as."""

# No /dev/zero: mapped and shared, it is memory that belongs to no process.
_DEVICES = ("null", "full", "random", "urandom")
_TOP_LEVEL = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM = ("/usr",)
_ETC = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/java-17-openjdk")
_PASSWD = f"root:x:0:0:root:/:/bin/sh\nuser:x:{USER}:{USER}:user:/tmp/box:/bin/sh\n"
_GROUP = f"root:x:0:\nuser:x:{USER}:\n"
_TMP = "/tmp/"  # noqa: S108
_FLAGS = linux.MS_NOSUID | linux.MS_NODEV


def build_root(binds: list[str]) -> None:
    """Replaces the root of this mount namespace; every step raises OSError when it fails.

    Args:
        binds: host files and directories to show, read-only, at their own paths, besides `/usr` and
            the links to it. A path that does not exist raises.
    """
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", "/tmp", "tmpfs", _FLAGS, "size=1m,nr_inodes=64,mode=755")  # noqa: S108
    os.mkdir("/tmp/new")  # noqa: S108
    os.mkdir("/tmp/old")  # noqa: S108
    linux.pivot_root("/tmp", "/tmp/old")  # noqa: S108
    os.chdir("/")
    linux.mount("tmpfs", "/new", "tmpfs", _FLAGS, "size=4m,nr_inodes=4096,mode=755")
    for name in ("dev", "etc", "proc", "tmp", "var"):
        os.mkdir(f"/new/{name}", 0o755)
    for device in _DEVICES:
        _touch(f"/new/dev/{device}")
    _write("/new/etc/passwd", _PASSWD)
    _write("/new/etc/group", _GROUP)
    _write("/new/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    _write("/new/etc/hosts", "127.0.0.1 localhost\n")
    os.symlink("/tmp", "/new/dev/shm")  # noqa: S108
    os.symlink("/tmp", "/new/var/tmp")  # noqa: S108
    for link, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"/new/dev/{link}")
    _show_top_level()
    present = [path for path in _ETC if os.path.lexists(f"/old{path}")]
    for path in sorted({*_SYSTEM, *present, *binds}, key=lambda p: (p.count("/"), p)):
        _show(path)
    linux.make_tree_read_only("/new")
    for device in _DEVICES:
        linux.mount(f"/old/dev/{device}", f"/new/dev/{device}", None, linux.MS_BIND)
    linux.mount("/old/proc", "/new/proc", None, linux.MS_BIND | linux.MS_REC)
    os.chdir("/new")
    linux.pivot_root(".", ".")
    linux.unmount(".", linux.MNT_DETACH)
    os.chdir("/")


def mount_fresh_proc() -> bool:
    """Covers /proc with one of this process's pid namespace; False where the kernel refuses it."""
    try:
        linux.mount("proc", "/proc", "proc", _FLAGS | linux.MS_NOEXEC)
    except PermissionError:
        return False
    return True


def mount_fresh_tmp(options: str, binds: Iterable[str]) -> None:
    """Covers /tmp with an empty, writable one in which the `binds` below /tmp are still shown."""
    below = sorted({real for path in binds if (real := os.path.realpath(path)).startswith(_TMP)})
    shown = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in below]
    linux.mount("tmpfs", "/tmp", "tmpfs", _FLAGS, options)  # noqa: S108
    for path, descriptor in shown:
        if not os.path.lexists(path):  # else it lies in one that is shown already
            _mount_at(f"/proc/self/fd/{descriptor}", path)
        os.close(descriptor)


def hide_proc() -> None:
    """Covers /proc with an empty directory."""
    linux.mount("tmpfs", "/proc", "tmpfs", _FLAGS, "size=4k,nr_inodes=4,mode=555")


def _show_top_level() -> None:
    for path in _TOP_LEVEL:
        old = f"/old{path}"
        if os.path.islink(old):
            os.symlink(os.readlink(old), f"/new{path}")
        elif os.path.isdir(old):
            _bind(path)


def _show(path: str) -> None:
    real = _resolve(path)
    if real != path and not os.path.lexists(f"/new{path}"):
        os.makedirs(os.path.dirname(f"/new{path}"), exist_ok=True)
        os.symlink(real, f"/new{path}")
    if not os.path.lexists(f"/new{real}"):
        _bind(real)


def _resolve(path: str) -> str:
    # The old tree hangs below /old, so absolute links in it must be followed by hand.
    for _ in range(64):
        parts = path.strip("/").split("/")
        for count in range(1, len(parts) + 1):
            prefix = "/" + "/".join(parts[:count])
            if os.path.islink(f"/old{prefix}"):
                target = os.path.join(os.path.dirname(prefix), os.readlink(f"/old{prefix}"))
                path = os.path.normpath(os.path.join(target, *parts[count:]))
                break
        else:
            return path
    raise OSError(f"too many links in {path}")


def _bind(path: str) -> None:
    _mount_at(f"/old{path}", f"/new{path}")


def _mount_at(source: str, target: str) -> None:
    """Binds a file or a directory to a place that is made for it."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _touch(target)
    linux.mount(source, target, None, linux.MS_BIND | linux.MS_REC)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
