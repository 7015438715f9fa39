-- One attempt at a delivery at a time: a run of a delivery job claims it for a while.
alter table report_deliveries add column claimed_by uuid, add column claimed_until timestamptz(3);

-- Since when the tenant has its own secrets. Replaced secrets are deleted, so their times do not tell it.
alter table report_webhook_secrets add column first_at timestamptz(3) not null default clock_timestamp();
update report_webhook_secrets s set first_at = (
  select min(o.created_at) from report_webhook_secrets o where o.tenant_id = s.tenant_id
);
