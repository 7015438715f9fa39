-- A session keeps the security version its user had when it was opened. A change to the user's role, permission or link
-- raises the user's version, which ends every session with an older one: its access tokens, refresh tokens and browser
-- sessions. The default is for instances of the version before, which do not write it: a user whose version is higher
-- signs in again.
alter table sessions add column security_version integer not null default 1;
update sessions s set security_version = u.security_version from users u
where u.id = s.user_id and u.security_version <> 1;
