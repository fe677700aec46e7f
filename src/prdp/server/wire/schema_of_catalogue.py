"""Tables, views and functions of the catalogue, as the database in memory has them."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]

_TABLES = """
pg_namespace oid nspname nspowner nspacl
pg_class oid relname relnamespace reltype=0 reloftype=0 relowner relam=2 relfilenode=0 reltablespace=0
 relpages=0 reltuples:d relallvisible=0 reltoastrelid=0 relhasindex? relisshared? relpersistence relkind
 relnatts relchecks=0 relhasrules? relhastriggers? relhassubclass? relrowsecurity? relforcerowsecurity?
 relispopulated! relreplident relispartition? relrewrite=0 relhasoids? relacl reloptions:l relpartbound
pg_attribute attrelid attname atttypid attstattarget=-1 attlen attnum attndims=0 atttypmod=-1 attbyval?
 attstorage attalign attnotnull? atthasdef? atthasmissing? attidentity='' attgenerated='' attisdropped?
 attislocal! attinhcount=0 attcollation=0 attcompression='' attacl attoptions:l attfdwoptions:l
 attmissingval
pg_type oid typname typnamespace typowner typlen typbyval? typtype typcategory typispreferred? typisdefined!
 typdelim=',' typrelid=0 typelem=0 typarray=0 typinput typoutput typreceive typsend typmodin typmodout
 typanalyze typalign typstorage typnotnull? typbasetype=0 typtypmod=-1 typndims=0 typcollation=0 typdefault
 typacl
pg_database oid datname datdba encoding datlocprovider datistemplate? datallowconn! datconnlimit=-1
 datcollate datctype daticulocale daticurules dattablespace=1663 datacl
pg_roles oid rolname rolsuper? rolinherit! rolcreaterole? rolcreatedb? rolcanlogin! rolreplication?
 rolconnlimit=-1 rolpassword rolvaliduntil rolbypassrls? rolconfig
pg_description objoid classoid objsubid description
pg_am oid amname amhandler=0 amtype
pg_attrdef oid adrelid adnum adbin
pg_index indexrelid indrelid indnatts indnkeyatts indisunique? indnullsnotdistinct? indisprimary?
 indisexclusion? indimmediate? indisclustered? indisvalid? indcheckxmin? indisready? indislive?
 indisreplident? indkey:n indcollation:n indclass:n indoption:n indexprs indpred
pg_constraint oid conname connamespace contype condeferrable? condeferred? convalidated? conrelid contypid
 conindid conparentid confrelid confupdtype confdeltype confmatchtype conislocal? coninhcount connoinherit?
 conkey:n confkey:n conpfeqop:n conppeqop:n conffeqop:n conexclop:n conbin
pg_inherits inhrelid inhparent inhseqno inhdetachpending?
pg_proc oid proname pronamespace proowner prolang procost prorows provariadic prosupport prokind prosecdef?
 proleakproof? proisstrict? proretset? provolatile proparallel pronargs pronargdefaults prorettype
 proargtypes:n proallargtypes:n proargmodes:l proargnames:l proargdefaults protrftypes prosrc probin
 proconfig proacl proisagg?
pg_trigger oid tgrelid tgparentid tgname tgfoid tgtype tgenabled tgisinternal? tgconstrrelid tgconstrindid
 tgconstraint tgdeferrable? tginitdeferred? tgnargs tgattr tgargs tgqual tgoldtable tgnewtable
pg_policy oid polname polrelid polcmd polpermissive? polroles:n polqual polwithcheck
pg_statistic_ext oid stxrelid stxname stxnamespace stxowner stxstattarget stxkeys stxkind:l stxexprs
pg_publication oid pubname pubowner puballtables? pubinsert? pubupdate? pubdelete? pubtruncate? pubviaroot?
pg_publication_rel oid prpubid prrelid prqual prattrs
pg_publication_namespace oid pnpubid pnnspid
pg_enum oid enumtypid enumsortorder enumlabel
pg_collation oid collname collnamespace collowner collprovider collisdeterministic? collencoding collcollate
 collctype colliculocale collversion
