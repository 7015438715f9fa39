-- Links to a report's document, as mail and webhooks carry them; only a hash of what a link holds is kept.
create table report_links (
  token_hash bytea primary key,
  execution_id uuid not null references report_executions (id) on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint report_links_expire_later check (expires_at > created_at)
);
create index report_links_execution on report_links (execution_id);
create index report_links_expiry on report_links (expires_at);

-- Runs that failed on their own: a crash, or an outage of what a run needs, is no failure of the report.
alter table report_executions add column failures smallint not null default 0;

-- What If-Match is compared with: every change of an execution but a counted download makes a new version.
alter table report_executions add column version integer not null default 1;
create function count_report_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;
create trigger report_executions_version before update on report_executions
  for each row when (old.download_count = new.download_count) execute function count_report_version();
