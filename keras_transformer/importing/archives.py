"""How much a zip may hold: an archive of a few kilobytes can claim to be terabytes of zeros."""

import zipfile
from pathlib import Path

# What a zip may unpack to: so many times its size, and that much in any case.
_RATIO, _ALWAYS = 20, 2**28


def require_bounded(path: Path) -> None:
    """Refuses a zip that would fill the disk or the memory; one never gives more than it says.

    Args:
        path: The zip, or an .npz, which is one.

    Raises:
        ValueError: If its files are too large together.
        zipfile.BadZipFile: If it is no zip.

    Example:
        >>> np.savez("model.npz", Wemb=np.zeros((3, 2)))
        >>> require_bounded(Path("model.npz"))
    """
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    most = _ALWAYS + _RATIO * path.stat().st_size
    if unpacked > most:
        raise ValueError(
            f"`source` must hold archives of at most {most:,} bytes of files, since weights hardly "
            "become smaller in one; do not trust this one, or unpack it yourself and give the "
            f"folder. Received: {unpacked:,} bytes in {path}"
        )
