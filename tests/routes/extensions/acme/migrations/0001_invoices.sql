create table invoices (
  id uuid primary key,
  tenant_id uuid not null,
  number text not null,
  paid_at timestamptz(3),
  constraint invoices_number unique (tenant_id, number)
);

create table customers (
  id uuid primary key,
  tenant_id uuid not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  number text not null,
  name text not null,
  credit numeric not null,
  deleted_at timestamptz(3)
);
create unique index customers_number_unique on customers (tenant_id, number) where deleted_at is null;
