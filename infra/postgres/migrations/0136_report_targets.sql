-- Where a tenant has its reports delivered: another S3 bucket or a Slack-compatible webhook. `secret` is encrypted: the
-- secret access key, or the whole URL of the webhook.
create table report_targets (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  name text not null,
  kind text not null,
  endpoint text,
  region text,
  bucket text,
  prefix text,
  path_style boolean,
  access_key_id text,
  secret text not null,
  created_by uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint report_targets_kind_known check (kind in ('s3', 'slack')),
  constraint report_targets_s3_is_complete
    check ((kind = 's3') = (num_nulls(endpoint, region, bucket, prefix, path_style, access_key_id) = 0))
);
create unique index report_targets_name_unique on report_targets (tenant_id, lower(name));

-- Secrets that sign a tenant's report webhooks. Without any, the secret of the service signs.
create table report_webhook_secrets (
  tenant_id uuid not null references tenants (id),
  secret text not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  valid_until timestamptz(3),
  primary key (tenant_id, secret)
);
create unique index report_webhook_secrets_current on report_webhook_secrets (tenant_id) where valid_until is null;

-- A delivery to a target, and the options of a repeated delivery; null: those of the execution.
alter table report_deliveries add column target_id uuid, add column options_json text;
alter table report_deliveries drop constraint report_deliveries_once;
alter table report_deliveries
  add constraint report_deliveries_once unique nulls not distinct (execution_id, method, target_id, recipient);
