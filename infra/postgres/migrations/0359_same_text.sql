-- The form in which texts are compared: without compatibility forms, letter case, invisible characters and repeated white
-- space. The two small sigmas of Greek are one letter; `ß` is `ss`, as in capitals. Not strict, so that the planner
-- puts its body in its place; the form of null is null.
create function unicode_same_text(value text) returns text language sql immutable parallel safe strict as $$
  select regexp_replace(regexp_replace(
    replace(replace(lower(normalize(value, NFKC)), 'ς', 'σ'), 'ß', 'ss'),
    '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+',
    '', 'g'), '\s+', ' ', 'g')
$$;
create function same_text(value text) returns text language sql immutable parallel safe as $$
  select case when value ~ '[^ -~]|  ' then public.unicode_same_text(value) else lower(value) end
$$;

create or replace function fold(value text) returns text language sql immutable parallel safe as $$
  select case when value ~ '[^ -~]|  '
    then lower(public.unaccent('public.unaccent'::regdictionary, public.unicode_same_text(value))) else lower(value) end
$$;

-- Stored search texts that have another form now. An update of a column computes them again.
update tenants set name = name where search_text <> fold(name);
update users set email = email where search_text <> fold(email || ' ' || first_name || ' ' || last_name);
update roles set name = name where search_text <> fold(name || ' ' || coalesce(description, ''));
update permissions set code = code where search_text <> fold(code || ' ' || coalesce(description, '') || ' ' || category);
update applications set name = name where search_text <> fold(code || ' ' || name);
update settings set key = key where search_text <> fold(key || ' ' || coalesce(description, ''));
update api_keys set name = name where search_text <> fold(name);
update service_accounts set name = name where search_text <> fold(name);
update oauth_clients set name = name where search_text <> fold(name);
update webhook_endpoints set url = url where search_text <> fold(url || ' ' || coalesce(description, ''));
update files set file_name = file_name where search_text <> fold(file_name);

-- Names that were different, and are the same now, get a number.
update tenants t set name = t.name || ' (' || same.n || ')'
from (select id, row_number() over (partition by same_text(name) order by created_at, id) as n
  from tenants where deleted_at is null) same
where same.id = t.id and same.n > 1;
update roles r set name = r.name || ' (' || same.n || ')'
from (select id, row_number() over (partition by tenant_id, same_text(name) order by not is_system, created_at, id) as n
  from roles where deleted_at is null) same
where same.id = r.id and same.n > 1;
update report_targets t set name = t.name || ' (' || same.n || ')'
from (select id, row_number() over (partition by tenant_id, same_text(name) order by created_at, id) as n
  from report_targets) same
where same.id = t.id and same.n > 1;
update console_saved_filters f set name = f.name || ' (' || same.n || ')'
from (select user_id, list, slot, row_number() over (partition by user_id, list, same_text(name) order by slot) as n
  from console_saved_filters) same
where same.user_id = f.user_id and same.list = f.list and same.slot = f.slot and same.n > 1;

drop index tenants_name_unique, roles_name_unique, roles_by_name, report_targets_name_unique,
  console_saved_filters_name_unique;
create unique index tenants_name_unique on tenants (same_text(name)) where deleted_at is null;
create unique index roles_name_unique on roles (tenant_id, same_text(name)) where deleted_at is null;
create index roles_by_name on roles (same_text(name)) where deleted_at is null;
create unique index report_targets_name_unique on report_targets (tenant_id, same_text(name));
create unique index console_saved_filters_name_unique on console_saved_filters (user_id, list, same_text(name));
