create table orders (
  id uuid primary key,
  tenant_id uuid not null,
  user_id uuid not null,
  note text not null
);
