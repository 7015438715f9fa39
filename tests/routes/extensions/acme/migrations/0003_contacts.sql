alter table customers add unique (id, tenant_id);
create table contacts (
  id uuid primary key,
  tenant_id uuid not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  customer_id uuid not null,
  name text not null,
  foreign key (customer_id, tenant_id) references customers (id, tenant_id)
);
