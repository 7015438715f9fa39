-- The group of an error: its message with addresses, ids, times and numbers replaced by #. Codes stay, because errors
-- with different codes have different causes: 409 after "answered", "status" or "error", or before "Conflict".
create function error_pattern(message text) returns text language plpgsql immutable parallel safe as $$
declare
  pattern text := left(coalesce(message, ''), 1000);
begin
  if pattern ~ '@' then
    pattern := regexp_replace(pattern, '[a-z0-9._%+''-]+@[a-z0-9-]+(\.[a-z0-9-]+)*', '#', 'gi');
  end if;
  if pattern !~ '[0-9]' then
    return left(pattern, 300);
  end if;
  pattern := regexp_replace(pattern, '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '#', 'gi');
  -- Times: ISO 8601, and with the name of the month.
  pattern := regexp_replace(pattern,
    '[0-9]{4}-[0-9]{2}-[0-9]{2}([t ][0-9]{2}:[0-9:.,]{2,16}( ?(z|utc|[+-][0-9]{2}:?[0-9]{2}))?)?', '#', 'gi');
  if pattern ~ '[ /-]20[0-9]{2}' then
    pattern := regexp_replace(pattern,
      '(\m(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?([0-9]{1,2}[ /-])?'
      '\m(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ /-]([0-9]{1,2},? )?20[0-9]{2}'
      '([ :t][0-9]{2}:[0-9:.]{2,12}( ?(z|gmt|utc|[+-][0-9]{4})){0,2})?',
      '#', 'gi');
  end if;
  -- IPv6 and hardware addresses; then ids of letters and digits.
  if pattern ~ ':[0-9A-Fa-f]*:' then
    pattern := regexp_replace(pattern, '(?<![0-9a-z:])([0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![0-9a-z:])', '#', 'gi');
  end if;
  pattern := regexp_replace(pattern, '(?<![a-z0-9])(?=[a-z]*[0-9]+[a-z]+[0-9])[a-z0-9]{10,}', '#', 'gi');
  -- A marker stands before each digit that stays: codes of an exit, an error or a status, of up to five digits;
  pattern := regexp_replace(pattern,
    '\m((?:(?:exit|error|status|result|return|response|http|smtp|sql)[ _-]?(?:code|status|state)'
    '|errno|status|http(?:/[0-9.]+)?)["'']?(?: (?:of|was|is))?[ :=(-]{0,3}["'']?(?:http[ /]?)?)'
    '([0-9])([0-9])?([0-9])?([0-9])?([0-9])?(?![0-9a-z_])(?![.,:/-][0-9])',
    E'\\1\x01\\2\x01\\3\x01\\4\x01\\5\x01\\6', 'gi');
  -- numbers from 100 to 599 where a status is expected, unless they count something;
  pattern := regexp_replace(pattern,
    '(\m(?:code|error|answer(?:s|ed)?|return(?:s|ed|ing)?|respon(?:se|ds|ded)|repl(?:y|ies|ied)|got|received|gave|with'
    '|fail(?:s|ed|ure))\M["'']?:?(?: an?)? ?["''(\[]?|[=-]> ?|^|\((?=[0-9]{3}\)))'
    '([1-5])([0-9])([0-9])(?![0-9a-z_])(?![.,:/-][0-9])'
    '(?! ?(?:ms|s|sec|seconds?|minutes?|hours?|days?|%|[kmg]?i?b|bytes?|char[a-z]*|rows?|items?|records?|entries|files?'
    '|lines?|times|jobs?|messages?|users?)(?![a-z]))',
    E'\\1\x01\\2\x01\\3\x01\\4', 'gi');
  -- and numbers before the name of a status.
  pattern := regexp_replace(pattern,
    '(?<![0-9A-Za-z_.,:/-])([1-5])([0-9])([0-9])(?=[ :-]{1,3}'
    '(?:Continue|OK|Created|Accepted|No Content|Moved|Found|See Other|Not |Temporary|Permanent|Bad|Unauthorized|Payment'
    '|Forbidden|Method|Proxy|Request|Conflict|Gone|Length|Precondition|Payload|Content|URI|Unsupported|Range'
    '|Expectation|Misdirected|Unprocessable|Locked|Failed|Too |Upgrade'
    '|Internal|Gateway|Service|HTTP|Insufficient|Network|Slow))',
    E'\x01\\1\x01\\2\x01\\3', 'g');
  pattern := regexp_replace(pattern, '(?<!\u0001)[0-9]+([.,][0-9]+)*', '#', 'g');
  return left(replace(pattern, E'\x01', ''), 300);
end $$;

alter table dead_letter_jobs drop column error_pattern;
alter table dead_letter_jobs add column error_pattern text generated always as (error_pattern(error_message)) stored;
create index dead_letter_jobs_alike on dead_letter_jobs (tenant_id, job_type_name, error_pattern)
  include (failed_at, retried_at);
