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

drop index users_email_unique;
create unique index users_email_unique on users (mail_key(email));
drop index invitations_open_unique;
create unique index invitations_open_unique on invitations (mail_key(email), tenant_id) where status = 'Pending';

-- Phone numbers are stored in E.164 form.
update users set phone_number = regexp_replace(phone_number, '\(0\)|[[:space:]().\-/]', '', 'g')
where regexp_replace(phone_number, '\(0\)|[[:space:]().\-/]', '', 'g') ~ '^\+[1-9]\d{1,14}$'
  and phone_number !~ '^\+[1-9]\d{1,14}$';