pg_tablespace oid spcname spcowner spcacl spcoptions
pg_range rngtypid rngsubtype rngmultitypid rngcollation rngsubopc rngcanonical rngsubdiff
pg_rewrite oid rulename ev_class ev_type ev_enabled is_instead? ev_qual ev_action
pg_depend classid objid objsubid refclassid refobjid refobjsubid deptype
pg_foreign_table ftrelid ftserver ftoptions:l
pg_foreign_server oid srvname srvowner srvfdw srvtype srvversion srvacl srvoptions:l
pg_foreign_data_wrapper oid fdwname fdwowner fdwhandler fdwvalidator fdwacl fdwoptions:l
pg_partitioned_table partrelid partstrat partnatts partdefid partattrs partclass partcollation partexprs
pg_sequence seqrelid seqtypid seqstart seqincrement seqmax seqmin seqcache seqcycle?
pg_extension oid extname extowner extnamespace extrelocatable? extversion extconfig extcondition
pg_language oid lanname lanowner lanispl? lanpltrusted? lanplcallfoid laninline lanvalidator lanacl
pg_operator oid oprname oprnamespace oprowner oprkind oprcanmerge? oprcanhash? oprleft oprright oprresult
 oprcode
pg_opclass oid opcmethod opcname opcnamespace opcowner opcfamily opcintype opcdefault? opckeytype
pg_aggregate aggfnoid aggkind aggnumdirectargs
pg_cast oid castsource casttarget castfunc castcontext castmethod
pg_event_trigger oid evtname evtevent evtowner evtfoid evtenabled evttags
pg_shdescription objoid classoid description
pg_seclabel objoid classoid objsubid provider label
pg_auth_members roleid member grantor admin_option?
pg_settings name setting unit category short_desc extra_desc context vartype source min_val max_val enumvals
 boot_val reset_val sourcefile sourceline pending_restart?
pg_stat_user_tables relid schemaname relname n_live_tup
pg_stat_activity datid datname pid usename application_name client_addr state query
pg_locks locktype database relation pid mode granted? transactionid virtualxid
pg_matviews schemaname matviewname matviewowner tablespace hasindexes? ispopulated? definition
pg_views schemaname viewname viewowner definition
pg_indexes schemaname tablename indexname tablespace indexdef
pg_timezone_names name abbrev utc_offset is_dst?
is_views table_catalog table_schema table_name view_definition check_option is_updatable
is_table_constraints constraint_catalog constraint_schema constraint_name table_catalog table_schema
 table_name constraint_type is_deferrable initially_deferred enforced
is_key_column_usage constraint_catalog constraint_schema constraint_name table_catalog table_schema
 table_name column_name ordinal_position position_in_unique_constraint
is_referential_constraints constraint_catalog constraint_schema constraint_name unique_constraint_catalog
 unique_constraint_schema unique_constraint_name match_option update_rule delete_rule
is_constraint_column_usage table_catalog table_schema table_name column_name constraint_catalog
 constraint_schema constraint_name
is_routines specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name
 routine_type
is_sequences sequence_catalog sequence_schema sequence_name data_type
is_triggers trigger_catalog trigger_schema trigger_name event_object_table
"""
"""Tables and their columns: ``?`` and ``!`` are false and true, ``=`` gives a default, ``:l`` and ``:n`` are
lists of texts and of numbers, ``:d`` is a number."""

_NUMBERS = ("oid", "id", "num", "owner", "namespace", "len", "natts", "relam", "encoding", "dba", "subid",
            "typmod",
            "relid", "seqno", "class_oid", "attnum", "rettype", "nargs")  # fmt: skip


def _kind(name: str) -> str:
    return "BIGINT" if name.endswith(_NUMBERS) and name != "amname" else "TEXT"


def _column(written: str) -> tuple[str, str]:
    """Return a column's name and its definition."""
    for mark, default in (("?", "false"), ("!", "true")):
        if written.endswith(mark):
            return written[:-1], f"BOOLEAN DEFAULT {default}"
    if "=" in written:
        name, _, default = written.partition("=")
        return name, f"{'TEXT' if default.startswith(chr(39)) else 'BIGINT'} DEFAULT {default}"
    if written.endswith((":l", ":n")):
        return written[:-2], "TEXT[]" if written.endswith("l") else "BIGINT[]"
    return (written[:-2], "DOUBLE") if written.endswith(":d") else (written, _kind(written))


