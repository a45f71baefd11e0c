"""
Results of points in a folder, so that a sweep goes on where it was stopped.

A result's file is named by the hash of all that decides it (`Job.key`): a source, a
machine or a compiler that has changed asks for other names. Files appear when complete.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from pyptoc.files import FileError, atomic_file


class Cache:
    """The folder; made if it is not there."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileError(
                f"cannot use {folder} as a cache: {problem.strerror}"
            ) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """The result of a point, if it is there and whole."""
        try:
            found: Any = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict):
            return None
        entry = cast("dict[str, Any]", found)
        result = entry.get("result")
        return result if entry.get("key") == key and isinstance(result, dict) else None

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep the result of a point."""
        text = json.dumps({"key": key, "result": result})
        with atomic_file(str(self._path(key))) as stream:
            stream.write(text.encode())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"
