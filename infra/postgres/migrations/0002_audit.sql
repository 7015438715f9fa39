-- Who changed what: one row in the same transaction as the change, never altered afterwards.
create table audit_log (
  id uuid primary key,
  at timestamptz not null default now(),
  actor_id uuid,
  tenant_id uuid,
  action text not null,
  target_type text not null,
  target_id text not null,
  before jsonb,
  after jsonb,
  trace_id text,
  ip text
);
create index audit_log_tenant on audit_log (tenant_id, id desc);
create index audit_log_target on audit_log (target_type, target_id, id desc);
create index audit_log_actor on audit_log (actor_id, id desc);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_append_only before update or truncate on audit_log
  for each statement execute function refuse_audit_change();
create trigger audit_log_no_delete before delete on audit_log
  for each statement execute function refuse_audit_change();
