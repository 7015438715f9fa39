-- Previous version: may run.
-- Lists are counted from the index alone: each index of a list has the columns of the conditions that all its requests have.
-- The old indexes are dropped at the end, because that locks their tables also for reads.
create index files_tenant_status_new on files (tenant_id, status, id) include (profile);
create index files_held_new on files (tenant_id, id) include (profile) where legal_hold;
create index files_retention_new on files (tenant_id, retention_class, id) include (profile);
create index notifications_delivery_state_new on notifications (tenant_id, delivery_state, created_at, id)
  include (channel, status) where delivery_state is not null;
create index notifications_template_new on notifications (tenant_id, template_slug, created_at, id)
  include (channel, status) where template_slug is not null;
create index audit_log_target_new on audit_log (target_type, target_id, id desc) include (tenant_id);
create index audit_log_actor_new on audit_log (actor_id, id desc) include (tenant_id);
-- Scheduled messages are read in the order of their time.
create index notifications_scheduled on notifications (scheduled_at, id) include (tenant_id, channel) where status = 'Scheduled';
-- What all tenants used is read in each of its orders. Rows are written once an hour.
create index usage_months_by_storage on usage_months (storage_bytes, tenant_key, month);
create index usage_months_by_mails on usage_months (mails, tenant_key, month);
create index usage_months_by_jobs on usage_months (jobs, tenant_key, month);
create index usage_months_by_reports on usage_months (reports, tenant_key, month);

drop index files_tenant_status, files_held, files_retention, notifications_delivery_state, notifications_template,
  audit_log_target, audit_log_actor;
alter index files_tenant_status_new rename to files_tenant_status;
alter index files_held_new rename to files_held;
alter index files_retention_new rename to files_retention;
alter index notifications_delivery_state_new rename to notifications_delivery_state;
alter index notifications_template_new rename to notifications_template;
alter index audit_log_target_new rename to audit_log_target;
alter index audit_log_actor_new rename to audit_log_actor;
