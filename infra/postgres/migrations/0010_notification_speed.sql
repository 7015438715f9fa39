-- A tenant's messages are also counted by the hour (UTC), so that stats and lists of a range that begins or ends within
-- a day count the rows of an hour at most at either end.
create table notification_hour_counts (
  tenant_key uuid not null,
  hour timestamptz not null,
  channel notification_channel not null,
  status notification_status not null,
  shard smallint not null,
  count bigint not null,
  constraint notification_hour_counts_pkey primary key (tenant_key, hour, channel, status, shard)
) with (fillfactor = 50);

insert into notification_hour_counts (tenant_key, hour, channel, status, shard, count)
select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
  channel, status, 0, count(*)
from notifications group by 1, 2, 3, 4;

create function count_notifications_by_hour() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into notification_hour_counts as c (tenant_key, hour, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
      channel, status, pg_backend_pid() % 32, count(*)
    from come group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, hour, channel, status, shard) do update set count = c.count + excluded.count;
  elsif tg_op = 'DELETE' then
    insert into notification_hour_counts as c (tenant_key, hour, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
      channel, status, pg_backend_pid() % 32, -count(*)
    from gone group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, hour, channel, status, shard) do update set count = c.count + excluded.count;
  else
    insert into notification_hour_counts as c (tenant_key, hour, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
      channel, status, pg_backend_pid() % 32, sum(delta)
    from (select tenant_id, created_at, channel, status, 1 as delta from come
          union all select tenant_id, created_at, channel, status, -1 from gone) changed
    group by 1, 2, 3, 4 having sum(delta) <> 0 order by 1, 2, 3, 4
    on conflict (tenant_key, hour, channel, status, shard) do update set count = c.count + excluded.count;
  end if;
  return null;
end $$;
create trigger notifications_hour_count_insert after insert on notifications
  referencing new table as come for each statement execute function count_notifications_by_hour();
create trigger notifications_hour_count_update after update on notifications
  referencing old table as gone new table as come for each statement execute function count_notifications_by_hour();
create trigger notifications_hour_count_delete after delete on notifications
  referencing old table as gone for each statement execute function count_notifications_by_hour();

-- A list by channel and status at once; and counting rows of a range without reading them.
create index notifications_channel_status on notifications (tenant_id, channel, status, created_at, id);
drop index notifications_created;
create index notifications_created on notifications (tenant_id, created_at, id) include (channel, status);
