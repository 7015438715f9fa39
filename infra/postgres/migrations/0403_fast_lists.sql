-- Previous version: may run.
-- A search plans each call with its pattern: a plan for any pattern works the pattern out for every row, and does not know
-- whether few or many rows match. With this cost such a plan is never the cheaper one. A constant pattern costs nothing.
alter function search_pattern(text) cost 100000;
-- The LIKE pattern that finds `value` anywhere in a text in lower case.
create function lower_pattern(value text) returns text language sql immutable parallel safe strict cost 100000
  as $$ select '%' || regexp_replace(lower(value), '([\\%_])', '\\\1', 'g') || '%' $$;
create index notification_suppressions_search on notification_suppressions using gin (lower(address) gin_trgm_ops);
analyze notification_suppressions;
-- Tenants are read in each of their orders, with or without deleted ones. Few are not active.
create index tenants_by_name on tenants (same_text(name), id);
create index tenants_by_type_name on tenants ((case type when 'Group' then 1 when 'Platform' then 2 else 3 end), id);
create index tenants_by_user_count on tenants (user_count, id);
create index tenants_inactive on tenants (same_text(name), id) where not is_active;
analyze tenants;
-- The rows of one action, status, class or error are counted and read from an index.
create index audit_log_action on audit_log (action, tenant_id, id);
create index invitations_status on invitations (tenant_id, status, id) include (expires_at);
create index invitations_expired on invitations (tenant_id, expires_at) where status in ('Pending', 'Expired');
create index job_batches_status on job_batches (status, tenant_id, id);
drop index dead_letter_jobs_retried;
create index dead_letter_jobs_retried on dead_letter_jobs (job_type_name, tenant_id, error_pattern) where retried_at is not null;
create index files_retention on files (tenant_id, retention_class, id);
-- The users of an application are found by its code. Most users have none.
create index users_apps on users using gin (app_ids) where app_ids <> '{}';
