-- The list of files. One index answers every filter but the name's from itself alone, whatever it is combined with: a
-- tenant's million files are counted without a look at their rows. It stands in for files_tenant.
create index files_listing on files (tenant_id, id)
  include (status, profile, retention_class, legal_hold, created_by, created_at);
drop index files_tenant;
-- What is looked for most is few of many: infected, failed, waiting, held.
create index files_tenant_status on files (tenant_id, status, id);
create index files_held on files (tenant_id, id) where legal_hold;

-- Names folded once, and not for every row of every search.
alter table files add column search_text text generated always as (fold(file_name)) stored;
create index files_search on files using gin (search_text gin_trgm_ops);
