-- The job of an import. It is ended when its job has ended without doing so. Null: started before this column existed.
alter table user_imports add column job_id uuid;
create index user_imports_open on user_imports (id) where status in ('Queued', 'Running');
create index data_requests_open on data_requests (id) where status in ('Queued', 'Running');