def _read() -> dict[str, dict[str, str]]:
    found = {}
    for line in _TABLES.replace("\n ", " ").strip().splitlines():
        name, *columns = line.split()
        found[name] = dict(map(_column, columns))
    return found


EMPTY = _read()
"""The columns of each table, with their definitions."""

VIEWS = (
    (
        "CREATE VIEW pg_tables AS SELECT 'public' AS schemaname, relname AS tablename, "
        "'owner' AS tableowner, "
        "NULL::TEXT AS tablespace, false AS hasindexes, false AS hasrules, false AS hastriggers, "
        "false AS rowsecurity FROM pg_class WHERE relnamespace = 2200"
    ),
    (
        "CREATE VIEW pg_user AS SELECT rolname AS usename, oid AS usesysid, false AS usecreatedb, "
        "false AS usesuper FROM pg_roles"
    ),
    "CREATE VIEW pg_authid AS SELECT * FROM pg_roles",
    (
        "CREATE VIEW is_schemata AS SELECT 'prdp' AS catalog_name, nspname AS schema_name, "
        "'owner' AS schema_owner FROM pg_namespace"
    ),
    (
        "CREATE VIEW is_tables AS SELECT 'prdp' AS table_catalog, 'public' AS table_schema, "
        "relname AS table_name, 'BASE TABLE' AS table_type, 'NO' AS is_insertable_into FROM pg_class "
        "WHERE relnamespace = 2200"
    ),
    (
        "CREATE VIEW is_columns AS SELECT 'prdp' AS table_catalog, 'public' AS table_schema, "
        "c.relname AS table_name, a.attname AS column_name, a.attnum AS ordinal_position, "
        "NULL::TEXT AS column_default, 'YES' AS is_nullable, format_type_of(a.atttypid) AS data_type, "
        "NULL::BIGINT AS character_maximum_length, NULL::BIGINT AS numeric_precision, "
        "NULL::BIGINT AS numeric_scale, NULL::BIGINT AS datetime_precision, t.typname AS udt_name, "
        "'pg_catalog' AS udt_schema, 'NO' AS is_identity, NULL::TEXT AS identity_generation, "
        "'NEVER' AS is_generated, NULL::TEXT AS generation_expression, NULL::TEXT AS collation_name, "
        "NULL::TEXT AS domain_name, 'NO' AS is_updatable "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid"
    ),
    (
        "CREATE VIEW is_table_privileges AS SELECT 'owner' AS grantor, 'analyst' AS grantee, "
        "'prdp' AS table_catalog, 'public' AS table_schema, relname AS table_name, "
        "'SELECT' AS privilege_type, 'NO' AS is_grantable, 'NO' AS with_hierarchy FROM pg_class "
        "WHERE relnamespace = 2200"
    ),
    "CREATE VIEW is_role_table_grants AS SELECT * FROM is_table_privileges",
)
_VIEW_NAMES = {view.split()[2] for view in VIEWS}

