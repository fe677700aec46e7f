"""Arrow's own files (Feather, IPC) and its data sets, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.fs
import pyarrow.ipc

from prdp.engines._lakes import refuse_lake_files
from prdp.engines._sources import refuse_repeated
from prdp.errors import InvalidRequest

_FORMATS = ("parquet", "ipc", "orc")


class ArrowFiles:
    """Feather or IPC files of the same columns.

    Attributes:
        schema: Their columns.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = list(files)
        schemas = self.found()
        for file, schema in zip(files, schemas, strict=True):
            if schema != schemas[0]:
                raise InvalidRequest(f"{file!r} and {files[0]!r} have different columns or types.")
        self.schema = schemas[0]

    def found(self) -> list[Any]:
        """Return every file's columns as they are now."""
        return [_schema_of(file) for file in self._files]

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the files one after another."""
        wanted = [self.schema.get_field_index(name) for name in columns]
        options = pyarrow.ipc.IpcReadOptions(included_fields=wanted)
        for file in self._files:
            with pyarrow.OSFile(file) as opened, pyarrow.ipc.open_file(opened, options=options) as reader:
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)


def _schema_of(file: str) -> Any:
    try:
        with pyarrow.OSFile(file) as opened, pyarrow.ipc.open_file(opened) as reader:
            return reader.schema.remove_metadata()
    except pyarrow.ArrowInvalid:
        raise InvalidRequest(
            f"{file!r} is no Arrow file (Feather version 2). Write one with pyarrow.feather.write_feather, "
            "or read the stream: prdp.open(pyarrow.ipc.open_stream(file).read_all(), ...)."
        ) from None


class ArrowDataset:
    """A data set over files.

    Attributes:
        schema: Its columns.
        files: Its files, if they are local.
    """

    def __init__(self, dataset: Any) -> None:
        self._parts = list(_parts(dataset))
        self.schema = dataset.schema.remove_metadata()
        self.files = [file for part in self._parts if _is_local(part) for file in part.files]
        refuse_repeated(self.files)
        refuse_lake_files(self.files)
        remote = [file for part in self._parts if not _is_local(part) for file in part.files]
        if len(set(remote)) < len(remote):
            raise InvalidRequest("the data set has one file twice, whose records would count twice.")
        for part in self._parts:
            _refuse_parts_of_files(part)
        self.found()

    def found(self) -> list[Any]:
        """Return every file's columns as they are now."""
        return [
            part.format.inspect(file, part.filesystem).remove_metadata()
            for part in self._parts
            for file in part.files
        ]

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the files as they are now: fragments keep what they have seen of a file."""
        for part in self._parts:
            fragments = [
                part.format.make_fragment(fragment.path, part.filesystem, fragment.partition_expression)
                for fragment in part.get_fragments()
            ]
            fresh = pyarrow.dataset.FileSystemDataset(fragments, self.schema, part.format, part.filesystem)
            with _scanned(fresh, columns) as reader:
                yield from reader


@contextmanager
def _scanned(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    reader = dataset.scanner(columns=list(columns)).to_reader()
    try:
        yield reader
    finally:
        reader.close()


def _parts(dataset: Any) -> Iterator[Any]:
    """Return the data sets over files that a data set is made of, or refuse what a record could change."""
    if isinstance(dataset, pyarrow.dataset.UnionDataset):
        for child in dataset.children:
            yield from _parts(child)
        return
    if not isinstance(dataset, pyarrow.dataset.FileSystemDataset):
        raise InvalidRequest(
            f"prdp.open cannot read this {type(dataset).__name__}: give the Arrow table itself, such as "
            "dataset.to_table(), or a data set over files."
        )
    if dataset.format.default_extname not in {*_FORMATS, "feather", "arrow"}:
        raise InvalidRequest(
            f"the data set is over {dataset.format.default_extname} files, in which one record can make the "
            "others unreadable. Give prdp.open the files themselves, with types=."
        )
    try:
        next(dataset.get_fragments(), None)
    except ValueError:
        raise InvalidRequest(
            "the data set has a filter, which is applied by facts about all records. Give the data set "
            "without it, and filter with .where()."
        ) from None
    _refuse_guessed_folders(dataset)
    yield dataset


def _refuse_guessed_folders(dataset: Any) -> None:
    """Refuse columns of folders' names whose types were guessed from them."""
    partitioning = dataset.partitioning
    guessed = getattr(partitioning, "dictionaries", None) or []
    if any(values is not None for values in guessed):
        names = ", ".join(map(repr, partitioning.schema.names))
        raise InvalidRequest(
            f"Arrow has guessed the types of {names} from the names of folders, which one record in a new "
            "one can change. Declare them: partitioning=pyarrow.dataset.partitioning(pyarrow.schema([...]), "
            "flavor='hive'), or give prdp.open the path, where they are texts."
        )


def _refuse_parts_of_files(dataset: Any) -> None:
    """Refuse a data set that reads some row groups of a file: which rows are there, others decide."""
    for fragment in dataset.get_fragments():
        whole = dataset.format.make_fragment(fragment.path, dataset.filesystem)
        if hasattr(fragment, "num_row_groups") and fragment.num_row_groups != whole.num_row_groups:
            raise InvalidRequest(
                f"the data set reads some row groups of {fragment.path!r} alone, and which records those "
                "hold depends on the others. Give the whole file, and filter with .where()."
            )


def _is_local(dataset: Any) -> bool:
    return isinstance(dataset.filesystem, pyarrow.fs.LocalFileSystem)
