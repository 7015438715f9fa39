-- Personal values of audit rows: beside the rows, which stay append-only, so that they can be erased. Rows written
-- before this migration keep theirs inline (values_apart is false). Nothing is moved: erasure removes them in place.
create table audit_values (
  audit_id uuid primary key,
  -- Whose values: ids of users, email addresses in lower case, telephone numbers.
  subjects text[] not null default '{}',
  before jsonb,
  after jsonb,
  ip text,
  erased_at timestamptz(3)
);
create index audit_values_subjects on audit_values using gin (subjects) where subjects <> '{}';

alter table audit_log add column values_apart boolean not null default false;
create index audit_log_values_inline on audit_log (id) where not values_apart;

-- What a reader sees: the members kept in the audit row and the personal ones.
create function with_personal_values(kept jsonb, personal jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when personal is null then kept when kept is null then personal else kept || personal end
$$;

-- The only change of an audit row: members of its values, or its address, are removed from a row that has them inline.
create function refuse_audit_update() returns trigger language plpgsql as $$
begin
  if not old.values_apart
    and to_jsonb(new) - '{before,after,ip}'::text[] = to_jsonb(old) - '{before,after,ip}'::text[]
    and (new.before is null or old.before @> new.before)
    and (new.after is null or old.after @> new.after)
    and (new.ip is null or old.ip = new.ip) then
    return new;
  end if;
  raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
end $$;
drop trigger audit_log_append_only on audit_log;
create trigger audit_log_append_only before update on audit_log for each row execute function refuse_audit_update();
create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function refuse_audit_change();
