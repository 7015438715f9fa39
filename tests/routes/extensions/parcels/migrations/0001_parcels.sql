create table parcels (
  id uuid primary key,
  tenant_id uuid not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  name text not null,
  price numeric(30, 4) not null,
  currency text not null,
  site text not null,
  contact text not null,
  tax numeric not null,
  bytes bigint not null,
  took integer not null,
  weight numeric not null
);
