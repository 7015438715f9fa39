-- Previous version: may run. Set lifetimes and sign-out addresses of clients after it has stopped.
-- Clients have lifetimes of their tokens, and are told when a user has signed out (OpenID Connect Back-Channel Logout 1.0).
alter table oauth_clients
  add column access_token_seconds integer not null default 900,
  -- how long a refresh token may stay unused
  add column refresh_token_seconds integer not null default 1209600,
  -- how long a sign-in to the client lasts at most
  add column grant_seconds integer not null default 2592000,
  -- where the service sends logout tokens; null: nowhere
  add column backchannel_logout_uri text,
  add constraint oauth_clients_lifetimes check (access_token_seconds between 60 and 86400
    and refresh_token_seconds between 3600 and grant_seconds and grant_seconds <= 31536000);
-- The client of this session is told when it ends.
alter table sessions add column tells_client boolean not null default false;
-- When the client accepted the logout token of this grant.
alter table oauth_grants add column sign_out_told_at timestamptz(3);
