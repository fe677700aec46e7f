"""Arrow's tables, its own files (Feather, IPC) and its data sets, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.fs
import pyarrow.ipc

from prdp.engines.sources.checks import refuse_lake_files, refuse_repeated
from prdp.engines.sources.source_query import LOOSE_DECIMALS
from prdp.errors import InvalidRequest

_ROWS_AT_ONCE = 1 << 17

_FORMATS = ("parquet", "ipc", "orc")


class ArrowTable:
    """A table in memory.

    Attributes:
        schema: Its columns.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self.schema = table.schema.remove_metadata()

    def found(self) -> Any:
        """Return the columns, which do not change."""
        return self.schema

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Return the rows, without a copy."""
        yield from self._table.select(list(columns)).to_batches(max_chunksize=_ROWS_AT_ONCE)


class ArrowFiles:
    """Feather or IPC files of the same columns.

    Attributes:
        schema: Their columns.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = list(files)
        schemas = list(map(_without_codes, self.found()))
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


def _without_codes(schema: Any) -> Any:
    """Return columns without the types of their codes: a dictionary's grows with the values in a file."""
    return pyarrow.schema([field.with_type(_without_code(field.type)) for field in schema])


def _without_code(kind: Any) -> Any:
    coded = pyarrow.types.is_dictionary(kind) or pyarrow.types.is_run_end_encoded(kind)
    return kind.value_type if coded else kind


def _scanned_type(kind: Any) -> Any:
    """Return the type in which a column is scanned: texts as bytes, since no scan checks those."""
    plain = _without_code(kind)
    types = pyarrow.types
    is_text = types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
    return pyarrow.large_binary() if is_text else plain