MACROS = (
    (
        "CREATE MACRO format_type_of(kind) AS coalesce((SELECT CASE typname WHEN 'int8' THEN 'bigint' "
        "WHEN 'float8' THEN 'double precision' WHEN 'bool' THEN 'boolean' "
        "WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'varchar' THEN 'character varying' "
        "WHEN 'int4' THEN 'integer' ELSE typname END FROM pg_type WHERE oid = kind), '???')"
    ),
    "CREATE MACRO f_format_type(kind, modifier) AS format_type_of(kind)",
    "CREATE MACRO f_user_by_id(number) AS 'owner'",
    "CREATE MACRO f_true(number) AS true",
    "CREATE MACRO f_true_of_two(one, two) AS true, (one, two, three) AS true",
    "CREATE MACRO f_null(one) AS NULL::TEXT, (one, two) AS NULL::TEXT, (one, two, three) AS NULL::TEXT",
    "CREATE MACRO f_zero(one) AS 0, (one, two) AS 0",
    "CREATE MACRO f_false() AS false, (one) AS false",
    "CREATE MACRO f_empty(one) AS [], (one, two) AS []",
    "CREATE MACRO f_encoding(number) AS 'UTF8'",
    (
        "CREATE MACRO f_described(number) AS (SELECT any_value(description) FROM pg_description "
        "WHERE objoid = number AND objsubid = 0), (number, of_class) AS (SELECT any_value(description) "
        "FROM pg_description WHERE objoid = number AND objsubid = 0)"
    ),
    (
        "CREATE MACRO f_described_column(number, place) AS (SELECT any_value(description) "
        "FROM pg_description WHERE objoid = number AND objsubid = place)"
    ),
    "CREATE MACRO f_schemas(all_too) AS CASE WHEN all_too THEN ['pg_catalog', 'public'] ELSE ['public'] END",
    (
        "CREATE MACRO f_joined(list, sign) AS array_to_string(list, sign), "
        "(list, sign, nothing) AS array_to_string(list, sign)"
    ),
    "CREATE MACRO f_upper(list, dimension) AS len(list)",
    "CREATE MACRO f_quoted(name) AS name",
    (
        "CREATE MACRO regclass_of(name) AS (SELECT oid FROM pg_class WHERE relname = "
        "replace(replace(replace(name, 'public.', ''), 'pg_catalog.', ''), '\"', ''))"
    ),
    (
        "CREATE MACRO regclass_name(number) AS coalesce((SELECT relname FROM pg_class WHERE oid = number), "
        "number::TEXT)"
    ),
    "CREATE MACRO regtype_name(number) AS format_type_of(number)",
    "CREATE MACRO regtype_of(name) AS (SELECT oid FROM pg_type WHERE typname = name)",
    "CREATE MACRO regproc_name(number) AS number::TEXT",
    "CREATE MACRO regproc_of(name) AS name",
    "CREATE MACRO regnamespace_of(name) AS (SELECT oid FROM pg_namespace WHERE nspname = name)",
    "CREATE MACRO regnamespace_name(number) AS (SELECT nspname FROM pg_namespace WHERE oid = number)",
)

_CALLED = {
    "format_type": "f_format_type", "pg_get_userbyid": "f_user_by_id", "pg_encoding_to_char": "f_encoding",
    "obj_description": "f_described", "shobj_description": "f_null", "col_description": "f_described_column",
    "current_schemas": "f_schemas", "array_to_string": "f_joined", "quote_ident": "f_quoted",
    "to_regclass": "regclass_of", "to_regtype": "regtype_of", "pg_is_in_recovery": "f_false",
    "pg_relation_is_publishable": "f_false", "array_upper": "f_upper",
}  # fmt: skip
_TRUE = ("pg_table_is_visible pg_type_is_visible pg_function_is_visible pg_opclass_is_visible "
         "pg_operator_is_visible pg_collation_is_visible pg_statistics_obj_is_visible")  # fmt: skip
_TRUE_OF_TWO = ("has_table_privilege has_schema_privilege has_database_privilege has_column_privilege "
                "has_any_column_privilege pg_has_role")  # fmt: skip
