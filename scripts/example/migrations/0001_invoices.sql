create table invoices (
  id uuid primary key,
  tenant_id uuid not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  number text not null,
  customer text not null,
  amount numeric(12, 2) not null,
  due_on date not null,
  status text not null default 'Draft' constraint invoices_status check (status in ('Draft', 'Sent')),
  file_id uuid references public.files (id), -- the PDF, once it is rendered
  constraint invoices_number_unique unique (tenant_id, number)
);
