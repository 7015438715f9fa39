-- The list of files. One index answers every filter but the name's from itself alone, whatever it is combined with: a
-- tenant's million files are counted without a look at their rows. It stands in for files_tenant.
create index files_listing on files (tenant_id, id)
  include (status, profile, retention_class, legal_hold, created_by, created_at);
drop index files_tenant;
-- What is looked for most is few of many: infected, failed, waiting.
create index files_tenant_status on files (tenant_id, status, id);
create index files_name_search on files using gin (fold(file_name) gin_trgm_ops);
