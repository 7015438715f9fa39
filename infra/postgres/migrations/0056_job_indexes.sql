-- Every insertion and update of a job reads the filter of its stretch of the table. The default filter is so large that
-- it is stored compressed, and unpacking it took a third of the processor time of a job. A filter for 256 names is not
-- compressed. In a stretch with more names, a search reads more rows than it needs.
drop index jobs_kinds;
create index jobs_kinds on jobs using brin
  (queue text_bloom_ops (n_distinct_per_range = 256), job_type_name text_bloom_ops (n_distinct_per_range = 256))
  with (autosummarize = on);

-- Jobs of the service itself are listed only together with all others.
drop index jobs_tenant;
create index jobs_tenant on jobs (tenant_id, id) where tenant_id is not null;
