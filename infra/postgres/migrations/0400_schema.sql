-- Previous version: none. This is the first migration.
-- The database of the service, by area. The READMEs of the areas explain the rules; a new migration changes this schema.

create extension if not exists pg_trgm;
create extension if not exists unaccent;
set local check_function_bodies = off; -- functions may name tables that come after them

create type file_status as enum ('Pending', 'Scanning', 'Available', 'Infected', 'Failed', 'Purged');
create type job_status as enum ('Enqueued', 'Scheduled', 'AwaitingParent', 'Processing', 'Succeeded', 'Failed',
  'DeadLettered', 'Cancelled');
create type job_type as enum ('FireAndForget', 'Delayed', 'Recurring', 'Continuation');
create type notification_channel as enum ('Email', 'Push', 'InApp', 'Sms');
create type notification_priority as enum ('Low', 'Normal', 'High', 'Critical');
create type notification_status as enum ('Pending', 'Queued', 'Sending', 'Sent', 'Failed', 'DeadLettered',
  'Scheduled', 'Cancelled');
create type permission_reach as enum ('Platform', 'Tenant');
create type retention_class as enum ('Temporary', 'Standard', 'Permanent');
create type tenant_type as enum ('Platform', 'Group', 'Standard');
create type webhook_delivery_status as enum ('Pending', 'Delivered', 'Failed');

-- The group of an error: its message with addresses, ids, times and numbers replaced by #. Codes stay, because errors
-- with different codes have different causes: 409 after "answered", "status" or "error", or before "Conflict".
create function error_pattern(message text) returns text language plpgsql immutable parallel safe as $$
declare
  pattern text := left(coalesce(message, ''), 1000);
