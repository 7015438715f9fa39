-- A change of the email is stored when it is asked for; its token when the mail is written. So jobs carry only the id.
alter table email_changes add column id uuid not null default gen_random_uuid();
alter table email_changes drop constraint email_changes_pkey;
alter table email_changes add constraint email_changes_pkey primary key (id);
alter table email_changes alter column token_hash drop not null;
create unique index email_changes_token_unique on email_changes (token_hash);

-- Who asked for a reset link: an administrator, a known device or a network address. Each has its own limit.
alter table password_resets add column requester text;

-- for the sweep that deletes them
create index user_factors_unconfirmed on user_factors (created_at) where confirmed_at is null;
