-- Filters of a list of the console that a user saved under a name.
create table console_saved_filters (
  user_id uuid not null references users (id),
  list text not null,
  slot smallint not null,
  name text not null,
  query text not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, list, slot),
  constraint console_saved_filters_slot_known check (slot between 1 and 20),
  constraint console_saved_filters_lengths
    check (length(list) between 1 and 200 and length(name) between 1 and 60 and length(query) <= 2000)
);
create unique index console_saved_filters_name_unique on console_saved_filters (user_id, list, lower(name));

-- What a user does to many rows of a list: an action on the rows that were counted, or a CSV file. It runs in the session
-- that asked for it. `ids` are the counted rows; the first `position` of them are done.
create table console_list_tasks (
  id uuid primary key,
  user_id uuid not null references users (id),
  session_id uuid not null,
  tenant_id uuid references tenants (id),
  security_version integer not null,
  kind text not null,
  list text not null,
  query text not null,
  action text,
  fields jsonb not null default '{}',
  locale text not null,
  time_zone text not null,
  ids text[] not null default '{}',
  total integer not null,
  position integer not null default 0,
  refused integer not null default 0,
  refusals jsonb not null default '{}',
  status text not null,
  error text,
  file_id uuid,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  ended_at timestamptz(3),
  constraint console_list_tasks_kind_known check (kind in ('Csv', 'Action')),
  constraint console_list_tasks_status_known
    check (status in ('Draft', 'Queued', 'Running', 'Completed', 'Failed', 'Cancelled')),
  constraint console_list_tasks_action_named check ((kind = 'Action') = (action is not null)),
  constraint console_list_tasks_position_within check (position between 0 and total and refused <= position),
  constraint console_list_tasks_end_has_time
    check ((status in ('Completed', 'Failed', 'Cancelled')) = (ended_at is not null))
);
create index console_list_tasks_of_user on console_list_tasks (user_id, id desc);
