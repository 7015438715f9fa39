-- Requested changes of emails. The token was mailed to the new address, so it proves that the user can read its mail.
create table email_changes (
  token_hash bytea primary key,
  user_id uuid not null references users (id),
  new_email text not null,
  -- The session that asked; it stays open when the others end.
  session_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index email_changes_user on email_changes (user_id);
create index email_changes_expiry on email_changes (expires_at);
