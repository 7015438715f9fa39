-- How the mails, pages and documents of a tenant look. Null: the value of the configuration.
create table tenant_looks (
  tenant_id uuid primary key references tenants (id),
  product_name text,
  primary_colour text,
  text_colour text,
  footer text,
  reply_to text,
  logo bytea,
  logo_content_type text,
  logo_width integer,
  logo_height integer,
  -- identifies the content in URLs
  logo_tag text,
  version integer not null default 0,
  updated_at timestamptz(3) not null default now(),
  constraint tenant_looks_colours check (primary_colour ~ '^#[0-9a-f]{6}$' and text_colour ~ '^#[0-9a-f]{6}$'),
  constraint tenant_looks_logo check (
    num_nulls(logo, logo_content_type, logo_width, logo_height, logo_tag) in (0, 5)
    and logo_content_type in ('image/png', 'image/jpeg')
    and octet_length(logo) <= 262144 and logo_width between 1 and 2000 and logo_height between 1 and 2000)
);
-- images are compressed already
alter table tenant_looks alter column logo set storage external;
