-- Previous version: may run.
-- Objects of the bucket with old rows. A row here comes in the transaction that deletes the rows from their tables.
create table archives (
  id uuid primary key,
  kind text not null,
  object_key text not null,
  from_at timestamptz(3) not null,
  to_at timestamptz(3) not null,
  row_count integer not null,
  bytes bigint not null,
  sha256 text not null,
  created_at timestamptz(3) not null default now(),
  constraint archives_object_unique unique (object_key),
  constraint archives_kind_known check (kind in ('jobs', 'messages', 'events'))
);
create index archives_by_time on archives (kind, from_at, id);
