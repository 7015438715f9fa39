import { formatter } from "../../../domain/shared/formatters.ts";
import { FORMAT_TAGS, type Locale } from "../shared/languages.ts";

const DAY_NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const TEXTS = {
  en: {
    everyMinute: "every minute",
    everyMinutes: (n: number) => `every ${n} minutes`,
    everyHourAt: (minute: number) =>
      minute === 0 ? "every hour, on the hour" : `every hour, ${minute} min past`,
    everyHoursAt: (n: number, minute: number) =>
      `every ${n} hours${minute === 0 ? ", on the hour" : `, ${minute} min past`}`,
    at: (day: string, times: string) => `${day} at ${times}`,
    everyDay: "every day",
    weekdays: "on weekdays",
    weekends: "at weekends",
    on: (days: string) => `every ${days}`,
    monthly: (days: string) => `on day ${days} of every month`,
    lastDay: "on the last day of every month",
    firstWorkingDay: "on the first working day of every month",
    lastWorkingDay: "on the last working day of every month",
    nth: (position: string, day: string) =>
      `on the ${
        { 1: "first", 2: "second", 3: "third", 4: "fourth", L: "last" }[position]
      } ${day} of every month`,
    yearly: (date: string) => `every year on ${date}`,
  },
  pt: {
    everyMinute: "a cada minuto",
    everyMinutes: (n: number) => `a cada ${n} minutos`,
    everyHourAt: (minute: number) =>
      minute === 0 ? "a cada hora certa" : `a cada hora, aos ${minute} minutos`,
    everyHoursAt: (n: number, minute: number) =>
      `a cada ${n} horas${minute === 0 ? " certas" : `, aos ${minute} minutos`}`,
    at: (day: string, times: string) => `${day} às ${times}`,
    everyDay: "todos os dias",
    weekdays: "nos dias úteis",
    weekends: "aos fins de semana",
    on: (days: string) => `semanalmente: ${days},`,
    monthly: (days: string) => `no dia ${days} de cada mês`,
    lastDay: "no último dia de cada mês",
    firstWorkingDay: "no primeiro dia útil de cada mês",
    lastWorkingDay: "no último dia útil de cada mês",
    nth: (position: string, day: string) => {
      const [last, o] = /^(sábado|domingo)/.test(day) ? ["último", "o"] : ["última", "a"];
      const names: Record<string, string> = {
        1: `primeir${o}`,
        2: `segund${o}`,
        3: `terceir${o}`,
        4: `quart${o}`,
        L: last,
      };
      return `n${o} ${names[position]} ${day} de cada mês`;
    },
    yearly: (date: string) => `todos os anos em ${date}`,
  },
};

/**
 * Describes a common five-field cron expression as text, such as "on weekdays at 08:30". Returns null for other patterns:
 * show the expression itself. Times are in the schedule's time zone.
 */
export function describeCron(locale: Locale, expression: string): string | null {
  const t = TEXTS[locale];
  const [minute = "", hour = "", day = "", month = "", weekday = "", more] = expression.trim().toLowerCase()
    .split(/\s+/);
  if (more !== undefined || weekday === "") return null;
  const isDaily = day === "*" && month === "*" && weekday === "*";
  if (hour === "*" && isDaily) {
    if (minute === "*" || minute === "*/1") return t.everyMinute;
    const step = stepOf(minute);
    if (step && 60 % step === 0) return t.everyMinutes(step);
    const at = numberOf(minute, 0, 59);
    return at === null ? null : t.everyHourAt(at);
  }
  const minutes = numberOf(minute, 0, 59);
  if (minutes === null) return null;
  const step = stepOf(hour);
  if (step && step > 1 && 24 % step === 0) return isDaily ? t.everyHoursAt(step, minutes) : null;
  const hours = numbersOf(hour, 0, 23);
  if (!hours || hours.length > 4) return null;
  const list = formatter(Intl.ListFormat, FORMAT_TAGS[locale], { type: "conjunction" });
  const times = list.format(hours.map((at) => `${pad(at)}:${pad(minutes)}`));
  const days = describeDays(locale, list, { day, month, weekday });
  return days === null ? null : t.at(days, times);
}

function describeDays(
  locale: Locale,
  list: Intl.ListFormat,
  { day, month, weekday }: { day: string; month: string; weekday: string },
): string | null {
  const t = TEXTS[locale];
  if (weekday !== "*") {
    if (day !== "*" || month !== "*") return null;
    const [, nthDay, position] = /^([0-6])#?([1-4l])$/.exec(weekday) ?? [];
    if (nthDay && position && /[#l]/.test(weekday)) {
      return t.nth(position.toUpperCase(), weekdayName(locale, Number(nthDay)));
    }
    const days = weekdaysOf(weekday);
    if (!days) return null;
    if (days.length === 7) return t.everyDay;
    if (days.join() === "1,2,3,4,5") return t.weekdays;
    if (days.join() === "0,6") return t.weekends;
    return t.on(list.format(days.map((at) => weekdayName(locale, at))));
  }
  if (month !== "*") {
    const [at, dayOfMonth] = [namedNumber(month, MONTH_NAMES, 1, 12), numberOf(day, 1, 31)];
    if (at === null || dayOfMonth === null) return null;
    const date = formatter(Intl.DateTimeFormat, FORMAT_TAGS[locale], {
      day: "numeric",
      month: "long",
      timeZone: "UTC",
    });
    return t.yearly(date.format(new Date(Date.UTC(2024, at - 1, dayOfMonth))));
  }
  if (day === "*") return t.everyDay;
  if (day === "l") return t.lastDay;
  if (day === "lw") return t.lastWorkingDay;
  if (day === "1w") return t.firstWorkingDay;
  const days = numbersOf(day, 1, 31);
  return days && days.length <= 4 ? t.monthly(list.format(days.map(String))) : null;
}

/** Weekdays of a cron field, 0 (Sunday) to 6. Accepts 7 for Sunday, ranges and names; null if it cannot be read. */
export function weekdaysOf(text: string): number[] | null {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [from = "", to] = part.split("-");
    const first = namedNumber(from, DAY_NAMES, 0, 7);
    const last = to === undefined ? first : namedNumber(to, DAY_NAMES, 0, 7);
    if (first === null || last === null || last < first) return null;
    for (let day = first; day <= last; day++) found.add(day % 7);
  }
  return [...found].sort();
}

/** 1 January 2023 was a Sunday. */
export const weekdayName = (locale: Locale, day: number): string =>
  formatter(Intl.DateTimeFormat, FORMAT_TAGS[locale], { weekday: "long", timeZone: "UTC" })
    .format(new Date(Date.UTC(2023, 0, 1 + day)));

function namedNumber(text: string, names: string[], min: number, max: number): number | null {
  const named = names.indexOf(text);
  return named >= 0 ? named + min : numberOf(text, min, max);
}

function numberOf(text: string, min: number, max: number): number | null {
  const value = /^\d{1,2}$/.test(text) ? Number(text) : -1;
  return value >= min && value <= max ? value : null;
}

function numbersOf(text: string, min: number, max: number): number[] | null {
  const values = text.split(",").map((part) => numberOf(part, min, max));
  return values.includes(null) ? null : values.filter((value) => value !== null).sort((a, b) => a - b);
}

const stepOf = (text: string): number | null => Number(/^\*\/(\d{1,2})$/.exec(text)?.[1] ?? 0) || null;
const pad = (value: number): string => String(value).padStart(2, "0");
