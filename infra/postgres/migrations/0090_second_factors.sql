-- How and when the user of a session signed in: values of RFC 8176, `fed` for a sign-in by a provider. The session's
-- tokens keep them through refresh and tenant switch.
alter table sessions
  add column amr text[] not null default '{}',
  add column authenticated_at timestamptz(3) not null default now();
update sessions set authenticated_at = created_at;

alter table oidc_handovers add column amr text[] not null default '{fed}';

-- In such a tenant, a session without a second factor is good only for adding one.
alter table tenants add column require_second_factor boolean not null default false;

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
  constraint user_factors_kind_parts check (
    kind = 'totp' and secret is not null and credential_id is null
    or kind = 'passkey' and secret is null and confirmed_at is not null and credential_id is not null
      and public_key is not null and sign_count is not null and transports is not null and is_synced is not null),
  constraint user_factors_credential_unique unique (credential_id)
);
create index user_factors_user on user_factors (user_id, created_at, id);
-- One authenticator app that counts and one that waits for its first code.
create unique index user_factors_one_totp on user_factors (user_id, (confirmed_at is null)) where kind = 'totp';

create table recovery_codes (
  user_id uuid not null references users (id),
  code_hash bytea not null,
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
create index factor_tokens_user on factor_tokens (user_id);
create index factor_tokens_expiry on factor_tokens (expires_at);

-- Challenges that wait for the answer of a passkey. Each is deleted by its first answer.
create table passkey_challenges (
  challenge_hash bytea primary key,
  purpose text not null,
  user_id uuid references users (id),
  expires_at timestamptz(3) not null,
  constraint passkey_challenges_purpose check (
    purpose = 'sign-in' and user_id is null or purpose in ('add', 'prove') and user_id is not null)
);
create index passkey_challenges_expiry on passkey_challenges (expires_at);
create index passkey_challenges_user on passkey_challenges (user_id);
