-- Previous version: may run.
-- The rarer users of two states, such as those who are locked out, are counted from an index, and the others as the rest.
create index user_tenants_inactive on user_tenants (tenant_id, user_id) where not is_active;
create index users_locked_new on users (lockout_expires_at, id) where lockout_expires_at is not null;
create index user_factors_user_new on user_factors (user_id, created_at, id) include (confirmed_at);
-- Users whose email has a form that `search_text` does not contain. They are few.
create index users_international on users (id) where email ~ '[^\x01-\x7f]';
-- Executions of reports, and files by why they were purged, are counted from the index alone. Executions need few different
-- permissions, which an index finds.
create index report_executions_tenant_new on report_executions (tenant_id, id)
  include (deleted_at, status, format, template_id, created_at, required_permissions);
create index report_executions_needs on report_executions (required_permissions);
create index files_by_purge_kind_new on files (tenant_id, file_purge_kind(purge_reason), id)
  include (profile, purge_reason) where status = 'Purged';

drop index users_locked, user_factors_user, report_executions_tenant, files_by_purge_kind;
alter index users_locked_new rename to users_locked;
alter index user_factors_user_new rename to user_factors_user;
alter index report_executions_tenant_new rename to report_executions_tenant;
alter index files_by_purge_kind_new rename to files_by_purge_kind;