_NULL = ("pg_get_expr pg_get_indexdef pg_get_constraintdef pg_get_viewdef pg_get_ruledef pg_get_triggerdef "
         "pg_get_partkeydef pg_get_statisticsobjdef_columns pg_get_function_result pg_get_serial_sequence "
         "pg_get_function_arguments pg_get_function_identity_arguments pg_tablespace_location "
         "pg_size_pretty pg_get_partition_constraintdef pg_get_functiondef")  # fmt: skip
_ZERO = ("pg_backend_pid pg_table_size pg_total_relation_size pg_relation_size pg_database_size "
         "pg_indexes_size pg_my_temp_schema txid_current")  # fmt: skip
_LISTS = "pg_partition_ancestors pg_options_to_table aclexplode"
FUNCTIONS = {
    **_CALLED, **dict.fromkeys(_TRUE.split(), "f_true"),
    **dict.fromkeys(_TRUE_OF_TWO.split(), "f_true_of_two"),
    **dict.fromkeys(_NULL.split(), "f_null"), **dict.fromkeys(_ZERO.split(), "f_zero"),
    **dict.fromkeys(_LISTS.split(), "f_empty"),
}  # fmt: skip
"""Functions of PostgreSQL's catalogue, and what answers them."""

_PLAIN = """
and or xor not any all exists case if cast trycast coalesce nullif array arrayagg arraytostring arrayjoin
arraysize lower upper count max min sum avg substring strposition length concat concatws dpipe replace
trim rownumber rank unnest explode regexplike regexpilike left right greatest least abs round ceil floor
stringagg groupconcat anyvalue generate_subscripts currentdate currenttimestamp currenttime split initcap
distinct bracket slice logicalor logicaland list jsonobject firstvalue lastvalue posexplode generateseries
explodinggenerateseries
"""
LOCAL_FUNCTIONS = frozenset(
    (*_PLAIN.split(), *FUNCTIONS.values(), *(macro.split()[2].partition("(")[0] for macro in MACROS))
)
"""Functions that statements may call once they are rewritten."""

TYPES = (
    (16, "bool", 1, "B", 1000, 0), (20, "int8", 8, "N", 1016, 0), (21, "int2", 2, "N", 1005, 0),
    (23, "int4", 4, "N", 1007, 0), (25, "text", -1, "S", 1009, 0), (26, "oid", 4, "N", 1028, 0),
    (700, "float4", 4, "N", 1021, 0), (701, "float8", 8, "N", 1022, 0), (1043, "varchar", -1, "S", 1015, 0),
    (1082, "date", 4, "D", 1182, 0), (1114, "timestamp", 8, "D", 1115, 0), (19, "name", 64, "S", 1003, 0),
    (1184, "timestamptz", 8, "D", 1185, 0), (1700, "numeric", -1, "N", 1231, 0),
    (1009, "_text", -1, "A", 0, 25), (705, "unknown", -2, "X", 0, 0),
)  # fmt: skip
"""Types: number, name, size, category, and the types of lists of them and of their elements."""


SYSTEM = {
    "pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_database": 1262,
    "pg_constraint": 2606, "pg_namespace": 2615, "pg_description": 2609, "pg_index": 2610,
}  # fmt: skip
"""Tables of the catalogue that others refer to, and their numbers."""

SETTINGS = {
    "transaction_isolation": "read committed", "default_transaction_isolation": "read committed",
    "transaction_read_only": "on", "search_path": "public", "server_version_num": "150000",
    "max_identifier_length": "63", "lc_collate": "C", "lc_ctype": "C", "statement_timeout": "0",
    "extra_float_digits": "1", "max_index_keys": "32", "bytea_output": "hex",
}  # fmt: skip
"""Settings that clients look up."""


def created() -> list[str]:
    """Return the statements that lay out the tables."""
    return [
        f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"
        for name, columns in EMPTY.items()
    ]


def column_names(name: str) -> bool:
    """Return whether there is a table or a view of a name."""
    return name in EMPTY or name in _VIEW_NAMES
