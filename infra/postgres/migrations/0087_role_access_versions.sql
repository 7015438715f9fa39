-- A change of a role's permissions increments `access_version` of the role instead of the security versions of its
-- holders, who may be many. The version of a user is `users.security_version` plus those of the user's roles.
alter table roles add column access_version integer not null default 0;

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
create trigger user_tenant_roles_keep_versions after delete on user_tenant_roles
  referencing old table as removed for each statement execute function keep_security_versions();
