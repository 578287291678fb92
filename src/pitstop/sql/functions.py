"""Functions of Spark that are not just a computation on the values of one row."""

from __future__ import annotations

FORBIDDEN = frozenset(
    (
        *("java_method", "reflect", "try_reflect"),  # any method of any class
        *("input_file_block_length", "input_file_block_start", "input_file_name"),
        *("from_avro", "schema_of_avro", "to_avro", "from_protobuf", "to_protobuf"),  # files and addresses of schemas
        *("identifier", "python_worker_logs", "read_files", "read_kafka", "cloud_files_state"),
    )
)
"""Those that reach beyond what mappings name."""
WITHOUT_OPTIONS = {"from_xml": 2, "schema_of_xml": 1}
"""Function -> how many of its arguments are no options: one of these names a file, or an address, of a schema."""

AGGREGATES = frozenset(
    (
        *("any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k", "approx_top_k_accumulate"),
        *("approx_top_k_combine", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bitmap_and_agg", "bitmap_construct_agg"),
        *("bitmap_or_agg", "bool_and", "bool_or", "collect_list", "collect_set", "collect_union", "corr", "count", "count_if"),
        *("count_min_sketch", "covar_pop", "covar_samp", "every", "first", "first_value", "grouping", "grouping_id"),
        *("histogram_numeric", "hll_sketch_agg", "hll_union_agg", "kll_merge_agg_bigint", "kll_merge_agg_double"),
        *("kll_merge_agg_float", "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "kurtosis", "last"),
        *("last_value", "listagg", "max", "max_by", "mean", "measure", "median", "min", "min_by", "mode", "percentile"),
        *("percentile_approx", "percentile_cont", "percentile_disc", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept"),
        *("regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "schema_of_variant_agg", "skewness", "some", "std"),
        *("stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "theta_intersection_agg", "theta_sketch_agg"),
        *("theta_union_agg", "try_avg", "try_sum", "tuple_intersection_agg_double", "tuple_intersection_agg_integer"),
        *("tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double", "tuple_union_agg_integer", "var_pop"),
        *("var_samp", "variance", "vector_avg", "vector_sum"),
    )
)
"""Those of many rows."""
OVER_WINDOWS = frozenset(
    (
        *("counter_diff", "cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile", "percent_rank", "rank", "row_number"),
        *("session_window", "window", "window_time"),
    )
)
"""Those that need OVER, and Spark's own windows of time."""
GENERATORS = frozenset(
    (
        *("collations", "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer"),
        *("python_worker_logs", "range", "sql_keywords", "stack", "variant_explode", "variant_explode_outer"),
    )
)
"""Those that make several rows."""
