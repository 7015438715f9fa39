-- True: the email is verified only by its mailbox, and the password or the factors may be those of somebody else who used the
-- account before. Such an account counts as never proved by its owner, like one without a verified email.
alter table users add column is_mailbox_only boolean not null default false;
