-- A slash at the end makes no other audience. The oldest client decides whose it is, as for equal audiences.
insert into oauth_audiences (audience, tenant_id, left_at)
  select distinct on (rtrim(a.audience, '/')) rtrim(a.audience, '/'), a.tenant_id, a.left_at
  from oauth_audiences a
  left join lateral (select min(c.id::text) as id from oauth_clients c where c.audience = a.audience) first on true
  where a.audience like '%/'
  order by rtrim(a.audience, '/'), first.id nulls last
  on conflict (audience) do nothing;

create index oauth_clients_by_plain_audience on oauth_clients (rtrim(audience, '/'));
