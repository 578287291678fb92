"""Damage to the files of a checkpoint."""

import random

DAMAGES = ("missing", "empty", "cut", "garbage")


def damage(path, kind, seed=7):
    """Damage a file as tests/golden/restart_checkpoints.py does; another seed cuts it elsewhere."""
    content, chance = path.read_bytes(), random.Random(seed)
    if kind == "missing":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(content[: len(content) // 2 if seed == 7 else chance.randrange(len(content))])
    else:
        path.write_bytes(chance.randbytes(len(content)))


def files_of(checkpoint):
    """Return the files of a checkpoint by name, without hidden ones."""
    paths = (path for path in checkpoint.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(str(path.relative_to(checkpoint)) for path in paths)


def without_sums(checkpoint):
    """Remove Hadoop's hidden checksums: object stores have none."""
    for path in checkpoint.rglob(".*.crc"):
        path.unlink()
