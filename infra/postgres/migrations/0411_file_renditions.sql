-- Previous version: may run. Ask for pictures of files after it has stopped.
-- Pictures of files: newly encoded, in sizes that the file's profile lists.
create table file_renditions (
  file_id uuid references files (id),
  -- the size's name in the profile
  name text,
  status text not null default 'Pending',
  -- null until it is Ready
  object_key text,
  content_type text not null,
  width integer,
  height integer,
  size_bytes bigint,
  -- of a Failed one
  reason text,
  created_at timestamptz(3) not null default now(),
  settled_at timestamptz(3),
  primary key (file_id, name),
  constraint file_renditions_status check (status in ('Pending', 'Ready', 'Failed')),
  constraint file_renditions_ready check ((status = 'Ready') = (object_key is not null))
);
