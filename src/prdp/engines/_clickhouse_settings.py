"""Settings under which ClickHouse runs prdp's statements, whatever a server or a user has set.

Three kinds: those that say what a statement means; those that keep facts about other records from deciding
what happens to a record (indices, partitions, statistics of files, caches, projections); and limits
on long statements. Of all others, those that somebody has changed are set back, unless they only limit
or report what a statement takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from prdp.errors import InvalidRequest

_MEANING: Mapping[str, int | str] = {
    "join_use_nulls": 1,
    "join_default_strictness": "ALL",
    "any_join_distinct_right_table_keys": 0,
    "prefer_column_name_to_alias": 1,
    "enable_positional_arguments": 0,
    "joined_subquery_requires_alias": 0,
    "use_variant_as_common_type": 0,
    "transform_null_in": 0,
    "group_by_use_nulls": 0,
    "aggregate_functions_null_for_empty": 0,
    "empty_result_for_aggregation_by_empty_set": 0,
    "least_greatest_legacy_null_behavior": 0,
    "precise_float_parsing": 1,
    "cast_keep_nullable": 0,
    "short_circuit_function_evaluation": "disable",
    "asterisk_include_alias_columns": 0,
    "asterisk_include_materialized_columns": 0,
    "asterisk_include_virtual_columns": 0,
    "limit": 0,
    "offset": 0,
    "additional_result_filter": "",
    "apply_deleted_mask": 1,
    "skip_unavailable_shards": 0,
    "enable_shared_storage_snapshot_in_query": 1,
    "output_format_arrow_string_as_string": 0,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
    "output_format_arrow_compression_method": "none",
    "extremes": 0,
}
_OVERFLOWS = (
    *("read", "read_leaf", "group_by", "sort", "result", "set", "join", "transfer", "distinct"),
    *("timeout", "timeout_leaf"),
)

_OTHER_RECORDS = {
    "use_primary_key": 0,
    "use_partition_pruning": 0,
    "use_skip_indexes": 0,
    "use_skip_indexes_if_final": 0,
    "use_skip_indexes_on_data_read": 0,
    "use_query_condition_cache": 0,
    "use_query_cache": 0,
    "use_statistics": 0,
    "allow_statistics_optimize": 0,
    "use_statistics_for_part_pruning": 0,
    "optimize_use_projections": 0,
    "optimize_use_implicit_projections": 0,
    "optimize_trivial_count_query": 0,
    "optimize_trivial_approximate_count_query": 0,
    "optimize_move_to_prewhere": 0,
    "optimize_move_to_prewhere_if_final": 0,
    "enable_join_runtime_filters": 0,
    "input_format_parquet_filter_push_down": 0,
    "input_format_parquet_page_filter_push_down": 0,
    "input_format_parquet_bloom_filter_push_down": 0,
    "input_format_orc_filter_push_down": 0,
    "use_cache_for_count_from_files": 0,
    "use_hive_partitioning": 0,
    "use_iceberg_partition_pruning": 0,
    "delta_lake_enable_engine_predicate": 0,
}

_LONG_STATEMENTS = {
    "max_query_size": 1 << 30,
    "max_ast_elements": 10_000_000,
    "max_expanded_ast_elements": 10_000_000,
    "max_ast_depth": 100_000,
    "max_parser_depth": 100_000,
    "max_parser_backtracks": 1 << 40,
}

WANTED: Mapping[str, int | str] = {
    **_MEANING,
    **{f"{what}_overflow_mode": "throw" for what in _OVERFLOWS},
    **_OTHER_RECORDS,
    **_LONG_STATEMENTS,
    "cancel_http_readonly_queries_on_client_close": 1,
}
"""What every statement is run with, as far as a server knows it."""

_MUST_BE_KNOWN = ("join_use_nulls", "prefer_column_name_to_alias", "use_skip_indexes", "max_query_size")

_KEPT = re.compile(
    r"max_.*|min_.*|log_.*|.*_timeout.*|.*_threads?|.*_size|.*_cache_.*|.*_bytes.*|readonly|allow_ddl|network_.*|"
    r"http_.*|send_.*|receive_.*|connect.*|priority|workload|os_.*|quota.*|load_balancing|insert_.*|async_.*|"
    r"distributed_.*|parallel_.*|backup_.*|alter_.*|mutations_.*|s3_.*|local_.*|remote_.*|filesystem_.*|date_time_.*|"
    r"session_timezone|compatibility|enable_http_compression|cancel_.*|wait_.*|storage_.*|trace_.*|opentelemetry_.*|"
    r"show_.*|calculate_text_stack_trace|stream_.*|use_client_time_zone|format_.*|output_format_.*|allow_.*|"
    r"interactive_.*|input_format_.*|prefer_localhost_replica|default_.*|database_.*|.*_prefetch.*|profile.*"
)
"""Settings that limit or report what a statement takes, or are about something else than SELECT."""


def settings_for(known: Iterable[tuple[str, str, str, int, int]], *, final: bool) -> dict[str, str]:
    """Return the settings of every statement on a server.

    Args:
        known: Its settings: name, value, default, whether somebody changed it, whether it cannot be.
        final: Whether rows that a table engine merges later are to be merged now.

    Raises:
        InvalidRequest: A setting that is needed cannot be changed by this user.
    """
    wanted = {name: str(value) for name, value in WANTED.items()} | {"final": str(int(final))}
    facts = {name: (value, default, changed, fixed) for name, value, default, changed, fixed in known}
    missing = [name for name in _MUST_BE_KNOWN if name not in facts]
    if missing:
        raise InvalidRequest(f"this version of ClickHouse does not know {missing[0]}: use a newer one.")
    chosen = {}
    for name, (value, default, changed, fixed) in facts.items():
        if name in wanted and not fixed:
            chosen[name] = wanted[name]
        elif name in wanted and value != wanted[name]:
            raise InvalidRequest(
                f"this user of ClickHouse may not set {name} = {wanted[name]!r}, with which prdp runs "
                "its statements. Use a user whose settings may be changed: readonly = 0 or 2."
            )
        elif changed and not fixed and name not in wanted and not _KEPT.fullmatch(name):
            chosen[name] = default
    if "readonly" in facts and facts["readonly"][0] == "0":
        chosen["readonly"] = "2"
    return chosen
