-- Every event of a tenant, for polling. An event gets its position after its transaction has committed, in
-- number_events. Positions become visible in ascending order, so a cursor never skips an event that commits late.
create table events (
  id uuid primary key,
  tenant_id uuid not null,
  type text not null,
  data json not null,
  occurred_at timestamptz(3) not null default statement_timestamp(),
  -- null: not numbered yet
  position bigint
);
create unique index events_by_position on events (position) where position is not null;
create index events_by_tenant on events (tenant_id, position) where position is not null;
create index events_unnumbered on events (id) where position is null;

create table event_sequence (
  is_only boolean primary key default true,
  last_position bigint not null default 0,
  constraint event_sequence_has_one_row check (is_only)
);
insert into event_sequence default values;

-- Numbers at most `most` committed events with an id from `first_id` on. The row lock lets one caller number at a time:
-- its positions are visible before another caller continues. Each statement of a function sees what was committed before
-- it began, so events that committed while the lock was awaited are numbered too.
create function number_events(first_id uuid, most integer) returns integer language plpgsql as $$
declare
  last bigint;
  added integer;
begin
  if not exists (select from events where position is null and id >= first_id) then
    return 0;
  end if;
  select last_position into last from event_sequence for update;
  with next as (
    select id, row_number() over (order by id) as number
    from (select id from events where position is null and id >= first_id order by id limit most) found
  )
  update events e set position = last + next.number from next where e.id = next.id;
  get diagnostics added = row_count;
  update event_sequence set last_position = last + added;
  return added;
end $$;

-- Keys of published events: within 24 hours, the same type and key is the same event.
create table event_keys (
  tenant_id uuid not null,
  type text not null,
  key text not null,
  event_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, type, key)
);
create index event_keys_old on event_keys (created_at);
