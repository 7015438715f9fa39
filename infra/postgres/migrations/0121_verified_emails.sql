-- When a link that was mailed to the user's email was used. Null: nobody has shown that the address is the user's.
alter table users add column email_verified_at timestamptz(3);
