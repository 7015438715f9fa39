-- Every version of a template, for good: messages name the version they were accepted with, and it outlives the
-- template. A trigger writes them, so that no way of changing a template can leave its version out.
alter table notification_templates add column changed_by uuid;

create table notification_template_versions (
  id uuid primary key default gen_random_uuid(),
  template_id uuid not null,
  version integer not null,
  name text not null,
  locale text not null,
  subject_template text,
  html_body_template text,
  text_body_template text,
  required_variables text not null,
  changed_at timestamptz(3) not null,
  changed_by uuid,
  constraint notification_template_versions_unique unique (template_id, version)
);

insert into notification_template_versions (template_id, version, name, locale, subject_template,
  html_body_template, text_body_template, required_variables, changed_at)
select id, version, name, locale, subject_template, html_body_template, text_body_template, required_variables,
  updated_at
from notification_templates;

create function keep_template_version() returns trigger language plpgsql as $$
begin
  insert into notification_template_versions (template_id, version, name, locale, subject_template,
    html_body_template, text_body_template, required_variables, changed_at, changed_by)
  values (new.id, new.version, new.name, new.locale, new.subject_template, new.html_body_template,
    new.text_body_template, new.required_variables, clock_timestamp(), new.changed_by);
  return null;
end $$;
-- a change that does not raise the version meets the unique constraint and is refused
create trigger notification_templates_keep_version after insert or update on notification_templates
  for each row execute function keep_template_version();

create function refuse_template_version_change() returns trigger language plpgsql as $$
begin
  raise exception 'versions of templates never change' using errcode = 'insufficient_privilege';
end $$;
create trigger notification_template_versions_fixed before update on notification_template_versions
  for each statement execute function refuse_template_version_change();

-- What the message was accepted with; template_version and template_locale are set when it has been filled in.
alter table notifications add column template_version_id uuid;

-- Messages that wait keep the version a message sent now would get: in the wanted language and its shorter forms,
-- the tenant's default and its shorter forms, or English; in each the tenant's own before the shipped one.
with chosen as (
  select distinct on (n.id) n.id, v.id as version_id
  from notifications n
  join notification_templates t on t.slug = n.template_slug and (t.tenant_id = n.tenant_id or t.tenant_id is null)
  join notification_template_versions v on v.template_id = t.id and v.version = t.version
  left join notification_settings s on s.tenant_id = n.tenant_id
  cross join lateral (select
    coalesce(starts_with(lower(replace(n.locale, '_', '-')) || '-', lower(t.locale) || '-'), false) as is_wanted,
    coalesce(starts_with(lower(s.default_locale) || '-', lower(t.locale) || '-'), false) as is_default) fits
  where n.status in ('Queued', 'Scheduled', 'Sending', 'Failed') and n.template_version is null
    and (is_wanted or is_default or lower(t.locale) = 'en')
  order by n.id, is_wanted desc, case when is_wanted then length(t.locale) end desc, is_default desc,
    length(t.locale) desc, t.tenant_id is null
)
update notifications n set template_version_id = chosen.version_id from chosen where n.id = chosen.id;
