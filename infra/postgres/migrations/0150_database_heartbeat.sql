-- The time up to which a replica has received the changes of the primary. Instances that use a replica write it every second.
create table database_heartbeat (
  is_only boolean primary key default true check (is_only),
  at timestamptz(3) not null default now()
);
insert into database_heartbeat default values;
