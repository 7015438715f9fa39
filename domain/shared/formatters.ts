/** Maximum number of kept formatters: enough for all formats of the console in some dozens of time zones. */
const MAX_KEPT = 500;
const kept = new Map<string, object>();

/**
 * Returns the formatter of an `Intl` class for a locale and options:
 * `formatter(Intl.NumberFormat, "en", { style: "percent" })`. It is kept, because its creation takes thirty times as long as
 * its use. A new one replaces the oldest: the number is limited, because callers choose the time zone.
 * @throws RangeError for an unknown time zone or locale
 */
export function formatter<Options, Formatter extends object>(
  Class: new (locale: string, options: Options) => Formatter,
  locale: string,
  options: Options,
): Formatter {
  const key = `${Class.name} ${locale} ${JSON.stringify(options)}`;
  const known = kept.get(key);
  if (known) return known as Formatter;
  const made = new Class(locale, options);
  const [oldest] = kept.keys();
  if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest);
  kept.set(key, made);
  return made;
}
