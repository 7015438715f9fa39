-- Previous version: may run.
-- Users are counted by their last sign-in and second factor from the index alone.
drop index users_live;
create index users_live on users (is_active, lockout_expires_at) include (id, last_login_at, created_at)
  where deleted_at is null;

-- What each tenant used on a day (UTC), and in a month. Jobs and messages are deleted after a time, so an hourly job writes
-- down how many there were. tenant_key: all zeros for the service's own.
create table usage_days (
  day date,
  tenant_key uuid,
  mails bigint not null default 0,
  jobs bigint not null default 0,
  reports bigint not null default 0,
  primary key (day, tenant_key)
);
create table usage_months (
  month date,
  tenant_key uuid,
  -- at the last measurement of the month
  storage_bytes bigint not null default 0,
  mails bigint not null default 0,
  jobs bigint not null default 0,
  reports bigint not null default 0,
  updated_at timestamptz(3) not null default now(),
  primary key (month, tenant_key)
);
create index usage_months_by_tenant on usage_months (tenant_key, month);

-- The size of the database and of its tables, once a day.
create table database_samples (
  day date primary key,
  bytes bigint not null,
  -- bytes by table
  tables jsonb not null
);

-- A tenant is told when a value crosses a threshold, and when it is back.
create table alert_rules (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  name text not null,
  metric text not null,
  threshold double precision not null,
  mail_to text,
  slack_target text,
  silenced_until timestamptz(3),
  is_active boolean not null default true,
  state text not null default 'Unknown',
  state_since timestamptz(3),
  -- the state of the last message
  told_state text not null default 'Ok',
  value double precision,
  last_error text,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint alert_rules_metric check (metric in ('DeadLetters', 'FailureRate', 'WaitingMinutes', 'FailingWebhooks',
    'BounceRate', 'DatabaseGigabytes', 'SignatureHours')),
  constraint alert_rules_state check (state in ('Unknown', 'Ok', 'Firing') and told_state in ('Ok', 'Firing'))
);
create unique index alert_rules_name_unique on alert_rules (tenant_id, same_text(name));
