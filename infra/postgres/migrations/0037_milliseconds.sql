-- Times have milliseconds, stored as shown: so a time read from an answer selects its own row in every filter. Until now
-- columns kept microseconds, of which answers show none.
--
-- To give up digits Postgres writes each table once more, its indexes included, with nobody reading it meanwhile: one
-- pass a table, however many of its columns change. A million jobs (387 MB) took 59 s on a machine with much else to do;
-- the disk needs room for the largest table and its indexes once more. Stop all instances before.

-- What names a column of a time keeps its type from changing.
drop trigger users_deleted_count on users;
alter table files drop column collect_at; -- and with it the index files_collectable
alter table user_tenant_roles drop constraint user_tenant_roles_role;
alter table roles drop constraint roles_id_live_unique, drop column live_tenant_id;
alter table role_permissions drop constraint role_permissions_permission;
alter table permissions drop constraint permissions_live_unique, drop column live_id;

do $$
declare
  changed record;
begin
  for changed in
    select c.oid::regclass as name,
      string_agg(format('alter column %I type timestamptz(3)%s', a.attname,
        case when a.atttypid = 'timestamptz[]'::regtype then '[]' else '' end), ', ' order by a.attnum) as columns
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and a.attnum > 0 and not a.attisdropped
      and a.atttypid in ('timestamptz'::regtype, 'timestamptz[]'::regtype) and a.atttypmod <> 3
    group by c.oid order by c.relname
  loop
    execute format('alter table %s %s', changed.name, changed.columns);
  end loop;
end
$$;

alter table files add column collect_at timestamptz(3) generated always as
  (file_collect_at(retention_class, retain_until, last_released_at, completed_at)) stored;
create index files_collectable on files (collect_at)
  where status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
    and retention_class <> 'Permanent';
alter table roles
  add column live_tenant_id uuid generated always as (case when deleted_at is null then tenant_id end) stored,
  add constraint roles_id_live_unique unique (id, live_tenant_id);
alter table user_tenant_roles add
  constraint user_tenant_roles_role foreign key (role_id, tenant_id) references roles (id, live_tenant_id);
alter table permissions
  add column live_id uuid generated always as (case when deleted_at is null then id end) stored,
  add constraint permissions_live_unique unique (live_id);
alter table role_permissions add
  constraint role_permissions_permission foreign key (permission_id) references permissions (live_id);
create trigger users_deleted_count after update of deleted_at on users
  for each row when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function count_deleted_user();
