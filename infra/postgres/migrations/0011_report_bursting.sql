-- Bursting: one report made once for each of a list of values, every document with recipients of its own.
alter table report_schedules add column burst_json text;

-- Executions of one burst share burst_id; burst_value is the value of theirs, for people to read.
alter table report_executions
  add column burst_id uuid,
  add column burst_value text,
  add constraint report_executions_burst_value check ((burst_id is null) = (burst_value is null));
create index report_executions_burst on report_executions (burst_id, id) where burst_id is not null;

-- Whether a schedule's executions are still under way is asked at every tick.
create index report_executions_schedule_open on report_executions (schedule_id)
  where status in (1, 2) and schedule_id is not null;
