create table invoices (
  id uuid primary key,
  tenant_id uuid not null,
  number text not null,
  paid_at timestamptz(3),
  constraint invoices_number unique (tenant_id, number)
);
