-- Previous version: may run.
-- Lists are counted from the index alone: each index of a list has the columns of the conditions that all its requests have.
drop index files_tenant_status;
create index files_tenant_status on files (tenant_id, status, id) include (profile);
drop index files_held;
create index files_held on files (tenant_id, id) include (profile) where legal_hold;
drop index files_retention;
create index files_retention on files (tenant_id, retention_class, id) include (profile);
drop index audit_log_target;
create index audit_log_target on audit_log (target_type, target_id, id desc) include (tenant_id);
drop index notifications_delivery_state;
create index notifications_delivery_state on notifications (tenant_id, delivery_state, created_at, id)
  include (channel, status) where delivery_state is not null;
drop index notifications_template;
create index notifications_template on notifications (tenant_id, template_slug, created_at, id)
  include (channel, status) where template_slug is not null;
drop index audit_log_actor;
create index audit_log_actor on audit_log (actor_id, id desc) include (tenant_id);
-- Scheduled messages are read in the order of their time.
create index notifications_scheduled on notifications (scheduled_at, id) include (tenant_id, channel) where status = 'Scheduled';
-- What all tenants used is read in each of its orders. Rows are written once an hour.
create index usage_months_by_storage on usage_months (storage_bytes, tenant_key, month);
create index usage_months_by_mails on usage_months (mails, tenant_key, month);
create index usage_months_by_jobs on usage_months (jobs, tenant_key, month);
create index usage_months_by_reports on usage_months (reports, tenant_key, month);