begin
  if pattern ~ '@' then
    pattern := regexp_replace(pattern, '[a-z0-9._%+''-]+@[a-z0-9-]+(\.[a-z0-9-]+)*', '#', 'gi');
  end if;
  if pattern !~ '[0-9]' then
    return left(pattern, 300);
  end if;
  pattern := regexp_replace(pattern, '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '#', 'gi');
  -- Times: ISO 8601, and with the name of the month.
  pattern := regexp_replace(pattern,
    '[0-9]{4}-[0-9]{2}-[0-9]{2}([t ][0-9]{2}:[0-9:.,]{2,16}( ?(z|utc|[+-][0-9]{2}:?[0-9]{2}))?)?', '#', 'gi');
  if pattern ~ '[ /-]20[0-9]{2}' then
    pattern := regexp_replace(pattern,
      '(\m(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?([0-9]{1,2}[ /-])?'
      '\m(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ /-]([0-9]{1,2},? )?20[0-9]{2}'
      '([ :t][0-9]{2}:[0-9:.]{2,12}( ?(z|gmt|utc|[+-][0-9]{4})){0,2})?',
      '#', 'gi');
  end if;
  -- IPv6 and hardware addresses; then ids of letters and digits.
  if pattern ~ ':[0-9A-Fa-f]*:' then
    pattern := regexp_replace(pattern, '(?<![0-9a-z:])([0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![0-9a-z:])', '#', 'gi');
  end if;
  pattern := regexp_replace(pattern, '(?<![a-z0-9])(?=[a-z]*[0-9]+[a-z]+[0-9])[a-z0-9]{10,}', '#', 'gi');
  -- A marker stands before each digit that stays: codes of an exit, an error or a status, of up to five digits;
  pattern := regexp_replace(pattern,
    '\m((?:(?:exit|error|status|result|return|response|http|smtp|sql)[ _-]?(?:code|status|state)'
    '|errno|status|http(?:/[0-9.]+)?)["'']?(?: (?:of|was|is))?[ :=(-]{0,3}["'']?(?:http[ /]?)?)'
    '([0-9])([0-9])?([0-9])?([0-9])?([0-9])?(?![0-9a-z_])(?![.,:/-][0-9])',
    E'\\1\x01\\2\x01\\3\x01\\4\x01\\5\x01\\6', 'gi');
  -- numbers from 100 to 599 where a status is expected, unless they count something;
  pattern := regexp_replace(pattern,
    '(\m(?:code|error|answer(?:s|ed)?|return(?:s|ed|ing)?|respon(?:se|ds|ded)|repl(?:y|ies|ied)|got|received|gave|with'
    '|fail(?:s|ed|ure))\M["'']?:?(?: an?)? ?["''(\[]?|[=-]> ?|^|\((?=[0-9]{3}\)))'
    '([1-5])([0-9])([0-9])(?![0-9a-z_])(?![.,:/-][0-9])'
    '(?! ?(?:ms|s|sec|seconds?|minutes?|hours?|days?|%|[kmg]?i?b|bytes?|char[a-z]*|rows?|items?|records?|entries|files?'
    '|lines?|times|jobs?|messages?|users?)(?![a-z]))',
    E'\\1\x01\\2\x01\\3\x01\\4', 'gi');
  -- and numbers before the name of a status.
  pattern := regexp_replace(pattern,
    '(?<![0-9A-Za-z_.,:/-])([1-5])([0-9])([0-9])(?=[ :-]{1,3}'
    '(?:Continue|OK|Created|Accepted|No Content|Moved|Found|See Other|Not |Temporary|Permanent|Bad|Unauthorized|Payment'
    '|Forbidden|Method|Proxy|Request|Conflict|Gone|Length|Precondition|Payload|Content|URI|Unsupported|Range'
    '|Expectation|Misdirected|Unprocessable|Locked|Failed|Too |Upgrade'
    '|Internal|Gateway|Service|HTTP|Insufficient|Network|Slow))',
    E'\x01\\1\x01\\2\x01\\3', 'g');
  pattern := regexp_replace(pattern, '(?<!\u0001)[0-9]+([.,][0-9]+)*', '#', 'g');
  return left(replace(pattern, E'\x01', ''), 300);
end $$;

-- When retention lets go of an unreferenced file: a Temporary one on its date, a Standard one on its date (if any)
-- but not before 30 days after its last reference, or after its completion when nothing ever held it.
-- Days are added in UTC, which makes the sum independent of settings and thus immutable.
create function file_collect_at(
  class retention_class, retain_until timestamptz, last_released_at timestamptz, completed_at timestamptz
) returns timestamptz language sql immutable parallel safe as $$
  select case class
    when 'Temporary' then retain_until
    when 'Standard' then greatest(retain_until,
      (coalesce(last_released_at, completed_at) at time zone 'UTC' + interval '30 days') at time zone 'UTC')
  end
$$;

-- Why a purged file has no content: the service rejected it, it expired, or it was purged on request.
create function file_purge_kind(reason text) returns text language sql immutable as $$
  select case
    when reason in ('job:tipo-reprovado', 'job:archive-limits', 'job:size-mismatch') then 'Rejected'
    when reason in ('job:upload-expired', 'job:retention-expired') then 'Expired'
    when reason is not null then 'Purged'
  end
$$;

-- The Punycode of a label of a domain name, without the prefix xn-- (RFC 3492).
create function punycode(label text) returns text language plpgsql immutable strict parallel safe as $$
declare
  digits constant text := 'abcdefghijklmnopqrstuvwxyz0123456789';
  codes constant int[] := array(select ascii(c) from unnest(string_to_array(label, null)) with ordinality t (c, i) order by i);
  result text := (select coalesce(string_agg(chr(c), '' order by i), '') from unnest(codes) with ordinality t (c, i) where c < 128);
  basic constant int := length(result);
  handled int := basic;
  n int := 128;
  delta int := 0;
  bias int := 72;
  next int;
  code int;
  q int;
  k int;
  t int;
begin
  if basic > 0 then result := result || '-'; end if;
  while handled < cardinality(codes) loop
    next := (select min(c) from unnest(codes) c where c >= n);
    delta := delta + (next - n) * (handled + 1);
    n := next;
    foreach code in array codes loop
      if code < n then delta := delta + 1; end if;
      continue when code <> n;
      q := delta;
      k := 36;
      loop
        t := greatest(1, least(26, k - bias));
        exit when q < t;
        result := result || substr(digits, t + (q - t) % (36 - t) + 1, 1);
        q := (q - t) / (36 - t);
        k := k + 36;
      end loop;
      result := result || substr(digits, q + 1, 1);
      delta := case when handled = basic then delta / 700 else delta / 2 end;
      delta := delta + delta / (handled + 1);
      k := 0;
      while delta > 455 loop
        delta := delta / 35;
        k := k + 36;
      end loop;
      bias := k + 36 * delta / (delta + 38);
      delta := 0;
      handled := handled + 1;
    end loop;
    delta := delta + 1;
    n := n + 1;
  end loop;
  return result;
end $$;

-- The key of an address with other letters than those of ASCII.
create function unicode_mail_key(address text) returns text language plpgsql immutable strict parallel safe as $$
declare
  at constant int := length(address) - position('@' in reverse(address)) + 1;
begin
  return lower(left(address, at)) || (
    select string_agg(case when label ~ '[^\x01-\x7f]' then 'xn--' || public.punycode(label) else label end, '.' order by i)
    from unnest(string_to_array(normalize(lower(normalize(substr(address, at + 1), NFKC)), NFKC), '.'))
      with ordinality t (label, i)
  );
end $$;

-- Two email addresses are the same if their keys are equal: in lower case, with the domain in its ASCII form. Not strict, so
-- that the planner puts its body in its place; the key of null is null.
create function mail_key(address text) returns text language sql immutable parallel safe as $$
  select case when address ~ '[^\x01-\x7f]' then public.unicode_mail_key(address) else lower(address) end
$$;

-- The form in which texts are compared: without compatibility forms, letter case, invisible characters and repeated white
-- space. The two small sigmas of Greek are one letter; `ß` is `ss`, as in capitals. Not strict, so that the planner
-- puts its body in its place; the form of null is null.
create function unicode_same_text(value text) returns text language sql immutable parallel safe strict as $$
  select regexp_replace(regexp_replace(
    replace(replace(lower(normalize(value, NFKC)), 'ς', 'σ'), 'ß', 'ss'),
    '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+',
    '', 'g'), '\s+', ' ', 'g')
$$;

-- Case- and accent-insensitive form of a text; immutable so that it can be generated and indexed.
create function fold(value text) returns text language sql immutable parallel safe as $$
  select case when value ~ '[^ -~]|  '
    then lower(public.unaccent('public.unaccent'::regdictionary, public.unicode_same_text(value))) else lower(value) end
$$;

create function same_text(value text) returns text language sql immutable parallel safe as $$
  select case when value ~ '[^ -~]|  ' then public.unicode_same_text(value) else lower(value) end
$$;

-- Access

create table tenants (
  id uuid primary key,
  name text not null,
  type tenant_type not null,
  is_active boolean not null default true,
  parent_tenant_id uuid references tenants (id),
  max_users integer,
  user_count integer not null default 0,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search_text text generated always as (fold(name)) stored,
  -- In such a tenant, a session without a second factor is good only for adding one.
  require_second_factor boolean not null default false,
  erased_at timestamptz(3),
  constraint tenants_max_users_positive check (max_users > 0),
  constraint tenants_not_own_parent check (parent_tenant_id <> id),
  constraint tenants_user_count_not_negative check (user_count >= 0)
);
create unique index tenants_name_unique on tenants (same_text(name)) where deleted_at is null;
create unique index tenants_one_platform on tenants (type) where type = 'Platform';
create index tenants_parent on tenants (parent_tenant_id) where parent_tenant_id is not null;
create index tenants_search on tenants using gin (search_text gin_trgm_ops);

create table users (
  id uuid primary key,
  email text not null,
  password_hash text,
  first_name text not null default '',
  last_name text not null default '',
  phone_number text,
  is_active boolean not null default true,
  app_ids text[] not null default '{}',
  security_version integer not null default 1,
  lockout_expires_at timestamptz(3),
  last_login_at timestamptz(3),
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search_text text generated always as (fold(email || ' ' || first_name || ' ' || last_name)) stored,
  metadata jsonb not null default '{}',
  erased_at timestamptz(3),
  -- When a link that was mailed to the user's email was used. Null: nobody has shown that the address is the user's.
  email_verified_at timestamptz(3),
  -- True: the email is verified only by its mailbox, and the password or the factors may be those of somebody else who used the
  -- account before. Such an account counts as never proved by its owner, like one without a verified email.
  is_mailbox_only boolean not null default false,
  constraint users_metadata_object check (jsonb_typeof(metadata) = 'object')
) with (fillfactor = 85);
create index users_by_created on users (created_at, id);
-- One index for each order of the lists, so that a page is read and not sorted; and what totals are counted from.
create index users_by_first_name on users (lower(first_name), id);
create index users_by_last_login on users (last_login_at nulls first, id);
create index users_by_last_name on users (lower(last_name), id);
create unique index users_email_unique on users (mail_key(email));
create index users_live on users (is_active, lockout_expires_at) where deleted_at is null;
create index users_locked on users (lockout_expires_at) where lockout_expires_at is not null;
create index users_search on users using gin (search_text gin_trgm_ops);

create table user_tenants (
  user_id uuid references users (id),
  tenant_id uuid references tenants (id),
  is_active boolean not null default true,
  is_default boolean not null default false,
  created_at timestamptz(3) not null default now(),
  -- The id of a user in another system, per link; and data that other systems keep about a user.
  external_id text,
  primary key (user_id, tenant_id),
  constraint user_tenants_external_id_length check (char_length(external_id) between 1 and 200)
);
-- Finds a link by its external id in one tenant and in all tenants.
create unique index user_tenants_external_id_unique on user_tenants (external_id, tenant_id)
  where external_id is not null;
create unique index user_tenants_one_default on user_tenants (user_id) where is_default;
create index user_tenants_tenant on user_tenants (tenant_id, user_id);

create table roles (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  name text not null,
  description text,
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search_text text generated always as (fold(name || ' ' || coalesce(description, ''))) stored,
  -- Null once the role is deleted: what refers to it keeps a role from being deleted under a holder.
  live_tenant_id uuid generated always as (case when deleted_at is null then tenant_id else null end) stored,
  -- A change of a role's permissions increments `access_version` of the role instead of the security versions of its
  -- holders, who may be many. The version of a user is `users.security_version` plus those of the user's roles.
  access_version integer not null default 0,
  constraint roles_id_live_unique unique (id, live_tenant_id)
);
create index roles_by_name on roles (same_text(name)) where deleted_at is null;
create unique index roles_name_unique on roles (tenant_id, same_text(name)) where deleted_at is null;

-- The composite keys hold the rule that a link carries live roles of its own tenant only.
create table user_tenant_roles (
  user_id uuid,
  tenant_id uuid,
  role_id uuid,
  primary key (user_id, tenant_id, role_id),
  constraint user_tenant_roles_link foreign key (user_id, tenant_id) references user_tenants (user_id, tenant_id) on delete cascade,
  constraint user_tenant_roles_role foreign key (role_id, tenant_id) references roles (id, live_tenant_id)
);
create index user_tenant_roles_by_role on user_tenant_roles (role_id, user_id);

create table permissions (
  id uuid primary key,
  tenant_id uuid references tenants (id),
  code text not null,
  description text,
  category text not null,
  reach permission_reach not null default 'Tenant',
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search_text text generated always as (fold(code || ' ' || coalesce(description, '') || ' ' || category)) stored,
  -- Null once the permission is deleted: a permission that a role carries cannot be.
  live_id uuid generated always as (case when deleted_at is null then id else null end) stored,
  constraint permissions_live_unique unique (live_id),
  constraint permissions_code_form check (code ~ '^[a-z0-9][a-z0-9._-]*(:[a-z0-9][a-z0-9._-]*)?$'),
  constraint permissions_platform_reach_in_catalog check (reach = 'Tenant' or tenant_id is null)
);
create index permissions_by_code on permissions (code) where deleted_at is null;
create unique index permissions_code_unique on permissions
  (code, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) where deleted_at is null;
create index permissions_tenant on permissions (tenant_id, category, code);

create table role_permissions (
  role_id uuid references roles (id) on delete cascade,
  permission_id uuid,
  primary key (role_id, permission_id),
  constraint role_permissions_permission foreign key (permission_id) references permissions (live_id)
);
create index role_permissions_by_permission on role_permissions (permission_id);

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoked_reason text,
  ip text,
  user_agent text,
  -- A session keeps the security version its user had when it was opened. A change to the user's role, permission or link
  -- raises the user's version, which ends every session with an older one: its access tokens, refresh tokens and browser
  -- sessions.
  security_version integer not null default 1,
  -- A session that a client got belongs to that client. It ends with the session of the browser that signed in to the
  -- client (`opened_by`), unless the client may act while the user is away (scope offline_access).
  client_id uuid,
  opened_by uuid,
  -- How and when the user of a session signed in: values of RFC 8176, `fed` for a sign-in by a provider. The session's
  -- tokens keep them through refresh and tenant switch.
  amr text[] not null default '{}',
  authenticated_at timestamptz(3) not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index sessions_expiry on sessions (expires_at);
create index sessions_opened_by on sessions (opened_by) where opened_by is not null and revoked_at is null;
create index sessions_revoked on sessions (revoked_at) where revoked_at is not null;
create index sessions_user on sessions (user_id, id) where revoked_at is null;

-- One row a refresh token ever given, kept until its own time is over: a used one seen again revokes its session.
create table refresh_tokens (
  token_hash bytea primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  tenant_id uuid,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index refresh_tokens_expiry on refresh_tokens (expires_at);
create index refresh_tokens_session on refresh_tokens (session_id);

-- Wrong sign-ins of late, by account (`user:<id>`) and by address (`address:<ip>`): what lockouts and the limit per
-- address are counted from.
create table failed_sign_ins (
  subject text primary key,
  failed_at timestamptz(3)[] not null,
  last_failed_at timestamptz(3) not null
);
create index failed_sign_ins_last on failed_sign_ins (last_failed_at);

create table password_resets (
  token_hash bytea primary key,
  user_id uuid not null references users (id),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  -- Who asked for a reset link: an administrator, a known device or a network address. Each has its own limit.
  requester text
);
create index password_resets_expiry on password_resets (expires_at);
create index password_resets_user on password_resets (user_id);

-- Who a user is at an OpenID provider. One subject per user and issuer: an address that the provider gives to
-- another person later must not lead that person into this account.
create table user_identities (
  issuer text,
  subject text,
  user_id uuid not null references users (id),
  created_at timestamptz(3) not null default now(),
  primary key (issuer, subject),
  constraint user_identities_one_subject unique (user_id, issuer)
);

-- A sign-in on its way to an OpenID provider and back; taken away when it comes back, so it counts once.
create table oidc_flows (
  state_hash bytea primary key,
  browser_hash bytea not null,
  provider text not null,
  nonce text not null,
  code_verifier text not null,
  return_to text,
  tenant_id uuid,
  is_global boolean not null,
  expires_at timestamptz(3) not null
);
create index oidc_flows_expiry on oidc_flows (expires_at);

-- A finished OpenID sign-in that waits to be fetched by the page the browser was sent back to.
create table oidc_handovers (
  code_hash bytea primary key,
  user_id uuid not null references users (id),
  tenant_id uuid,
  is_global boolean not null,
  expires_at timestamptz(3) not null,
  amr text[] not null default '{fed}'
);
create index oidc_handovers_expiry on oidc_handovers (expires_at);

-- Sessions of the console: a cookie's secret, kept hashed, stands for a session and the tenant chosen in it.
create table browser_sessions (
  secret_hash bytea primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  tenant_id uuid references tenants (id),
  created_at timestamptz(3) not null default now(),
  last_seen_at timestamptz(3) not null default now()
);
create index browser_sessions_session on browser_sessions (session_id);

-- API keys of programs. A key acts in one tenant, with some of the permissions of the user who created it. Revoked keys
-- stay, because the audit log names them.
create table api_keys (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  created_by uuid not null references users (id),
  name text not null,
  hash bytea not null,
  start text not null,
  permissions text[] not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  revoked_by uuid,
  last_used_at timestamptz(3),
  last_used_ip text,
  search_text text generated always as (fold(name)) stored,
  constraint api_keys_hash_unique unique (hash),
  constraint api_keys_give_something check (cardinality(permissions) > 0)
);
create index api_keys_by_tenant on api_keys (tenant_id, created_at, id);

-- The permissions that a catalog role has in every tenant. They are granted when a tenant is created, and to the tenants
-- that already exist when the row is new.
create table default_role_permissions (
  role_name text,
  permission_code text,
  -- Grants that the service or an extension declares cannot be removed over the API; others are set there.
  is_declared boolean not null default true,
  primary key (role_name, permission_code)
);
create index default_role_permissions_by_code on default_role_permissions (permission_code);

-- Accounts of programs. Unlike an API key, a service account is not tied to a user and acts in one, several or all
-- tenants. Revoked ones stay, so that the audit log can name them.
create table service_accounts (
  id uuid primary key,
  client_id text not null,
  name text not null,
  hash bytea not null,
  start text not null,
  permissions text[] not null,
  -- null: all tenants except the platform's, also future ones
  tenant_ids uuid[],
  -- the tenant that manages the account; null: it acts in several tenants, and is managed with admin:system
  only_tenant_id uuid generated always as (case when (cardinality(tenant_ids) = 1) then tenant_ids[1] else null end) stored,
  version integer not null default 1,
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3),
  revoked_by uuid,
  last_used_at timestamptz(3),
  last_used_ip text,
  search_text text generated always as (fold(name)) stored,
  -- Tokens of a service account name the version of its secret, so that a new secret ends them.
  secret_version integer not null default 1,
  constraint service_accounts_client_id_unique unique (client_id),
  constraint service_accounts_hash_unique unique (hash),
  constraint service_accounts_have_permissions check (cardinality(permissions) > 0),
  constraint service_accounts_have_tenants check (cardinality(tenant_ids) > 0)
);
create index service_accounts_by_tenant on service_accounts (only_tenant_id, created_at, id);

-- Second factors of users. A factor counts once it is confirmed.
create table user_factors (
  id uuid primary key,
  user_id uuid not null references users (id),
  kind text not null,
  name text not null,
  created_at timestamptz(3) not null default now(),
  confirmed_at timestamptz(3),
  last_used_at timestamptz(3),
  -- TOTP: the encrypted secret, and the last time step whose code was accepted, so that no code works twice.
  secret text,
  last_step bigint,
  -- Passkey
  credential_id bytea,
  public_key bytea,
  sign_count bigint,
  transports text[],
  is_synced boolean,
  constraint user_factors_credential_unique unique (credential_id),
  constraint user_factors_kind_parts check ( kind = 'totp' and secret is not null and credential_id is null or kind = 'passkey' and secret is null and confirmed_at is not null and credential_id is not null and public_key is not null and sign_count is not null and transports is not null and is_synced is not null)
);
-- One authenticator app that counts and one that waits for its first code.
create unique index user_factors_one_totp on user_factors (user_id, (confirmed_at is null)) where kind = 'totp';
-- for the sweep that deletes them
create index user_factors_unconfirmed on user_factors (created_at) where confirmed_at is null;
create index user_factors_user on user_factors (user_id, created_at, id);

create table recovery_codes (
  user_id uuid references users (id),
  code_hash bytea,
  primary key (user_id, code_hash)
);

-- Sign-ins whose first step succeeded and whose second factor is missing.
create table factor_tokens (
  token_hash bytea primary key,
  user_id uuid not null references users (id),
  tenant_id uuid,
  is_global boolean not null,
  amr text[] not null,
  expires_at timestamptz(3) not null
);
create index factor_tokens_expiry on factor_tokens (expires_at);
create index factor_tokens_user on factor_tokens (user_id);

-- Challenges that wait for the answer of a passkey. Each is deleted by its first answer.
create table passkey_challenges (
  challenge_hash bytea primary key,
  purpose text not null,
  user_id uuid references users (id),
  expires_at timestamptz(3) not null,
  constraint passkey_challenges_purpose check ( purpose = 'sign-in' and user_id is null or purpose in ('add', 'prove') and user_id is not null)
);
create index passkey_challenges_expiry on passkey_challenges (expires_at);
create index passkey_challenges_user on passkey_challenges (user_id);

-- Devices that have signed in before. Their wrong passwords are counted apart from those of all others, so that a
-- stranger who locks an account does not lock out its owner.
create table known_devices (
  id uuid primary key,
  user_id uuid not null references users (id),
  token_hash bytea not null,
  created_at timestamptz(3) not null default now(),
  -- When the device last sent its token back; null: never.
  last_used_at timestamptz(3),
  expires_at timestamptz(3) not null,
  constraint known_devices_token_unique unique (token_hash)
);
create index known_devices_expiry on known_devices (expires_at);
create index known_devices_user on known_devices (user_id);

-- Requested changes of emails. The token was mailed to the new address, so it proves that the user can read its mail.
create table email_changes (
  token_hash bytea,
  user_id uuid not null references users (id),
  new_email text not null,
  -- The session that asked; it stays open when the others end.
  session_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  -- A change of the email is stored when it is asked for; its token when the mail is written. So jobs carry only the id.
  id uuid default gen_random_uuid() primary key
);
create index email_changes_expiry on email_changes (expires_at);
create unique index email_changes_token_unique on email_changes (token_hash);
create index email_changes_user on email_changes (user_id);

-- Invitations of persons to a tenant. A mailed link has the token; its hash is stored.
create table invitations (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  email text not null,
  first_name text not null,
  last_name text not null,
  role_ids uuid[] not null,
  status text not null default 'Pending',
  invited_by uuid not null,
  token_hash bytea not null,
  accepted_user_id uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  sent_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  constraint invitations_accepted check ((status = 'Accepted') = (accepted_at is not null)),
  -- Expired is stored only when a new invitation of the same email replaces a pending one that has expired
  constraint invitations_status check (status in ('Pending', 'Accepted', 'Revoked', 'Expired'))
);
create index invitations_expiry on invitations (expires_at);
create unique index invitations_open_unique on invitations (mail_key(email), tenant_id) where status = 'Pending';
create index invitations_tenant on invitations (tenant_id, id);
create unique index invitations_token_unique on invitations (token_hash);

-- Personal values of audit rows: beside the rows, which stay append-only, so that they can be erased. Rows of early
-- versions have theirs inline (values_apart is false); erasure removes them there.
create table audit_values (
  audit_id uuid primary key,
  -- Whose values: ids of users, email addresses in lower case, telephone numbers.
  subjects text[] not null default '{}',
  before jsonb,
  after jsonb,
  ip text,
  erased_at timestamptz(3)
);
create index audit_values_subjects on audit_values using gin (subjects) where subjects <> '{}';

-- Who changed what: one row in the same transaction as the change, never altered afterwards.
create table audit_log (
  id uuid primary key,
  at timestamptz(3) not null default now(),
  actor_id uuid,
  tenant_id uuid,
  action text not null,
  target_type text not null,
  target_id text not null,
  before jsonb,
  after jsonb,
  trace_id text,
  ip text,
  api_key_id uuid,
  values_apart boolean not null default false
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index audit_log_actor on audit_log (actor_id, id desc);
create index audit_log_target on audit_log (target_type, target_id, id desc);
create index audit_log_tenant on audit_log (tenant_id, id desc);
create index audit_log_values_inline on audit_log (id) where not values_apart;

-- A deleted user no longer counts and gives up the external ids, so that the other system can use them for a new user.
create function count_deleted_user() returns trigger language plpgsql as $$
begin
  update tenants t set user_count = user_count + case when new.deleted_at is null then 1 else -1 end
  from user_tenants l where l.user_id = new.id and l.tenant_id = t.id and l.is_active;
  if new.deleted_at is not null then
    delete from user_tenant_roles where user_id = new.id;
    update user_tenants set external_id = null where user_id = new.id and external_id is not null;
  end if;
  return null;
end $$;

-- tenants.user_count is the number of active links of users that are not deleted, kept by these triggers so that
-- the capacity rule and lists read one column instead of counting. They fire once a statement: a row at a time, many
-- links made in one tenant at once would pile up as many versions of its one row.
create function count_linked_users() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    update tenants t set user_count = user_count + n from (
      select l.tenant_id, count(*) as n from new_links l join users u on u.id = l.user_id
      where l.is_active and u.deleted_at is null group by l.tenant_id) made
    where t.id = made.tenant_id;
  elsif tg_op = 'DELETE' then
    update tenants t set user_count = user_count - n from (
      select l.tenant_id, count(*) as n from old_links l join users u on u.id = l.user_id
      where l.is_active and u.deleted_at is null group by l.tenant_id) gone
    where t.id = gone.tenant_id;
  else
    update tenants t set user_count = user_count + n from (
      select l.tenant_id, sum(l.n) as n from (
        select user_id, tenant_id, 1 as n from new_links where is_active
        union all select user_id, tenant_id, -1 from old_links where is_active) l
      join users u on u.id = l.user_id
      where u.deleted_at is null group by l.tenant_id having sum(l.n) <> 0) changed
    where t.id = changed.tenant_id;
  end if;
  return null;
end $$;

-- A role that is taken away must not lower the version of its user: it would become one that an ended session has.
create function keep_security_versions() returns trigger language plpgsql as $$
begin
  update users u set security_version = u.security_version + gone.versions
  from (select removed.user_id, sum(r.access_version + 1)::integer as versions
    from removed join roles r on r.id = removed.role_id where r.access_version > 0
    group by removed.user_id) gone
  where u.id = gone.user_id;
  return null;
end $$;

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
end $$;

-- The only change of an audit row: members of its values, or its address, are removed from a row that has them inline.
create function refuse_audit_update() returns trigger language plpgsql as $$
begin
  if not old.values_apart
    and to_jsonb(new) - '{before,after,ip}'::text[] = to_jsonb(old) - '{before,after,ip}'::text[]
    and (new.before is null or old.before @> new.before)
    and (new.after is null or old.after @> new.after)
    and (new.ip is null or old.ip = new.ip) then
    return new;
  end if;
  raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
end $$;

-- The LIKE pattern that finds `value` anywhere in a folded text. Escapes after folding, which can make a wildcard out
-- of a full-width character.
create function search_pattern(value text) returns text
  language sql immutable parallel safe strict
  as $$ select '%' || regexp_replace(fold(value), '([\\%_])', '\\\1', 'g') || '%' $$;

-- What a reader sees: the members kept in the audit row and the personal ones.
create function with_personal_values(kept jsonb, personal jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when personal is null then kept when kept is null then personal else kept || personal end
$$;

create trigger users_deleted_count after update of deleted_at on users
  for each row when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function count_deleted_user();
create trigger user_tenants_count_changed after update on user_tenants
  referencing old table as old_links new table as new_links for each statement execute function count_linked_users();
create trigger user_tenants_count_gone after delete on user_tenants
  referencing old table as old_links for each statement execute function count_linked_users();
create trigger user_tenants_count_made after insert on user_tenants
  referencing new table as new_links for each statement execute function count_linked_users();
create trigger user_tenant_roles_keep_versions after delete on user_tenant_roles
  referencing old table as removed for each statement execute function keep_security_versions();
create trigger audit_log_append_only before update on audit_log for each row execute function refuse_audit_update();
create trigger audit_log_no_delete before delete on audit_log
  for each statement execute function refuse_audit_change();
create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function refuse_audit_change();

-- OAuth

-- OAuth clients: programs that users sign in to with this service as their OpenID provider. Revoked ones stay, so that
-- the audit log can name them.
create table oauth_clients (
  id uuid primary key,
  client_id text not null,
  -- the tenant whose users may sign in; null: users of every tenant
  tenant_id uuid references tenants (id),
  name text not null,
  kind text not null,
  -- SHA-256 of the secret; a public client has none
  secret_hash bytea,
  -- the first characters of the secret
  start text,
  redirect_uris text[] not null,
  post_logout_redirect_uris text[] not null,
  audience text not null,
  scopes text[] not null,
  token_claims text[] not null,
  token_algorithm text not null,
  -- its users are not asked for consent
  first_party boolean not null,
  version integer not null default 1,
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3),
  revoked_by uuid,
  last_used_at timestamptz(3),
  search_text text generated always as (fold(name)) stored,
  constraint oauth_clients_client_id_unique unique (client_id),
  constraint oauth_clients_algorithm check (token_algorithm in ('EdDSA', 'RS256')),
  constraint oauth_clients_claims check (token_claims <@ array['permissions']),
  constraint oauth_clients_kind check ( kind = 'confidential' and secret_hash is not null and start is not null or kind = 'public' and secret_hash is null and start is null)
);
create index oauth_clients_by_audience on oauth_clients (audience);
create index oauth_clients_by_plain_audience on oauth_clients (rtrim(audience, '/'));
create index oauth_clients_by_tenant on oauth_clients (tenant_id, created_at, id);
create index oauth_clients_by_time on oauth_clients (created_at, id);
alter table sessions add constraint sessions_client_id_fkey FOREIGN KEY (client_id) REFERENCES oauth_clients(id);

-- The tenant (null: the platform) whose clients use an audience. The API behind an audience trusts tokens that name it,
-- so two tenants never share one.
create table oauth_audiences (
  audience text primary key,
  tenant_id uuid references tenants (id),
  -- When a client last changed to another audience. Its former tokens may still be valid then, so no other owner gets the
  -- audience for a day.
  left_at timestamptz(3)
);

-- What a user's sign-in gave a client: first a code that works once, then tokens. It lives as long as its session.
create table oauth_grants (
  session_id uuid primary key references sessions (id) on delete cascade,
  client_id uuid not null references oauth_clients (id),
  user_id uuid not null references users (id),
  tenant_id uuid references tenants (id),
  scopes text[] not null,
  -- The session of the browser, for the claim `sid` of ID tokens.
  browser_session_id uuid not null,
  -- The code and what its redemption must repeat.
  code_hash bytea not null,
  code_expires_at timestamptz(3) not null,
  code_used_at timestamptz(3),
  redirect_uri text not null,
  code_challenge text not null,
  nonce text,
  -- The current refresh token. All refresh tokens of a grant contain the same family secret, so an old one is
  -- recognised without a row of its own.
  family_hash bytea,
  refresh_hash bytea,
  refresh_expires_at timestamptz(3),
  refreshed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint oauth_grants_code_unique unique (code_hash),
  constraint oauth_grants_refresh check ( (family_hash is null) = (refresh_hash is null) and (refresh_hash is null) = (refresh_expires_at is null))
) with (fillfactor = 80);
create index oauth_grants_of_user on oauth_grants (user_id, client_id);

-- The scopes that a user allowed a client, so that the user is not asked again.
create table oauth_consents (
  user_id uuid references users (id),
  client_id uuid references oauth_clients (id),
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (user_id, client_id)
);

-- Files

create table files (
  id uuid primary key,
  tenant_id uuid,
  profile text not null,
  file_name text not null,
  declared_content_type text not null,
  detected_content_type text,
  size_bytes bigint not null,
  sha256 text,
  status file_status not null default 'Pending',
  -- What an upload URL names. Never read but to copy from, never served.
  staging_key text not null unique,
  staged_etag text,
  -- The copy that is examined and, once Available, served. Set once, written once before it is set.
  final_key text unique,
  final_etag text,
  retention_class retention_class not null default 'Standard',
  retain_until timestamptz(3),
  legal_hold boolean not null default false,
  reference_count integer not null default 0,
  last_released_at timestamptz(3),
  purge_reason text,
  purged_at timestamptz(3),
  purged_by uuid,
  rejection_code text,
  signature_name text,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  upload_expires_at timestamptz(3) not null,
  completed_at timestamptz(3),
  available_at timestamptz(3),
  scan_due_at timestamptz(3),
  version integer not null default 1,
  scan_generation integer not null default 0,
  owners_told_at timestamptz(3),
  -- Names folded once, and not for every row of every search.
  search_text text generated always as (fold(file_name)) stored,
  collect_at timestamptz(3) generated always as (file_collect_at(retention_class, retain_until, last_released_at, completed_at)) stored,
  -- Who set a legal hold, when and why; null for holds of early versions.
  legal_hold_by uuid,
  legal_hold_since timestamptz(3),
  legal_hold_reason text,
  constraint files_available_was_scanned check (status <> 'Available' or (sha256 is not null and final_key is not null and available_at is not null)),
  constraint files_infected_says_by_what check (status <> 'Infected' or (sha256 is not null and signature_name is not null)),
  constraint files_permanent_has_no_end check (retention_class <> 'Permanent' or retain_until is null),
  constraint files_purged_says_why check ((status = 'Purged') = (purge_reason is not null and purged_at is not null)),
  constraint files_reference_count_not_negative check (reference_count >= 0),
  constraint files_scanning_was_completed check (status <> 'Scanning' or (completed_at is not null and staged_etag is not null and scan_due_at is not null)),
  constraint files_size_not_negative check (size_bytes >= 0),
  constraint files_temporary_has_an_end check (retention_class <> 'Temporary' or retain_until is not null)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index files_by_purge_kind on files (tenant_id, file_purge_kind(purge_reason), id) where status = 'Purged';
create index files_collectable on files (collect_at)
  where status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
    and retention_class <> 'Permanent';
create index files_expiring on files (upload_expires_at) where status = 'Pending' and not legal_hold;
create index files_held on files (tenant_id, id) where legal_hold;
-- The list of files. One index answers every filter but the name's from itself alone, whatever it is combined with: a
-- tenant's million files are counted without a look at their rows. It stands in for files_tenant.
create index files_listing on files (tenant_id, id)
  include (status, profile, retention_class, legal_hold, created_by, created_at);
create index files_outdated on files (scan_generation, id) where status = 'Available';
create index files_scan_due on files (scan_due_at) where status = 'Scanning';
create index files_scanning on files (completed_at) where status = 'Scanning';
create index files_search on files using gin (search_text gin_trgm_ops);
-- What is looked for most is few of many: infected, failed, waiting, held.
create index files_tenant_status on files (tenant_id, status, id);

-- Every object that may exist at the store: a row is written before the object and removed after it, so that nothing
-- is ever stored without a row that leads to it.
create table file_objects (
  key text primary key,
  file_id uuid not null references files (id),
  -- Until then somebody may still write under the key (an upload URL that has been given out): a deletion before
  -- that is done again afterwards.
  writable_until timestamptz(3),
  -- From then on the object is to be deleted; null: it is wanted.
  delete_at timestamptz(3),
  -- Uploads by parts: until they are joined, the parts are kept at the store under the staging key and this id. The id is
  -- told to nobody but inside signed URLs. Deleting the object ends the upload too, so nothing of it stays behind.
  upload_id text,
  part_count integer,
  constraint file_objects_upload_has_parts check ((upload_id is null) = (part_count is null) and part_count > 0)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index file_objects_due on file_objects (delete_at) where delete_at is not null;
create index file_objects_file on file_objects (file_id);

create table file_references (
  id uuid primary key,
  file_id uuid not null references files (id),
  scope text not null,
  owner_id text not null,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  released_at timestamptz(3),
  -- Whose a reference is: of a tenant's file that tenant's, of a product file the tenant's that made it. So tenants that
  -- hold a product file by the same pair hold it each for itself, and neither sees, nor lets go of, the other's.
  tenant_id uuid
);
create index file_references_owner on file_references (scope, owner_id) where released_at is null;
create unique index file_references_tenant_pair_unique on file_references
  (file_id, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), scope, owner_id) where released_at is null;

create table file_scan_attempts (
  file_id uuid references files (id),
  attempt_number integer,
  started_at timestamptz(3) not null,
  completed_at timestamptz(3) not null,
  engine text,
  database_version text,
  verdict text not null,
  detected_content_type text,
  signature_name text,
  error_message text,
  -- True: the error is about the content, not about the engine. Several such errors end in Failed.
  is_unreadable boolean not null default false,
  primary key (file_id, attempt_number),
  -- An attempt that rejects a file may say why: an archive unpacks to too much, or is not what its directory says.
  constraint file_scan_attempts_error_says_why check (verdict <> 'Error' or error_message is not null),
  constraint file_scan_attempts_verdict_known check (verdict in ('Clean', 'Infected', 'TypeRejected', 'Error'))
);

-- What the engine knew when it examined a file. A file of an earlier generation than the engine's is examined again.
create table scan_generations (
  id integer generated always as identity primary key,
  engine text not null,
  database_version text not null,
  round integer not null default 0,
  seen_at timestamptz(3) not null default now(),
  -- A pass over the outdated files is under way or pauses until this time; null: there is no pass.
  walk_until timestamptz(3),
  -- The batch the walk is at; a job that carries another number was overtaken.
  walk_batch integer not null default 0,
  constraint scan_generations_seen_once unique (engine, database_version, round)
);

-- The running scans of Scanning files. A worker deletes its row when its scan ends or is aborted, also after it had lost the
-- database. So a row whose lease is gone means that the worker died during the scan, or has not come back yet.
create table file_scan_runs (
  job_id uuid,
  attempt_number integer,
  file_id uuid not null references files (id),
  worker_id uuid not null,
  -- True: the worker ran no other scan.
  is_alone boolean not null,
  -- True: a later attempt found the row without a lease.
  is_missed boolean not null default false,
  primary key (job_id, attempt_number)
);
create index file_scan_runs_file on file_scan_runs (file_id);

-- The one drawing of the states that nothing can get around.
create function require_file_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' and new.status = 'Pending' then return new; end if;
  if tg_op = 'UPDATE' and (old.status, new.status) in (
    ('Pending', 'Scanning'), ('Pending', 'Purged'),
    ('Scanning', 'Available'), ('Scanning', 'Infected'), ('Scanning', 'Failed'), ('Scanning', 'Purged'),
    ('Available', 'Purged'), ('Available', 'Infected'), ('Failed', 'Purged')
  ) then return new; end if;
  raise exception 'a file does not become % from %', new.status, case tg_op when 'UPDATE' then old.status end
    using errcode = 'check_violation', constraint = 'files_transition_known';
end $$;

create trigger files_initial_status before insert on files
  for each row execute function require_file_transition();
create trigger files_transition before update of status on files
  for each row when (old.status <> new.status) execute function require_file_transition();

-- Jobs

create table jobs (
  id uuid primary key,
  tenant_id uuid,
  job_type_name text not null,
  serialized_args text not null,
  args_type_name text,
  type job_type not null,
  status job_status not null,
  priority smallint not null,
  queue text not null,
  due_at timestamptz(3) not null,
  scheduled_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  attempts integer not null default 0,
  failures integer not null default 0,
  max_retries smallint not null,
  worker_id uuid,
  last_error text,
  parent_job_id uuid,
  -- True once a continuation was added. Its writer locks the parent's row, so that the statement which settles the parent
  -- sees it.
  has_children boolean not null default false,
  recurring_job_id text,
  created_by uuid,
  trace_id text,
  -- Type name of a job whose type limits how many run at once.
  limit_key text,
  -- Jobs that wait in one line: claims take turns between the lanes of a priority, so no tenant holds up another.
  lane text collate "C" not null,
  -- Since when a job has found a dependency away at every attempt; null: not now. Bounds how long that is waited out.
  outage_since timestamptz(3),
  -- How often a worker lost its lease while it held the job; the first time does not count as a failed attempt.
  lost_leases smallint not null default 0,
  -- End of the lease of a remote worker; null: the job does not run, or a worker of the service runs it.
  lease_until timestamptz(3),
  -- When the running attempt times out.
  deadline timestamptz(3),
  -- requestId of the claim that took the job.
  claim_request_id uuid,
  -- Number of the last attempt that was postponed: it has no execution.
  postponed_attempt integer,
  -- When a caller asked to cancel the running attempt.
  cancel_requested_at timestamptz(3),
  -- A job enqueued with a key holds it until it ends, or for unique_seconds since its creation. At most one job of a tenant
  -- and type holds a key. Jobs without a key are not in the index.
  unique_key text,
  unique_seconds integer,
  -- True once another job could take the key after unique_seconds.
  is_key_released boolean not null default false,
  -- Continuations of several parents have parent_job_ids instead of parent_job_id.
  parent_job_ids uuid[],
  batch_id uuid,
  -- Why the last attempt of a job was postponed; null if it was not. A postponed job is Scheduled.
  wait_reason text,
  -- The token bucket of the job: its type and the value of the limit's key; null: no rate limit.
  bucket text,
  -- `name=value` of arguments that the job type marks as searchable; null: none.
  search_keys text[],
  -- A job succeeds once, so its own row records the successful attempt: one row is written instead of two. job_attempts has
  -- the attempts that ended otherwise, and successful ones of versions before.
  settled_by uuid,
  output text,
  outcome text,
  -- started_at of a job is the time of its claim. The successful attempt began later if the job was prefetched.
  began_at timestamptz(3),
  constraint jobs_awaiting_have_parent check (status <> 'AwaitingParent' or parent_job_id is not null or parent_job_ids is not null),
  constraint jobs_lease_while_processing check (lease_until is null or status = 'Processing'),
  constraint jobs_lease_with_deadline check ((lease_until is null) = (deadline is null)),
  constraint jobs_max_retries_range check (max_retries between 0 and 25),
  constraint jobs_priority_known check (priority between 0 and 3),
  constraint jobs_queue_named check (queue <> ''),
  constraint jobs_worker_while_processing check ((status = 'Processing') = (worker_id is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.02);
-- Answers whether a batch has unfinished or failed jobs by one probe per status. Jobs without a batch are not in it.
create index jobs_batch on jobs (batch_id, status, id) where batch_id is not null;
create index jobs_completed on jobs (completed_at, id) where completed_at is not null;
-- A job's continuations and a recurring job's runs, for those who look at one; most jobs are neither.
create index jobs_continuations on jobs (parent_job_id, id) where parent_job_id is not null;
create index jobs_fan_in on jobs using gin (parent_job_ids) where parent_job_ids is not null;
create index jobs_held on jobs (worker_id) where status = 'Processing';
create index jobs_kinds on jobs using brin
  (queue text_bloom_ops (n_distinct_per_range = 256), job_type_name text_bloom_ops (n_distinct_per_range = 256))
  with (autosummarize = on);
create index jobs_leased on jobs (lease_until) where lease_until is not null;
create index jobs_ready on jobs (lane, priority, due_at, id) where status = 'Enqueued';
create index jobs_recurring_runs on jobs (recurring_job_id, id) where recurring_job_id is not null;
-- Released jobs that have not started. At most as many as their bucket has tokens.
create index jobs_released on jobs (bucket) where bucket is not null and status = 'Enqueued' and lane < '§';
create index jobs_restarting on jobs (started_at, id)
  where status in ('Enqueued', 'Scheduled', 'Failed') and started_at is not null;
-- What lists of jobs need at a million rows, chosen by what it costs to drain jobs: the first holds the few that are
-- scheduled, the second is written once a job, when it ends. An index by started_at would be written twice a job, which
-- costs a tenth of the pace; that order is sorted when it is asked for.
create index jobs_scheduled on jobs (scheduled_at, id) where scheduled_at is not null;
-- Lists of jobs in the order of their last start, as fast as the other orders. Ended jobs get their entry when they end.
-- Jobs that wait for a further attempt are few, and running ones are sorted when they are read. So a claim writes neither.
create index jobs_started on jobs (started_at, id) where completed_at is not null and started_at is not null;
create index jobs_tenant on jobs (tenant_id, id) where tenant_id is not null;
-- Which stretches of the table contain a trace. The stretches and their filters are so small that filters are not
-- compressed. Vacuum adds new stretches; until then a search reads them.
create index jobs_traces on jobs using brin (trace_id text_bloom_ops (n_distinct_per_range = 384))
  with (pages_per_range = 16);
create unique index jobs_unique_key on jobs
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), job_type_name, unique_key)
  where unique_key is not null and not is_key_released
    and (unique_seconds is not null or status not in ('Succeeded', 'DeadLettered', 'Cancelled'));
-- Statuses off the usual way (Enqueued, Processing, Succeeded), which costs nothing by this index.
create index jobs_unusual on jobs (tenant_id, status, id)
  where status in ('Scheduled', 'AwaitingParent', 'Failed', 'DeadLettered', 'Cancelled');
create index jobs_unusual_anywhere on jobs (status, id)
  where status in ('Scheduled', 'AwaitingParent', 'Failed', 'DeadLettered', 'Cancelled');
create index jobs_waiting on jobs (due_at) where status in ('Scheduled', 'Failed');

-- One row an ended attempt. A running attempt is the job row itself. No foreign key: rows come in the statement that
-- settles their job and go in the one that prunes it, and checking a key for each would cost a fifth of the pace.
create table job_attempts (
  job_id uuid,
  tenant_id uuid,
  attempt_number integer,
  status text not null,
  started_at timestamptz(3) not null,
  completed_at timestamptz(3) not null,
  error_message text,
  worker_id uuid not null,
  output text,
  -- How a remote worker settled the attempt; null: it did not.
  outcome text,
  primary key (job_id, attempt_number),
  constraint job_attempts_status_known check ((status = ANY (ARRAY['Succeeded'::text, 'Failed'::text, 'Abandoned'::text])))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- What an attempt reported while it ran.
create table job_log_lines (
  job_id uuid,
  attempt_number integer,
  line_number integer,
  at timestamptz(3) not null,
  level text not null,
  message text not null,
  fields jsonb,
  primary key (job_id, attempt_number, line_number)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

create table job_progress (
  job_id uuid,
  attempt_number integer,
  percent real not null,
  note text,
  updated_at timestamptz(3) not null default now(),
  primary key (job_id, attempt_number),
  constraint job_progress_percent_range check (percent between 0 and 100)
);

-- A worker's lease on all it holds: alive while heartbeat_at is recent.
create table job_workers (
  id uuid primary key,
  started_at timestamptz(3) not null default now(),
  heartbeat_at timestamptz(3) not null default now(),
  host text not null,
  -- A remote worker claims through any instance. `host` is the name it gives.
  is_remote boolean not null default false,
  -- True after a pause or resume, until the worker has read the pauses again. Until then it claims nothing.
  pauses_changed boolean not null default false,
  -- The program of a worker: product and version, as its User-Agent names them.
  program text,
  constraint job_workers_program_length check (char_length(program) <= 200)
);

create table dead_letter_jobs (
  id uuid primary key,
  job_id uuid not null,
  tenant_id uuid,
  job_type_name text not null,
  queue text not null,
  serialized_args text not null,
  attempts integer not null,
  error_message text,
  failed_at timestamptz(3) not null default now(),
  retried_at timestamptz(3),
  retried_job_id uuid,
  -- An error with what varies between occurrences (ids, numbers) written as #: what dead letters are grouped by, worked
  -- out once and not for every row of every look.
  error_pattern text generated always as (error_pattern(error_message)) stored
);
create index dead_letter_jobs_alike on dead_letter_jobs (tenant_id, job_type_name, error_pattern, failed_at)
  where retried_at is null;
create index dead_letter_jobs_alike_anywhere on dead_letter_jobs (job_type_name, error_pattern, failed_at)
  where retried_at is null;
create index dead_letter_jobs_failed on dead_letter_jobs (failed_at);
create index dead_letter_jobs_job on dead_letter_jobs (job_id);
-- Dead letters that wait for a decision, counted on every look at the dashboard.
create index dead_letter_jobs_open on dead_letter_jobs (tenant_id) where retried_at is null;
-- Retried dead letters are counted and listed by type. Those that are open have kept counts.
create index dead_letter_jobs_retried on dead_letter_jobs (job_type_name, tenant_id) where retried_at is not null;
create index dead_letter_jobs_tenant on dead_letter_jobs (tenant_id, id);

create table recurring_jobs (
  id uuid primary key,
  tenant_id uuid,
  job_id text not null,
  job_type_name text not null,
  cron_expression text not null,
  time_zone_id text not null,
  queue text not null,
  serialized_args text not null,
  args_type_name text,
  is_paused boolean not null default false,
  next_run_at timestamptz(3),
  last_run_at timestamptz(3),
  last_job_id uuid,
  version integer not null default 1,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique_key text,
  unique_seconds integer,
  constraint recurring_jobs_id_form check (job_id ~ '^[A-Za-z0-9._:-]{1,100}$'),
  constraint recurring_jobs_next_unless_paused check (is_paused = (next_run_at is null))
);
create index recurring_jobs_due on recurring_jobs (next_run_at) where not is_paused;
create unique index recurring_jobs_id_unique on recurring_jobs
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), job_id);

-- Counters: how many jobs of each kind there are, without counting them. Triggers append what a statement changed to
-- the deltas, which nobody waits for; a fold adds them up into the counts. Both together are exact in any snapshot.
-- `scope` is a tenant, all zeros for the service's own jobs, all f for everything.
create table job_count_changes (
  tenant_id uuid,
  status job_status not null,
  type job_type not null,
  priority smallint not null,
  queue text not null,
  job_type_name text not null,
  n integer not null,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index job_count_changes_order on job_count_changes (written_in);

create table job_counts (
  scope uuid,
  status job_status,
  type job_type,
  priority smallint,
  queue text,
  job_type_name text,
  n bigint not null,
  primary key (scope, status, type, priority, queue, job_type_name)
);

create table execution_count_changes (
  tenant_id uuid,
  n integer not null,
  duration_ms float8 not null,
  -- Null where executions were deleted.
  minute timestamptz(3),
  failed integer not null default 0,
  abandoned integer not null default 0,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index execution_count_changes_order on execution_count_changes (written_in);

create table execution_counts (
  scope uuid primary key,
  n bigint not null,
  duration_ms float8 not null
);

-- How many attempts ended in each minute and hour, per scope, so that a dashboard need not read executions. The
-- deltas that count executions carry the minute too; the fold adds them up. Deleted executions change nothing here:
-- what happened has happened.
create table job_throughput (
  -- As in job_counts: a tenant, all zeros for the service's own, all f for everything.
  scope uuid,
  grain text,
  start timestamptz(3),
  succeeded bigint not null,
  failed bigint not null,
  abandoned bigint not null,
  primary key (scope, grain, start),
  constraint job_throughput_grain_known check (grain in ('minute', 'hour'))
) with (fillfactor = 70);
create index job_throughput_age on job_throughput (grain, start);

-- Job types that callers declare. Their handlers run in the callers' own processes. See domain/jobs/README.md.
create table job_types (
  id uuid primary key,
  -- Null: declared without a tenant context, for all tenants.
  tenant_id uuid references tenants (id),
  name text not null,
  description text,
  -- JSON Schema of the arguments, as given; null: any arguments.
  args_schema text,
  timeout_seconds integer not null,
  max_retries smallint not null,
  concurrency integer,
  rate_count integer,
  rate_per_seconds integer,
  rate_key text,
  secret_args text[] not null,
  -- All paths that were ever secret, also before the type was deleted: stored arguments stay masked.
  masked_args text[] not null,
  push_url text,
  -- Signs what is pushed (Standard Webhooks).
  signing_secret text not null,
  version integer not null default 1,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Set when the type was deleted. The row stays for masked_args.
  deleted_at timestamptz(3),
  -- Paths of the arguments by whose values the jobs of a declared type can be found; from `x-searchable` in its schema.
  searchable_args text[] not null default '{}',
  constraint job_types_max_retries_range check (max_retries between 0 and 25),
  constraint job_types_name_form check (name ~ '^[a-z0-9][a-z0-9.-]{0,99}$'),
  constraint job_types_rate_whole check ((rate_count is null) = (rate_per_seconds is null)),
  constraint job_types_timeout_range check (timeout_seconds between 1 and 604800)
);
create unique index job_types_name_unique on job_types
  (name, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
create index job_types_tenant on job_types (tenant_id, name) where deleted_at is null;

-- Queues and job types whose waiting jobs do not start.
create table job_pauses (
  id uuid primary key,
  kind text not null,
  name text not null,
  -- Null: paused for all tenants and the service's own jobs.
  tenant_id uuid references tenants (id),
  reason text,
  paused_by uuid,
  paused_at timestamptz(3) not null default now(),
  constraint job_pauses_kind_known check (kind in ('queue', 'type'))
);
create unique index job_pauses_unique on job_pauses
  (kind, name, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));

-- Batches of jobs. See domain/jobs/README.md for their states.
create table job_batches (
  id uuid primary key,
  tenant_id uuid,
  name text,
  status text not null,
  -- The jobs to enqueue when all jobs succeeded, and when the first one is dead-lettered or cancelled; null: none.
  on_all_succeeded jsonb,
  on_any_failed jsonb,
  on_all_succeeded_job_id uuid,
  on_any_failed_job_id uuid,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  -- When its status became final. Jobs may still run then.
  ended_at timestamptz(3),
  constraint job_batches_ended_when_final check ((status in ('Open', 'Running')) = (ended_at is null)),
  constraint job_batches_status_known check (status in ('Open', 'Running', 'Succeeded', 'Failed', 'Cancelled'))
);
create index job_batches_tenant on job_batches (tenant_id, id);
create index job_batches_unended on job_batches (id) where status in ('Open', 'Running');

-- How many jobs of a batch have each status, counted like job_counts: triggers append deltas, a fold adds them up.
-- Pruned jobs stay counted.
create table job_batch_changes (
  batch_id uuid not null,
  status job_status not null,
  n integer not null,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index job_batch_changes_order on job_batch_changes (written_in);

create table job_batch_counts (
  batch_id uuid,
  status job_status,
  n bigint not null,
  primary key (batch_id, status)
) with (fillfactor = 70);

-- Ended attempts by job type, for each minute of the last two hours and each hour of the last day. Each instance writes
-- rows of its own and overwrites them while an interval lasts, so a repeated write changes nothing. Readers add them up.
create table job_type_figures (
  -- As in job_counts: a tenant, all zeros for the service's own, all f for everything.
  scope uuid,
  job_type_name text,
  grain text,
  start timestamptz(3),
  instance_id uuid,
  succeeded integer not null,
  -- Failed attempts; dead_lettered of them were the last ones of their jobs.
  failed integer not null,
  dead_lettered integer not null,
  postponed integer not null,
  abandoned integer not null,
  -- Pairs of a bucket and its count. Bucket n contains times of up to 0.01 ms × 1.1^n.
  waits integer[] not null,
  durations integer[] not null,
  primary key (scope, job_type_name, grain, start, instance_id),
  constraint job_type_figures_grain_known check (grain in ('minute', 'hour'))
) with (fillfactor = 50);
create index job_type_figures_age on job_type_figures (grain, start);

-- Replaced signing secrets of job types. They also sign until valid_until. See domain/jobs/README.md.
create table job_type_old_secrets (
  job_type_id uuid references job_types (id),
  secret text,
  valid_until timestamptz(3) not null,
  primary key (job_type_id, secret)
);

-- One row. A claim for remote workers locks it with the number it has read the pauses at; a pause or resume changes it.
create table job_pause_version (
  n integer not null
);
insert into job_pause_version values (0);

create table job_buckets (
  bucket text primary key,
  -- When the bucket is full again if nothing starts until then.
  full_at timestamptz(3) not null,
  -- When its waiting jobs are looked at again; null: none waits.
  next_at timestamptz(3),
  -- When jobs were released last.
  released_at timestamptz(3)
);
create index job_buckets_next on job_buckets (next_at) where next_at is not null;

-- What happened to jobs with a bucket and is not in job_buckets yet. Only inserted, so that nobody waits.
create table job_bucket_events (
  bucket text not null,
  -- Start of an attempt, which takes a token; null: a job waits.
  started_at timestamptz(3)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Jobs by creator and by searchable arguments. An index on jobs would be written at every change of a job; these rows are
-- written once. They come and go with their jobs.
create table job_search_keys (
  -- MD5 of `createdBy=…` or `args.name=…`.
  key uuid,
  -- A tenant; all zeros for the service's own jobs.
  scope uuid,
  job_id uuid,
  primary key (key, scope, job_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

-- Changes that transactions before `folded_to` wrote are in the counters. `folded_at`: when none was left.
create table count_folds (
  changes text primary key,
  folded_to xid8 not null default '0',
  folded_at timestamptz(3) not null default now(),
  -- Changes that transactions before `folded_to` wrote are in the counters, except those of transactions that ran during the
  -- last fold. Otherwise a transaction that stays open would keep `folded_to` back, and folds and sums would read all changes
  -- again that were folded meanwhile.
  running xid8[] not null default '{}'
) with (fillfactor = 50);
insert into count_folds (changes) values ('job_count_changes'), ('job_batch_changes'), ('execution_count_changes'),
  ('dead_letter_changes'), ('job_creation_count_changes');

-- Numbers of dead letters that were not retried, by type and error pattern, counted like job_counts: triggers append
-- changes, a fold adds them up.
create table dead_letter_changes (
  tenant_id uuid,
  job_type_name text not null,
  error_pattern text not null,
  n integer not null,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index dead_letter_changes_order on dead_letter_changes (written_in);

create table dead_letter_counts (
  scope uuid,
  job_type_name text,
  error_pattern text,
  n bigint not null,
  primary key (scope, job_type_name, error_pattern)
);

-- How many jobs there are by the time of their creation, counted like job_counts. `created` is the start of the ids: its
-- seven digits change every 17 minutes. Only the counters of everything name the queue and the job type.
create table job_creation_count_changes (
  tenant_id uuid,
  created text collate "C" not null,
  status job_status not null,
  queue text not null,
  job_type_name text not null,
  n integer not null,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index job_creation_count_changes_order on job_creation_count_changes (written_in);

create table job_creation_counts (
  scope uuid,
  created text collate "C",
  status job_status,
  queue text,
  job_type_name text,
  n bigint not null,
  primary key (scope, created, status, queue, job_type_name)
);

create or replace view dead_letter_deltas as
  select tenant_id, job_type_name, error_pattern, n from dead_letter_changes
  where written_in >= (select folded_to from count_folds where changes = 'dead_letter_changes')
    or written_in = any((select running from count_folds where changes = 'dead_letter_changes')::xid8[]);

create or replace view execution_count_deltas as
  select tenant_id, n, duration_ms, minute, failed, abandoned from execution_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'execution_count_changes')
    or written_in = any((select running from count_folds where changes = 'execution_count_changes')::xid8[]);

create or replace view job_batch_deltas as
  select batch_id, status, n from job_batch_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_batch_changes')
    or written_in = any((select running from count_folds where changes = 'job_batch_changes')::xid8[]);

create or replace view job_count_deltas as
  select tenant_id, status, type, priority, queue, job_type_name, n from job_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_count_changes')
    or written_in = any((select running from count_folds where changes = 'job_count_changes')::xid8[]);

create view job_creation_count_deltas as
  select tenant_id, created, status, queue, job_type_name, n from job_creation_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_creation_count_changes')
    or written_in = any((select running from count_folds where changes = 'job_creation_count_changes')::xid8[]);

create or replace view job_executions as
  select job_id, tenant_id, attempt_number, status, started_at, completed_at, error_message, worker_id, output, outcome
  from job_attempts
  union all
  select id, tenant_id, attempts, 'Succeeded', coalesce(began_at, started_at), completed_at, null, settled_by, output,
    outcome
  from jobs where settled_by is not null;

create function count_creations() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into job_creation_count_changes
    select tenant_id, left(id::text, 7), status, queue, job_type_name, count(*) from after group by 1, 2, 3, 4, 5;
  elsif tg_op = 'DELETE' then
    insert into job_creation_count_changes
    select tenant_id, left(id::text, 7), status, queue, job_type_name, -count(*) from before group by 1, 2, 3, 4, 5;
  else
    insert into job_creation_count_changes
    select tenant_id, left(id::text, 7), status, queue, job_type_name, sum(n) from (
      select tenant_id, id, status, queue, job_type_name, -1 as n from before
      union all
      select tenant_id, id, status, queue, job_type_name, 1 from after
    ) each group by 1, 2, 3, 4, 5 having sum(n) <> 0;
  end if;
  return null;
end $$;

create function count_dead_letters() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into dead_letter_changes
    select tenant_id, job_type_name, error_pattern, -count(*) from before where retried_at is null group by 1, 2, 3;
  end if;
  if tg_op <> 'DELETE' then
    insert into dead_letter_changes
    select tenant_id, job_type_name, error_pattern, count(*) from after where retried_at is null group by 1, 2, 3;
  end if;
  return null;
end $$;

create function count_deleted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_changes (tenant_id, n, duration_ms)
  select tenant_id, -count(*), -sum(date_part('epoch', completed_at - started_at) * 1000) from removed group by 1;
  return null;
end $$;

create function count_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, -count(*) from removed group by 1, 2, 3, 4, 5, 6;
  insert into execution_count_changes (tenant_id, n, duration_ms)
  select tenant_id, -count(*), -sum(date_part('epoch', completed_at - coalesce(began_at, started_at)) * 1000)
  from removed where settled_by is not null group by 1;
  delete from job_search_keys k
  using removed r cross join lateral job_search_keys_of(r.created_by, r.search_keys) keys (key)
  where k.key = keys.key and k.job_id = r.id
    and k.scope = coalesce(r.tenant_id, '00000000-0000-0000-0000-000000000000');
  return null;
end $$;

create function count_inserted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_changes (tenant_id, minute, n, duration_ms, failed, abandoned)
  select tenant_id, date_bin('1 minute', completed_at, '2000-01-01'), count(*),
    sum(date_part('epoch', completed_at - started_at) * 1000),
    count(*) filter (where status = 'Failed'), count(*) filter (where status = 'Abandoned')
  from added group by 1, 2;
  return null;
end $$;

create function count_inserted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, count(*) from added group by 1, 2, 3, 4, 5, 6;
  insert into job_batch_changes
  select batch_id, status, count(*) from added where batch_id is not null group by 1, 2;
  insert into job_search_keys
  select keys.key, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), id
  from added cross join lateral job_search_keys_of(created_by, search_keys) keys (key)
  where created_by is not null or search_keys is not null
  on conflict do nothing;
  return null;
end $$;

create function count_updated_jobs() returns trigger language plpgsql as $$
begin
  with changed as materialized (
    select tenant_id, status, type, priority, queue, job_type_name, batch_id,
      case when settled_by is not null then date_bin('1 minute', completed_at, '2000-01-01') end as minute,
      sum(n) as n, sum(n * date_part('epoch', completed_at - coalesce(began_at, started_at)) * 1000) as duration_ms
    from (
      select tenant_id, status, type, priority, queue, job_type_name, batch_id, settled_by, started_at, completed_at,
        began_at, -1 as n from before
      union all
      select tenant_id, status, type, priority, queue, job_type_name, batch_id, settled_by, started_at, completed_at,
        began_at, 1 from after
    ) each group by 1, 2, 3, 4, 5, 6, 7, 8
  ), in_batches as (
    insert into job_batch_changes
    select batch_id, status, sum(n) from changed where batch_id is not null group by 1, 2 having sum(n) <> 0
  ), successful as (
    insert into execution_count_changes (tenant_id, minute, n, duration_ms)
    select tenant_id, case when sum(n) > 0 then minute end, sum(n), sum(duration_ms)
    from changed where minute is not null group by tenant_id, minute having sum(n) <> 0
  )
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, sum(n) from changed
  group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0;
  return null;
end $$;

create function hidden_lane(bucket text, tenant_id uuid, queue text) returns text language sql immutable
  return '§' || bucket || '|' || coalesce(tenant_id::text, '') || '|' || queue;

-- A job that waits again, for a retry or because its worker crashed, needs a token again.
create function hide_rate_limited_job() returns trigger language plpgsql as $$
begin
  new.lane := hidden_lane(new.bucket, new.tenant_id, new.queue);
  return new;
end $$;

create function job_search_keys_of(created_by uuid, search_keys text[]) returns setof uuid language sql immutable as $$
  select md5('createdBy=' || created_by)::uuid where created_by is not null
  union all
  select md5('args.' || search_key)::uuid from unnest(search_keys) search_key
$$;

create function note_bucket_event() returns trigger language plpgsql as $$
begin
  insert into job_bucket_events values (new.bucket, case when new.status = 'Processing' then clock_timestamp() end);
  return null;
end $$;

create trigger jobs_bucket_event after insert or update of status on jobs for each row
  when (new.bucket is not null and new.status in ('Enqueued', 'Processing'))
  execute function note_bucket_event();
create trigger jobs_count_creations_delete after delete on jobs
  referencing old table as before for each statement execute function count_creations();
create trigger jobs_count_creations_insert after insert on jobs
  referencing new table as after for each statement execute function count_creations();
create trigger jobs_count_creations_update after update on jobs
  referencing old table as before new table as after for each statement execute function count_creations();
create trigger jobs_count_delete after delete on jobs referencing old table as removed
  for each statement execute function count_deleted_jobs();
create trigger jobs_count_insert after insert on jobs referencing new table as added
  for each statement execute function count_inserted_jobs();
create trigger jobs_count_update after update on jobs referencing old table as before new table as after
  for each statement execute function count_updated_jobs();
create trigger jobs_hide_rate_limited before update of status on jobs for each row
  when (new.bucket is not null and new.status = 'Enqueued' and old.status <> 'Enqueued')
  execute function hide_rate_limited_job();
CREATE TRIGGER job_attempts_count_delete AFTER DELETE ON job_attempts REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_executions();
CREATE TRIGGER job_attempts_count_insert AFTER INSERT ON job_attempts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_inserted_executions();
create trigger dead_letter_jobs_count_delete after delete on dead_letter_jobs
  referencing old table as before for each statement execute function count_dead_letters();
create trigger dead_letter_jobs_count_insert after insert on dead_letter_jobs
  referencing new table as after for each statement execute function count_dead_letters();
create trigger dead_letter_jobs_count_update after update on dead_letter_jobs
  referencing old table as before new table as after for each statement execute function count_dead_letters();

-- Events

-- Every event of a tenant, for polling. An event gets its position after its transaction has committed, in
-- number_events. Positions become visible in ascending order, so a cursor never skips an event that commits late.
create table events (
  id uuid primary key,
  tenant_id uuid not null,
  type text not null,
  data json not null,
  occurred_at timestamptz(3) not null default statement_timestamp(),
  -- null: not numbered yet
  position bigint
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create unique index events_by_position on events (position) where position is not null;
create index events_by_tenant on events (tenant_id, position) where position is not null;
create index events_unnumbered on events (id) where position is null;

create table event_sequence (
  is_only boolean default true primary key,
  last_position bigint not null default 0,
  constraint event_sequence_has_one_row check (is_only)
);
insert into event_sequence default values;

-- Keys of published events: within 24 hours, the same type and key is the same event.
create table event_keys (
  tenant_id uuid,
  type text,
  key text,
  event_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, type, key)
);
create index event_keys_old on event_keys (created_at);

-- Which of the events that are only stored on demand polls have asked for.
create table event_interests (
  -- null: all tenants
  tenant_id uuid,
  type text not null,
  polled_at timestamptz(3) not null default now(),
  constraint event_interests_unique unique nulls not distinct (tenant_id, type)
);
create index event_interests_polled on event_interests (polled_at);

-- Webhooks: endpoints of a tenant, the secrets they are signed with, and what is owed to them.
create table webhook_endpoints (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  url text not null,
  description text,
  event_types text[] not null,
  is_active boolean not null default true,
  disabled_reason text,
  -- when the first of the failures came that no success has followed
  failing_since timestamptz(3),
  created_by uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  search_text text generated always as (fold(url || ' ' || coalesce(description, ''))) stored,
  -- A platform endpoint gets the events of all tenants.
  all_tenants boolean not null default false,
  -- The list of webhook endpoints can show those that fail.
  is_failing boolean not null generated always as ((disabled_reason is not null) or ((failing_since is not null) and is_active)) stored,
  -- Paused endpoints keep their deliveries. `held`: the delivery has no job until its endpoint is resumed.
  paused_at timestamptz(3),
  paused_by uuid,
  pause_reason text,
  last_error text,
  last_error_at timestamptz(3),
  -- A deleted endpoint is hidden at once. The upkeep deletes its deliveries in batches, and then its row.
  deleted_at timestamptz(3),
  constraint webhook_endpoints_deleted_inactive check (deleted_at is null or not is_active),
  constraint webhook_endpoints_disabled check (disabled_reason is null or disabled_reason in ('Gone', 'Failing') and not is_active),
  constraint webhook_endpoints_paused check (paused_at is not null or num_nonnulls(paused_by, pause_reason) = 0),
  constraint webhook_endpoints_want_something check (cardinality(event_types) > 0)
);
create index webhook_endpoints_active on webhook_endpoints (tenant_id) where is_active;
create index webhook_endpoints_by_tenant on webhook_endpoints (tenant_id, created_at, id);
create index webhook_endpoints_deleted on webhook_endpoints (id) where deleted_at is not null;
create index webhook_endpoints_of_all_tenants on webhook_endpoints (all_tenants) where is_active and all_tenants;

-- Signing needs the secret itself. It lies apart from what is read and listed.
create table webhook_secrets (
  endpoint_id uuid references webhook_endpoints (id) on delete cascade,
  secret text,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- null: the current one
  valid_until timestamptz(3),
  primary key (endpoint_id, secret)
);
create unique index webhook_secrets_current on webhook_secrets (endpoint_id) where valid_until is null;
-- Maintenance finds its rows by an index.
create index webhook_secrets_replaced on webhook_secrets (valid_until) where valid_until is not null;

create table webhook_deliveries (
  id uuid primary key,
  endpoint_id uuid not null references webhook_endpoints (id) on delete cascade,
  event_type text not null,
  body text not null,
  job_id uuid not null,
  status webhook_delivery_status not null default 'Pending',
  attempt_count integer not null default 0,
  -- attempts since it was made or sent again
  round_attempts integer not null default 0,
  created_at timestamptz(3) not null default now(),
  next_attempt_at timestamptz(3) default now(),
  completed_at timestamptz(3),
  held boolean not null default false,
  constraint webhook_deliveries_pending check ((status = 'Pending') = (next_attempt_at is not null))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index webhook_deliveries_by_endpoint on webhook_deliveries (endpoint_id, id);
-- The failed deliveries of an endpoint, which are what its log is looked at for.
create index webhook_deliveries_by_status on webhook_deliveries (endpoint_id, status, id);
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where status = 'Pending' and not held;
create index webhook_deliveries_held on webhook_deliveries (endpoint_id, id) where status = 'Pending' and held;
create index webhook_deliveries_old on webhook_deliveries (created_at);

create table webhook_attempts (
  delivery_id uuid references webhook_deliveries (id) on delete cascade,
  number integer,
  attempted_at timestamptz(3) not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  -- the first KiB
  answer text,
  primary key (delivery_id, number)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- Attempts by endpoint and hour. `shard` keeps transactions from waiting for each other. Without a foreign key, so that
-- counting never waits for an endpoint that is being deleted.
create table webhook_attempt_counts (
  endpoint_id uuid,
  hour timestamptz(3),
  shard smallint,
  delivered integer not null default 0,
  failed integer not null default 0,
  primary key (endpoint_id, hour, shard)
);
create index webhook_attempt_counts_by_hour on webhook_attempt_counts (hour);

-- Numbers at most `most` committed events with an id from `first_id` on. The row lock lets one caller number at a time:
-- its positions are visible before another caller continues. Each statement of a function sees what was committed before
-- it began, so events that committed while the lock was awaited are numbered too.
create function number_events(first_id uuid, most integer) returns integer language plpgsql as $$
declare
  last bigint;
  added integer;
begin
  if not exists (select from events where position is null and id >= first_id) then
    return 0;
  end if;
  select last_position into last from event_sequence for update;
  with next as (
    select id, row_number() over (order by id) as number
    from (select id from events where position is null and id >= first_id order by id limit most) found
  )
  update events e set position = last + next.number from next where e.id = next.id;
  get diagnostics added = row_count;
  update event_sequence set last_position = last + added;
  return added;
end $$;

-- Notifications

create table notifications (
  id uuid primary key,
  tenant_id uuid,
  channel notification_channel not null,
  status notification_status not null,
  priority notification_priority not null default 'Normal',
  subject text,
  html_body text,
  text_body text,
  locale text,
  template_slug text,
  template_locale text,
  template_version integer,
  template_data jsonb,
  push_data jsonb,
  category text,
  icon text,
  action_url text,
  from_address text,
  from_name text,
  -- Content that must not be read back, such as a sign-in link: never shown, and dropped once it was sent.
  is_confidential boolean not null default false,
  recipient_count integer not null,
  retry_count integer not null default 0,
  max_retries integer not null default 3,
  scheduled_at timestamptz(3),
  sent_at timestamptz(3),
  last_error text,
  -- The job that delivers it, and the attempt of that job that holds it while it is Sending.
  job_id uuid,
  job_attempt integer not null default 0,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- What the message was accepted with; template_version and template_locale are set when it has been filled in.
  template_version_id uuid,
  template_pins jsonb,
  reply_to text,
  -- What the provider reported after it accepted a message, beside the status.
  delivery_state text,
  -- When the texts and the template data of an old message were deleted. Its facts stay longer.
  body_expired_at timestamptz(3),
  constraint notifications_delivery_state_known check (delivery_state in ('Delivered', 'Bounced', 'Complained'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index notifications_category on notifications (tenant_id, lower(category), created_at, id)
  where category is not null;
-- A list by channel and status at once; and counting rows of a range without reading them.
create index notifications_channel_status on notifications (tenant_id, channel, status, created_at, id);
create index notifications_created on notifications (tenant_id, created_at, id) include (channel, status);
create index notifications_delivery_state on notifications (tenant_id, delivery_state, created_at, id)
  where delivery_state is not null;
create index notifications_open on notifications (id)
  where status in ('Queued', 'Scheduled', 'Sending', 'Failed');
-- Messages that wait for digests only.
create index notifications_pending on notifications (id) where status = 'Pending';
create index notifications_status on notifications (tenant_id, status, created_at, id);
create index notifications_template on notifications (tenant_id, template_slug, created_at, id)
  where template_slug is not null;

-- How many messages a tenant has by day (UTC), channel and status, so that stats and lists need not count rows.
-- Each database session adds to a shard of its own, so that senders do not wait for one another; what is read is the
-- sum of the shards, and a shard alone may well be negative.
create table notification_counts (
  tenant_key uuid,
  day date,
  channel notification_channel,
  status notification_status,
  shard smallint,
  count bigint not null,
  primary key (tenant_key, day, channel, status, shard)
) with (fillfactor = 50);
create index notification_counts_shards on notification_counts (day) where shard <> 0;

create table notification_recipients (
  id uuid primary key,
  notification_id uuid not null references notifications (id) on delete cascade,
  kind text not null default 'to',
  address text not null,
  display_name text,
  status text not null default 'Owed',
  sent_at timestamptz(3),
  error_message text,
  -- The user the service knows behind the address.
  user_id uuid,
  -- True where the message was sent to the user, so that the address is the user's at the time of delivery.
  follows_user boolean not null default false,
  -- Set while the recipient waits for the user's quiet hours to end.
  deliver_after timestamptz(3),
  -- Why it was skipped, as a word for programs; error_message says it in a sentence.
  reason text,
  digest_id uuid,
  -- The tenant, all zeros for the service's own messages; null in rows of early versions, until notifications.sweep fills it.
  tenant_key uuid,
  delivery_state text,
  delivery_state_at timestamptz(3),
  delivery_detail text,
  constraint notification_recipients_collected check (status <> 'Collected' or digest_id is not null),
  constraint notification_recipients_delivery_state_known check (delivery_state in ('Delivered', 'Bounced', 'Complained')),
  constraint notification_recipients_kind_known check (kind in ('to', 'cc', 'bcc')),
  constraint notification_recipients_reason_known check (reason in ('OptedOut', 'Suppressed', 'NoAddress', 'NotAUser')),
  constraint notification_recipients_sent_at check ((status = 'Sent') = (sent_at is not null)),
  constraint notification_recipients_status_known check (status in ('Owed', 'Sent', 'Refused', 'Skipped', 'Collected'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
-- A push token is longer than an index entry may be.
create index notification_recipients_address on notification_recipients
  (tenant_key, left(lower(address), 320) text_pattern_ops, notification_id);
create index notification_recipients_digest on notification_recipients (digest_id, id) where digest_id is not null;
create index notification_recipients_notification on notification_recipients (notification_id, id);
-- Finds the last text messages to a number.
create index notification_recipients_number on notification_recipients (address, notification_id)
  where address like '+%';
create index notification_recipients_user on notification_recipients (tenant_key, user_id, notification_id)
  where user_id is not null;
create index notification_recipients_without_tenant on notification_recipients (id) where tenant_key is null;

create table notification_attachments (
  notification_id uuid references notifications (id) on delete cascade,
  position smallint,
  file_id uuid not null,
  file_name text not null,
  content_type text not null,
  is_inline boolean not null default false,
  is_held boolean not null default false,
  primary key (notification_id, position)
);
create index notification_attachments_held on notification_attachments (notification_id) where is_held;

-- One row each time a provider was tried; their order is that of their ids.
create table notification_attempts (
  id uuid primary key,
  notification_id uuid not null references notifications (id) on delete cascade,
  provider_name text not null,
  is_success boolean not null,
  duration_ms integer not null,
  attempted_at timestamptz(3) not null,
  error_message text
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index notification_attempts_notification on notification_attempts (notification_id, id);

create table notification_templates (
  id uuid primary key,
  tenant_id uuid,
  slug text not null,
  name text not null,
  locale text not null,
  subject_template text,
  html_body_template text,
  text_body_template text,
  required_variables text not null default '',
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  changed_by uuid,
  -- Layouts and partials are templates too. A message pins the versions of those that its template uses.
  kind text not null default 'Template',
  -- the layout around the template
  layout_slug text,
  -- texts of the function t, by language and key
  texts jsonb,
  -- the partials that it names itself
  part_slugs text[] not null default '{}',
  constraint notification_templates_kind check (kind in ('Template', 'Layout', 'Partial')),
  constraint notification_templates_layout check (layout_slug is null or kind = 'Template'),
  constraint notification_templates_some_text check (coalesce(subject_template, html_body_template, text_body_template) is not null)
);
create unique index notification_templates_slug_unique on notification_templates
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), slug, lower(locale));
create index notification_templates_tenant on notification_templates (tenant_id, slug, locale);

-- The locale a tenant's messages fall back to when none of the wanted ones has the template.
create table notification_settings (
  tenant_id uuid primary key,
  default_locale text,
  updated_at timestamptz(3) not null default now(),
  -- The time zone of a tenant's reports. A tenant may set it without a fallback locale.
  time_zone_id text
);

-- The number of a user's latest in-app notification. Its row is locked while one is added, so that a user's numbers
-- become visible in their order and a stream that goes on after a number misses nothing.
create table user_notification_streams (
  user_id uuid primary key,
  last_seq bigint not null
) with (fillfactor = 50);

create table user_notifications (
  id uuid primary key,
  tenant_id uuid,
  user_id uuid not null,
  seq bigint not null,
  notification_id uuid,
  title text not null,
  body text not null,
  icon text,
  category text,
  action_url text,
  priority notification_priority not null default 'Normal',
  is_read boolean not null default false,
  read_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint user_notifications_once unique (notification_id, user_id),
  constraint user_notifications_read_at check (is_read = (read_at is not null))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
-- A user's in-app notifications of a category, whatever the letter case of its name, as with preferences.
create index user_notifications_category_name on user_notifications (user_id, lower(category), seq);
create index user_notifications_unread on user_notifications (user_id, seq) where not is_read;
create unique index user_notifications_user on user_notifications (user_id, seq);

-- How many in-app notifications a user has by category, all and unread.
create table user_notification_counts (
  user_id uuid,
  category text,
  total bigint not null,
  unread bigint not null,
  primary key (user_id, category)
) with (fillfactor = 50);

-- Devices that receive the push messages of a user. A token belongs to the user who registered it last.
create table user_devices (
  id uuid primary key,
  user_id uuid not null,
  token text not null,
  platform text,
  created_at timestamptz(3) not null default now(),
  constraint user_devices_token_unique unique (token)
);
create index user_devices_user on user_devices (user_id, id);

-- What a user wants. Without a row: everything, at once.
create table notification_preferences (
  user_id uuid primary key,
  time_zone_id text not null default 'UTC',
  -- Minutes of the day on the user's clocks; quiet hours may go past midnight.
  quiet_from smallint,
  quiet_to smallint,
  -- By category in lower case: {"news": {"Email": false, "Push": true, "InApp": true, "Sms": true}}.
  categories jsonb not null default '{}',
  has_digest boolean not null default false,
  digest_at smallint not null default 480,
  digest_locale text,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint notification_preferences_digest_at check (digest_at between 0 and 1439),
  constraint notification_preferences_quiet check ((quiet_from is null) = (quiet_to is null) and quiet_from between 0 and 1439 and quiet_to between 0 and 1439 and quiet_from <> quiet_to or quiet_from is null and quiet_to is null)
);

-- Addresses a tenant's messages no longer go to. The nil tenant stands for the service itself.
create table notification_suppressions (
  id uuid primary key,
  tenant_key uuid not null,
  channel notification_channel not null,
  address text not null,
  -- The form that tells whether two addresses are the same.
  address_key text not null,
  reason text not null,
  detail text,
  -- The message whose refusal brought it about; null where somebody added it.
  notification_id uuid,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  constraint notification_suppressions_address_unique unique (tenant_key, channel, address_key),
  constraint notification_suppressions_channel_known check (channel in ('Email', 'Sms')),
  constraint notification_suppressions_reason_known check (reason in ('HardBounce', 'Unsubscribed', 'Complaint', 'Manual'))
);
create index notification_suppressions_tenant on notification_suppressions (tenant_key, id);

-- Messages of low priority that wait for one mail to their user. At most one digest of a user is open.
create table notification_digests (
  id uuid primary key,
  tenant_key uuid not null,
  user_id uuid not null,
  due_at timestamptz(3) not null,
  -- The job that closes it.
  job_id uuid,
  closed_at timestamptz(3),
  -- The mail it became; null where nobody was left to get one.
  notification_id uuid,
  -- When what became of that mail was passed on to the messages in it.
  settled_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint notification_digests_closed check (closed_at is not null or notification_id is null),
  constraint notification_digests_settled check (closed_at is not null or settled_at is null)
);
-- Retention deletes the digests that have ended.
create index notification_digests_ended on notification_digests (settled_at) where settled_at is not null;
-- Also settled digests are found by their mail: a mail that failed may be retried.
create index notification_digests_of_mail on notification_digests (notification_id) where notification_id is not null;
create unique index notification_digests_open on notification_digests (tenant_key, user_id) where closed_at is null;
create index notification_digests_unsettled on notification_digests (due_at) where settled_at is null;

-- The key unsubscribe links are signed with. It is made here so that all instances share it, and so that links in
-- mail read months later outlive the rotation of the keys that sign tokens.
create table notification_link_key (
  id smallint default 1 primary key,
  secret bytea not null,
  constraint notification_link_key_single check (id = 1)
);
insert into notification_link_key (secret)
select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- A tenant's messages are also counted by the hour (UTC), so that stats and lists of a range that begins or ends within
-- a day count the rows of an hour at most at either end.
create table notification_hour_counts (
  tenant_key uuid,
  hour timestamptz(3),
  channel notification_channel,
  status notification_status,
  shard smallint,
  count bigint not null,
  primary key (tenant_key, hour, channel, status, shard)
) with (fillfactor = 50);
create index notification_hour_counts_shards on notification_hour_counts (hour) where shard <> 0;

-- Every version of a template, for good: messages name the version they were accepted with, and it outlives the
-- template. A trigger writes them, so that no way of changing a template can leave its version out.
create table notification_template_versions (
  id uuid default gen_random_uuid() primary key,
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
  kind text not null default 'Template',
  layout_slug text,
  texts jsonb,
  part_slugs text[] not null default '{}',
  constraint notification_template_versions_unique unique (template_id, version)
);

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
  -- how many proofs of senders the tenant has started since when, to limit them
  proofs integer not null default 0,
  proofs_since timestamptz(3),
  constraint tenant_looks_colours check (primary_colour ~ '^#[0-9a-f]{6}$' and text_colour ~ '^#[0-9a-f]{6}$'),
  constraint tenant_looks_logo check ( num_nulls(logo, logo_content_type, logo_width, logo_height, logo_tag) in (0, 5) and logo_content_type in ('image/png', 'image/jpeg') and octet_length(logo) <= 262144 and logo_width between 1 and 2000 and logo_height between 1 and 2000)
);
alter table tenant_looks alter column logo set storage external; -- an image is compressed already

-- Addresses that a tenant sends mail from, once it has proved that they are its own.
create table notification_senders (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  address text not null,
  -- normalized for comparison
  address_key text not null,
  name text,
  method text not null,
  status text not null default 'Pending',
  -- used for mails that name no sender; only while it is verified
  is_default boolean not null default false,
  -- the expected TXT record of the domain; public
  dns_value text,
  -- of the mailed link
  token_hash bytea,
  -- until when a pending sender can be proved
  proof_ends_at timestamptz(3) not null,
  -- checks in a row that did not find the record
  misses integer not null default 0,
  last_error text,
  checked_at timestamptz(3),
  next_check_at timestamptz(3),
  verified_at timestamptz(3),
  created_by uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  constraint notification_senders_address_unique unique (tenant_id, address_key),
  constraint notification_senders_method check (method in ('Dns', 'Mail')),
  constraint notification_senders_record check ((method = 'Dns') = (dns_value is not null)),
  constraint notification_senders_status check (status in ('Pending', 'Verified', 'Failed')),
  constraint notification_senders_token check (token_hash is null or method = 'Mail' and status = 'Pending')
);
create unique index notification_senders_default on notification_senders (tenant_id) where is_default;
create index notification_senders_due on notification_senders (next_check_at);
create unique index notification_senders_token_unique on notification_senders (token_hash);

-- Requests of providers that take effect once, such as STOP replies. Deleted after NOTIFICATION_RETENTION_DAYS.
create table notification_feedback_receipts (
  provider text,
  receipt text,
  received_at timestamptz(3) not null default now(),
  primary key (provider, receipt)
);
create index notification_feedback_receipts_received on notification_feedback_receipts (received_at);

create function count_notifications() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into notification_counts as c (tenant_key, day, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), (created_at at time zone 'UTC')::date,
      channel, status, pg_backend_pid() % 32, count(*)
    from come group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, day, channel, status, shard) do update set count = c.count + excluded.count;
  elsif tg_op = 'DELETE' then
    insert into notification_counts as c (tenant_key, day, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), (created_at at time zone 'UTC')::date,
      channel, status, pg_backend_pid() % 32, -count(*)
    from gone group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, day, channel, status, shard) do update set count = c.count + excluded.count;
  else
    insert into notification_counts as c (tenant_key, day, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), (created_at at time zone 'UTC')::date,
      channel, status, pg_backend_pid() % 32, sum(delta)
    from (select tenant_id, created_at, channel, status, 1 as delta from come
          union all select tenant_id, created_at, channel, status, -1 from gone) changed
    group by 1, 2, 3, 4 having sum(delta) <> 0 order by 1, 2, 3, 4
    on conflict (tenant_key, day, channel, status, shard) do update set count = c.count + excluded.count;
  end if;
  return null;
end $$;

create function count_notifications_by_hour() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into notification_hour_counts as c (tenant_key, hour, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
      channel, status, pg_backend_pid() % 32, count(*)
    from come group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, hour, channel, status, shard) do update set count = c.count + excluded.count;
  elsif tg_op = 'DELETE' then
    insert into notification_hour_counts as c (tenant_key, hour, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
      channel, status, pg_backend_pid() % 32, -count(*)
    from gone group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, hour, channel, status, shard) do update set count = c.count + excluded.count;
  else
    insert into notification_hour_counts as c (tenant_key, hour, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), date_trunc('hour', created_at, 'UTC'),
      channel, status, pg_backend_pid() % 32, sum(delta)
    from (select tenant_id, created_at, channel, status, 1 as delta from come
          union all select tenant_id, created_at, channel, status, -1 from gone) changed
    group by 1, 2, 3, 4 having sum(delta) <> 0 order by 1, 2, 3, 4
    on conflict (tenant_key, hour, channel, status, shard) do update set count = c.count + excluded.count;
  end if;
  return null;
end $$;

create function count_user_notifications() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into user_notification_counts as c (user_id, category, total, unread)
    select user_id, coalesce(category, ''), count(*), count(*) filter (where not is_read)
    from come group by 1, 2 order by 1, 2
    on conflict (user_id, category) do update
      set total = c.total + excluded.total, unread = c.unread + excluded.unread;
  elsif tg_op = 'DELETE' then
    insert into user_notification_counts as c (user_id, category, total, unread)
    select user_id, coalesce(category, ''), -count(*), -count(*) filter (where not is_read)
    from gone group by 1, 2 order by 1, 2
    on conflict (user_id, category) do update
      set total = c.total + excluded.total, unread = c.unread + excluded.unread;
  else
    insert into user_notification_counts as c (user_id, category, total, unread)
    select user_id, coalesce(category, ''), sum(delta), coalesce(sum(delta) filter (where not is_read), 0)
    from (select user_id, category, is_read, 1 as delta from come
          union all select user_id, category, is_read, -1 from gone) changed
    group by 1, 2 order by 1, 2
    on conflict (user_id, category) do update
      set total = c.total + excluded.total, unread = c.unread + excluded.unread;
  end if;
  return null;
end $$;

create function keep_template_version() returns trigger language plpgsql as $$
begin
  insert into notification_template_versions (template_id, version, name, locale, subject_template,
    html_body_template, text_body_template, required_variables, changed_at, changed_by, kind, layout_slug, texts, part_slugs)
  values (new.id, new.version, new.name, new.locale, new.subject_template, new.html_body_template,
    new.text_body_template, new.required_variables, clock_timestamp(), new.changed_by, new.kind, new.layout_slug,
    new.texts, new.part_slugs);
  return null;
end $$;

create function refuse_template_version_change() returns trigger language plpgsql as $$
begin
  raise exception 'versions of templates never change' using errcode = 'insufficient_privilege';
end $$;

create trigger notifications_count_delete after delete on notifications
  referencing old table as gone for each statement execute function count_notifications();
create trigger notifications_count_insert after insert on notifications
  referencing new table as come for each statement execute function count_notifications();
create trigger notifications_count_update after update on notifications
  referencing old table as gone new table as come for each statement execute function count_notifications();
create trigger notifications_hour_count_delete after delete on notifications
  referencing old table as gone for each statement execute function count_notifications_by_hour();
create trigger notifications_hour_count_insert after insert on notifications
  referencing new table as come for each statement execute function count_notifications_by_hour();
create trigger notifications_hour_count_update after update on notifications
  referencing old table as gone new table as come for each statement execute function count_notifications_by_hour();
-- a change that does not raise the version meets the unique constraint and is refused
create trigger notification_templates_keep_version after insert or update on notification_templates
  for each row execute function keep_template_version();
create trigger user_notifications_count_delete after delete on user_notifications
  referencing old table as gone for each statement execute function count_user_notifications();
create trigger user_notifications_count_insert after insert on user_notifications
  referencing new table as come for each statement execute function count_user_notifications();
create trigger user_notifications_count_update after update on user_notifications
  referencing old table as gone new table as come for each statement execute function count_user_notifications();
create trigger notification_template_versions_fixed before update on notification_template_versions
  for each statement execute function refuse_template_version_change();

-- Reports

-- Report executions and schedules; formats, statuses and methods are the integers callers see.
-- The state machine of executions is drawn in domain/reports/README.md.
create table report_executions (
  id uuid primary key,
  tenant_id uuid,
  template_id text not null,
  report_name text not null,
  format smallint not null,
  status smallint not null,
  parameters_json text not null,
  -- What a caller must hold to see the execution or its document: what its rows needed.
  required_permissions text[] not null,
  delivery_json text,
  stored_file_id uuid,
  file_name text,
  content_type text,
  file_size_bytes bigint,
  row_count bigint,
  generation_ms bigint,
  error_message text,
  requested_by text,
  created_by uuid,
  schedule_id uuid,
  -- The run that generates it now, or did: a result counts only while its run is the one named here.
  run_id uuid,
  attempts smallint not null default 0,
  -- The jobs that speak for it: the one that generates it, and the last one that delivers it.
  job_id uuid,
  delivery_job_id uuid,
  trace_id text,
  download_count integer not null default 0,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  expires_at timestamptz(3),
  deleted_at timestamptz(3),
  -- Executions of one burst share burst_id; burst_value is the value of theirs, for people to read.
  burst_id uuid,
  burst_value text,
  -- Runs that failed on their own: a crash, or an outage of what a run needs, is no failure of the report.
  failures smallint not null default 0,
  -- What If-Match is compared with: every change of an execution but a counted download makes a new version.
  version integer not null default 1,
  -- Whether a document reached its recipients. Null: no delivery was asked for, or there is no document yet.
  delivery_status text,
  -- The version that a document is made of; null for reports. Title and language are those of the document.
  document_version_id uuid,
  document_pins jsonb,
  constraint report_executions_burst_value check ((burst_id is null) = (burst_value is null)),
  constraint report_executions_completed_has_a_file check (status not in (3, 5) or stored_file_id is not null),
  constraint report_executions_delivery_needs_a_document check (delivery_status is null or status in (3, 5)),
  constraint report_executions_delivery_status_known check (delivery_status in ('Pending', 'Delivered', 'Partly', 'Failed')),
  constraint report_executions_format_known check (format between 1 and 4),
  constraint report_executions_generating_has_a_run check (status <> 2 or run_id is not null),
  constraint report_executions_status_known check (status between 1 and 6)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index report_executions_burst on report_executions (burst_id, id) where burst_id is not null;
create index report_executions_delivery on report_executions (tenant_id, delivery_status, id)
  where delivery_status is not null;
create index report_executions_expiry on report_executions (expires_at) where run_id is not null;
create index report_executions_open on report_executions (id) where status in (1, 2);
create index report_executions_schedule on report_executions (schedule_id, id) where schedule_id is not null;
-- Whether a schedule's executions are still under way is asked at every tick.
create index report_executions_schedule_open on report_executions (schedule_id)
  where status in (1, 2) and schedule_id is not null;
create index report_executions_tenant on report_executions (tenant_id, id) where deleted_at is null;

-- What became of one recipient (an address, a target path, a webhook URL) of an execution's delivery.
create table report_deliveries (
  id uuid primary key,
  execution_id uuid not null references report_executions (id) on delete cascade,
  method smallint not null,
  recipient text not null,
  status text not null default 'Owed',
  notification_id uuid,
  attempts smallint not null default 0,
  error_message text,
  updated_at timestamptz(3) not null default now(),
  -- A delivery to a target, and the options of a repeated delivery; null: those of the execution.
  target_id uuid,
  options_json text,
  -- One attempt at a delivery at a time: a run of a delivery job claims it for a while.
  claimed_by uuid,
  claimed_until timestamptz(3),
  constraint report_deliveries_once unique nulls not distinct (execution_id, method, target_id, recipient),
  constraint report_deliveries_status_known check (status in ('Owed', 'Delivered', 'Failed'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index report_deliveries_owed on report_deliveries (execution_id) where status = 'Owed';

create table report_schedules (
  id uuid primary key,
  tenant_id uuid,
  template_id text not null,
  name text not null,
  description text,
  cron_expression text not null,
  time_zone_id text not null default 'UTC',
  format smallint not null,
  parameters_json text not null,
  -- What a caller must hold to see or change the schedule: what its rows need.
  required_permissions text[] not null,
  delivery_json text,
  is_active boolean not null default true,
  next_run_at timestamptz(3),
  last_run_at timestamptz(3),
  last_execution_id uuid,
  failures_in_a_row integer not null default 0,
  version integer not null default 1,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Bursting: one report made once for each of a list of values, every document with recipients of its own.
  burst_json text,
  constraint report_schedules_format_known check (format between 1 and 4),
  constraint report_schedules_next_while_active check (is_active = (next_run_at is not null))
);
create index report_schedules_due on report_schedules (next_run_at) where is_active;
create index report_schedules_tenant on report_schedules (tenant_id, id);

-- Links to a report's document, as mail and webhooks carry them; only a hash of what a link holds is kept.
create table report_links (
  token_hash bytea primary key,
  execution_id uuid not null references report_executions (id) on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint report_links_expire_later check (expires_at > created_at)
);
create index report_links_execution on report_links (execution_id);
create index report_links_expiry on report_links (expires_at);

-- Where a tenant has its reports delivered: another S3 bucket or a Slack-compatible webhook. `secret` is encrypted: the
-- secret access key, or the whole URL of the webhook.
create table report_targets (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  name text not null,
  kind text not null,
  endpoint text,
  region text,
  bucket text,
  prefix text,
  path_style boolean,
  access_key_id text,
  secret text not null,
  created_by uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint report_targets_kind_known check (kind in ('s3', 'slack')),
  constraint report_targets_s3_is_complete check ((kind = 's3') = (num_nulls(endpoint, region, bucket, prefix, path_style, access_key_id) = 0))
);
create unique index report_targets_name_unique on report_targets (tenant_id, same_text(name));

-- Secrets that sign a tenant's report webhooks. Without any, the secret of the service signs.
create table report_webhook_secrets (
  tenant_id uuid references tenants (id),
  secret text,
  created_at timestamptz(3) not null default clock_timestamp(),
  valid_until timestamptz(3),
  -- Since when the tenant has its own secrets. Replaced secrets are deleted, so their times do not tell it.
  first_at timestamptz(3) not null default clock_timestamp(),
  primary key (tenant_id, secret)
);
create unique index report_webhook_secrets_current on report_webhook_secrets (tenant_id) where valid_until is null;

-- Templates of documents such as invoices and letters, in the hands of a tenant. Every version is kept for good, because
-- executions name the version that they were requested with. A trigger writes it, so that no change can leave it out.
create table document_templates (
  id uuid primary key,
  tenant_id uuid not null,
  slug text not null,
  name text not null,
  locale text not null,
  title_template text not null,
  body_template text not null,
  required_variables text not null default '',
  sample_data jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  changed_by uuid,
  -- texts of the function t, by language and key
  texts jsonb,
  -- the partials that it names itself
  part_slugs text[] not null default '{}'
);
create unique index document_templates_slug_unique on document_templates (tenant_id, slug, lower(locale));

create table document_template_versions (
  id uuid default gen_random_uuid() primary key,
  template_id uuid not null,
  tenant_id uuid not null,
  version integer not null,
  name text not null,
  locale text not null,
  title_template text not null,
  body_template text not null,
  required_variables text not null,
  sample_data jsonb not null,
  changed_at timestamptz(3) not null,
  changed_by uuid,
  texts jsonb,
  part_slugs text[] not null default '{}',
  constraint document_template_versions_unique unique (template_id, version)
);
create index document_template_versions_tenant on document_template_versions (tenant_id);

create function count_report_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;

create function keep_document_template_version() returns trigger language plpgsql as $$
begin
  insert into document_template_versions (template_id, tenant_id, version, name, locale, title_template, body_template,
    required_variables, sample_data, texts, part_slugs, changed_at, changed_by)
  values (new.id, new.tenant_id, new.version, new.name, new.locale, new.title_template, new.body_template,
    new.required_variables, new.sample_data, new.texts, new.part_slugs, clock_timestamp(), new.changed_by);
  return null;
end $$;

create function refuse_document_version_change() returns trigger language plpgsql as $$
begin
  raise exception 'versions of document templates never change' using errcode = 'insufficient_privilege';
end $$;

create trigger report_executions_version before update on report_executions
  for each row when (old.download_count = new.download_count) execute function count_report_version();
-- A change that does not increase the version violates the unique constraint and is refused.
create trigger document_templates_keep_version after insert or update on document_templates
  for each row execute function keep_document_template_version();
create trigger document_template_versions_fixed before update on document_template_versions
  for each statement execute function refuse_document_version_change();

-- Resources, user data and the console

-- Resources of the generic contract: applications are marked as deleted, settings are removed.
create table applications (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  code text not null,
  name text not null,
  description text,
  is_active boolean not null default true,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search_text text generated always as (fold(code || ' ' || name)) stored
);
create index applications_by_created on applications (tenant_id, created_at, id);
create unique index applications_code_unique on applications (tenant_id, lower(code)) where deleted_at is null;
create index applications_search on applications using gin (search_text gin_trgm_ops);

create table settings (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  key text not null,
  value text not null,
  description text,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  search_text text generated always as (fold(key || ' ' || coalesce(description, ''))) stored
);
create index settings_by_created on settings (tenant_id, created_at, id);
create unique index settings_key_unique on settings (tenant_id, key);
create index settings_search on settings using gin (search_text gin_trgm_ops);

-- Imports of users from a file, and what became of each row until the result file is stored.
create table user_imports (
  id uuid primary key,
  -- null: an import into several tenants, whose rows name them
  tenant_id uuid references tenants (id),
  file_id uuid not null,
  is_dry_run boolean not null,
  status text not null default 'Queued',
  -- in whose name it runs: the user or service account, its key, and the tenant and permissions of the request
  created_by uuid not null,
  api_key_id uuid,
  is_service_account boolean not null,
  acting_tenant_id uuid,
  permissions text[] not null,
  trace_id text not null,
  total integer,
  -- how many rows are done; written together with the users of these rows
  position integer not null default 0,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  error text,
  result_file_id uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  -- The job of an import. It is ended when its job has ended without doing so. Null: started by an early version.
  job_id uuid,
  constraint user_imports_counts check (created + updated + unchanged + failed = position),
  constraint user_imports_finished check ((status in ('Completed', 'Failed')) = (finished_at is not null)),
  constraint user_imports_status check (status in ('Queued', 'Running', 'Completed', 'Failed'))
);
create index user_imports_open on user_imports (id) where status in ('Queued', 'Running');
create index user_imports_tenant on user_imports (tenant_id, id);

create table user_import_rows (
  import_id uuid references user_imports (id) on delete cascade,
  row integer,
  email text,
  outcome text not null,
  errors text[] not null,
  primary key (import_id, row)
);

create table data_requests (
  id uuid primary key,
  kind text not null,
  user_id uuid,
  -- Of a tenant: which one. Of a user: the only tenant whose data is exported.
  tenant_id uuid,
  status text not null default 'Queued',
  step text,
  reason text,
  -- What the erasure searches for; removed when it has ended.
  addresses text[],
  file_id uuid,
  error_message text,
  requested_by uuid,
  -- The tenant context of the caller, in which the status can be read.
  context_tenant_id uuid,
  job_id uuid,
  -- The erasure of the tenant that this erasure of a user is a part of.
  parent_id uuid,
  created_at timestamptz(3) not null default now(),
  completed_at timestamptz(3),
  constraint data_requests_addresses_while_open check (addresses is null or status <> 'Completed'),
  constraint data_requests_ended check ((status in ('Completed', 'Failed')) = (completed_at is not null)),
  constraint data_requests_kind_known check (kind in ('UserExport', 'UserErasure', 'TenantExport', 'TenantErasure')),
  constraint data_requests_status_known check (status in ('Queued', 'Running', 'Completed', 'Failed'))
);
create unique index data_requests_one_tenant_erasure on data_requests (tenant_id) where kind = 'TenantErasure';
create unique index data_requests_one_user_erasure on data_requests (user_id) where kind = 'UserErasure';
create index data_requests_open on data_requests (id) where status in ('Queued', 'Running');
create index data_requests_parts on data_requests (parent_id, id) where parent_id is not null and status <> 'Completed';
create index data_requests_tenant on data_requests (tenant_id, id) where tenant_id is not null;
create index data_requests_user on data_requests (user_id, id) where user_id is not null;

-- Filters of a list of the console that a user saved under a name.
create table console_saved_filters (
  user_id uuid references users (id),
  list text,
  slot smallint,
  name text not null,
  query text not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, list, slot),
  constraint console_saved_filters_lengths check (length(list) between 1 and 200 and length(name) between 1 and 60 and length(query) <= 2000),
  constraint console_saved_filters_slot_known check (slot between 1 and 20)
);
create unique index console_saved_filters_name_unique on console_saved_filters (user_id, list, same_text(name));

-- What a user does to many rows of a list: an action on the rows that were counted, or a CSV file. It runs in the session
-- that asked for it. `ids` are the counted rows; the first `position` of them are done.
create table console_list_tasks (
  id uuid primary key,
  user_id uuid not null references users (id),
  session_id uuid not null,
  tenant_id uuid references tenants (id),
  security_version integer not null,
  kind text not null,
  list text not null,
  query text not null,
  action text,
  fields jsonb not null default '{}',
  locale text not null,
  time_zone text not null,
  ids text[] not null default '{}',
  total integer not null,
  position integer not null default 0,
  refused integer not null default 0,
  refusals jsonb not null default '{}',
  status text not null,
  error text,
  file_id uuid,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  ended_at timestamptz(3),
  constraint console_list_tasks_action_named check ((kind = 'Action') = (action is not null)),
  constraint console_list_tasks_end_has_time check ((status in ('Completed', 'Failed', 'Cancelled')) = (ended_at is not null)),
  constraint console_list_tasks_kind_known check (kind in ('Csv', 'Action')),
  constraint console_list_tasks_position_within check (position between 0 and total and refused <= position),
  constraint console_list_tasks_status_known check (status in ('Draft', 'Queued', 'Running', 'Completed', 'Failed', 'Cancelled'))
);
create index console_list_tasks_of_user on console_list_tasks (user_id, id desc);

-- The service itself

-- What was answered under an Idempotency-Key, so that a repeat is answered the same and nothing is done twice.
create table idempotency_keys (
  -- SHA-256 of caller, tenant, operation and key.
  id bytea primary key,
  -- SHA-256 of path, query and body: the same key for something else is refused.
  fingerprint bytea not null,
  created_at timestamptz(3) not null default now(),
  -- The answer; null while the work is under way.
  status smallint,
  headers jsonb,
  body text,
  -- For work of several transactions: who does it, until when they are given, and whether any of it has committed.
  claim uuid,
  claimed_until timestamptz(3),
  begun boolean not null default false,
  -- The id of what a request of several steps creates. A repeat that continues the request finds it by this id.
  work_id uuid,
  constraint idempotency_keys_answer check ((status is null) = (headers is null)),
  constraint idempotency_keys_claim check ((claim is null) = (claimed_until is null)),
  constraint idempotency_keys_hashes check (octet_length(id) = 32 and octet_length(fingerprint) = 32),
  constraint idempotency_keys_held check (status is not null or claim is not null)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index idempotency_keys_created on idempotency_keys (created_at);

-- The migrations of extensions that were applied. Each extension numbers its own, so they never collide with the
-- service's. The tables of an extension are in the schema of its name.
create table extension_migrations (
  extension text,
  version integer,
  name text not null,
  sha256 text not null,
  applied_at timestamptz(3) not null default now(),
  primary key (extension, version)
);

-- The time up to which a replica has received the changes of the primary. Instances that use a replica write it every second.
create table database_heartbeat (
  is_only boolean default true primary key,
  at timestamptz(3) not null default now(),
  constraint database_heartbeat_is_only_check check (is_only)
);
insert into database_heartbeat default values;

-- How far each maintenance job is. `progress` has its works of the unfinished pass; `due_at` is the time from which that
-- pass has been due, or the next one.
create table maintenance_works (
  job_type_name text primary key,
  progress jsonb not null default '{}',
  version integer not null default 0,
  due_at timestamptz(3) not null default now()
);