def _as_scanned(schema: Any) -> Any:
    return pyarrow.schema([field.with_type(_scanned_type(field.type)) for field in schema])


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
        unreadable: Columns that are not read, and what they hold: Arrow fails at one time of an ORC file that
            nanoseconds do not reach, such as one in the year 9999, and at one decimal of too many bytes.
    """

    def __init__(self, dataset: Any) -> None:
        self._parts = list(_parts(dataset))
        self.schema = _without_codes(dataset.schema.remove_metadata())
        self.files = [file for part in self._parts if _is_local(part) for file in part.files]
        is_orc = any(part.format.default_extname == "orc" for part in self._parts)
        times = [field.name for field in self.schema if pyarrow.types.is_timestamp(field.type)]
        self.unreadable = dict.fromkeys(times if is_orc else (), "timestamps of ORC")
        loose = {name for part in self._parts for name in _loose_decimals(part)} & set(self.schema.names)
        self.unreadable |= dict.fromkeys(sorted(loose), LOOSE_DECIMALS)
        refuse_repeated(self.files)
        refuse_lake_files(self.files)
        remote = [file for part in self._parts if not _is_local(part) for file in part.files]
        if len(set(remote)) < len(remote):
            raise InvalidRequest("the data set has one file twice, whose records would count twice.")
        for part in self._parts:
            _refuse_parts_of_files(part)
        for schema in self.found():
            _refuse_runs(schema)
            _refuse_other_types(schema, self.schema)

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
            read_as = _format_for_any_text(part.format, part.schema)
            fragments = [
                read_as.make_fragment(fragment.path, part.filesystem, fragment.partition_expression)
                for fragment in part.get_fragments()
            ]
            schema = _as_scanned(self.schema)
            fresh = pyarrow.dataset.FileSystemDataset(fragments, schema, read_as, part.filesystem)
            with _scanned(fresh, columns) as reader:
                yield from reader


def _format_for_any_text(given: Any, schema: Any) -> Any:
    """Return a format; of Parquet, one that reads dictionaries of texts as such, without checking them."""
    if not isinstance(given, pyarrow.dataset.ParquetFileFormat):
        return given
    coded = {
        field.name
        for field in schema
        if pyarrow.types.is_dictionary(field.type) and _scanned_type(field.type) == pyarrow.large_binary()
    }
    options = pyarrow.dataset.ParquetReadOptions(
        dictionary_columns=coded | set(given.read_options.dictionary_columns),
        coerce_int96_timestamp_unit=given.read_options.coerce_int96_timestamp_unit,
    )
    return pyarrow.dataset.ParquetFileFormat(
        read_options=options, default_fragment_scan_options=given.default_fragment_scan_options
    )


class ParquetFiles:
    """Parquet files of the same columns, and columns that are names of their folders.

    Attributes:
        schema: All columns.
    """

    def __init__(self, files: Sequence[str], folders: Mapping[str, Sequence[str | None]]) -> None:
        self._files = list(files)
        self._folders = folders
        self._own = _without_codes(self.found()[0])
        for schema in self.found():
            _refuse_other_types(schema, self._own)
        texts = [pyarrow.field(name, pyarrow.string()) for name in folders]
        self.schema = pyarrow.schema([*self._own, *texts])

    def found(self) -> list[Any]:
        """Return every file's columns as they are now."""
        parquet, local = pyarrow.dataset.ParquetFileFormat(), pyarrow.fs.LocalFileSystem()
        return [parquet.inspect(file, local).remove_metadata() for file in self._files]

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the files one after another."""
        local = pyarrow.fs.LocalFileSystem()
        inside = [name for name in columns if name not in self._folders] or self._own.names[:1]
        folders = [name for name in columns if name in self._folders]
        plain = pyarrow.dataset.ParquetFileFormat()
        for number, file in enumerate(self._files):
            parquet = _format_for_any_text(plain, plain.inspect(file, local))
            fragment = parquet.make_fragment(file, local)
            one = pyarrow.dataset.FileSystemDataset([fragment], _as_scanned(self._own), parquet, local)
            with _scanned(one, inside) as reader:
                for batch in reader:
                    held = batch
                    for name in folders:
                        value = pyarrow.scalar(self._folders[name][number], pyarrow.string())
                        held = held.append_column(name, pyarrow.repeat(value, batch.num_rows))
                    yield held


def _refuse_runs(schema: Any) -> None:
    """Refuse columns that Arrow reads from a file, and fails to scan in a data set."""
    for field in schema:
        if pyarrow.types.is_run_end_encoded(field.type):
            raise InvalidRequest(
                f"the column {field.name!r} is run-end encoded, which Arrow does not read in a data set. "
                "Give prdp.open the files themselves."
            )


def _refuse_other_types(schema: Any, wanted: Any) -> None:
    """Refuse a file whose values are cast to the types of others: one that does not fit would fail."""
    for field in schema:
        if field.name not in wanted.names:
            continue
        found, kind = _scanned_type(field.type), _scanned_type(wanted.field(field.name).type)
        if found != kind and not pyarrow.types.is_null(found) and not _is_wider(kind, found):
            raise InvalidRequest(
                f"files have the column {field.name!r} as {field.type} and as "
                f"{wanted.field(field.name).type}, and a value of one need not fit the other. Write them "
                "with the same type."
            )


def _is_wider(kind: Any, found: Any) -> bool:
    """Return whether every value of a type has one in another."""
    types = pyarrow.types
    for is_such in (types.is_signed_integer, types.is_unsigned_integer, types.is_floating):
        if is_such(kind) and is_such(found):
            return bool(kind.bit_width >= found.bit_width)
    return False


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
            "without it, and filter with .filter()."
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
                "hold depends on the others. Give the whole file, and filter with .filter()."
            )


_DECIMAL_BYTES = 16
"""Bytes of a fixed-size binary that Arrow reads as a decimal."""


def _loose_decimals(dataset: Any) -> Iterator[str]:
    """Yield the decimals of Parquet files that may have any number of bytes, or more than Arrow reads."""
    if not isinstance(dataset.format, pyarrow.dataset.ParquetFileFormat):
        return
    for file in dataset.files:
        schema = dataset.format.make_fragment(file, dataset.filesystem).metadata.schema
        for column in map(schema.column, range(len(schema))):
            is_loose = column.physical_type == "BYTE_ARRAY" or column.length > _DECIMAL_BYTES
            if column.logical_type.type == "DECIMAL" and is_loose:
                yield column.path


def _is_local(dataset: Any) -> bool:
    return isinstance(dataset.filesystem, pyarrow.fs.LocalFileSystem)
