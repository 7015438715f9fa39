/** How often a schedule of the editor repeats. `cron`: what the other choices cannot say. */
export const REPEATS = ["minutes", "hours", "daily", "weekly", "monthly", "weekday", "cron"] as const;
export type Repeats = typeof REPEATS[number];

/** Steps that divide an hour or a day: a cron expression cannot say others. */
export const MINUTE_STEPS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];
export const HOUR_STEPS = [1, 2, 3, 4, 6, 8, 12];
/** Days of the month: a date, the last day (L), and the first and last working day (1W, LW). */
export const MONTH_DAYS = ["L", "LW", "1W", ...Array.from({ length: 31 }, (_, n) => String(n + 1))];
/** The number of a weekday within its month; L is the last. */
export const POSITIONS = ["1", "2", "3", "4", "L"];
/** Days of the week from Monday on, as in cron. */
export const WEEKDAYS = ["1", "2", "3", "4", "5", "6", "0"];

/** The inputs of the schedule editor. */
export interface ScheduleInputs {
  repeats: Repeats;
  everyMinutes: string;
  everyHours: string;
  atMinute: string;
  /** `08:00` */
  at: string;
  weekdays: string[];
  monthDay: string;
  position: string;
  weekday: string;
}

const DEFAULTS: ScheduleInputs = {
  repeats: "daily",
  everyMinutes: "15",
  everyHours: "1",
  atMinute: "0",
  at: "08:00",
  weekdays: ["1"],
  monthDay: "1",
  position: "1",
  weekday: "1",
};

/** The source of the inputs: a form, or the query of an address. */
type Given = Pick<FormData, "get" | "getAll"> | URLSearchParams;

/**
 * The cron expression of the inputs. Without the input `repeats`, it is that of `cronExpression`.
 * @returns the name of the input that is wrong or missing instead
 */
export function cronOf(given: Given): { cron: string } | { missing: "at" | "atMinute" | "weekdays" } {
  const value = (name: string): string => String(given.get(name) ?? "").trim();
  const repeats = REPEATS.find((known) => known === value("repeats")) ?? "cron";
  if (repeats === "cron") return { cron: value("cronExpression") };
  if (repeats === "minutes") {
    const step = value("everyMinutes");
    return { cron: step === "1" ? "* * * * *" : `*/${step} * * * *` };
  }
  if (repeats === "hours") {
    const [step, minute] = [value("everyHours"), value("atMinute")];
    if (!/^\d{1,2}$/.test(minute) || Number(minute) > 59) return { missing: "atMinute" };
    return { cron: `${Number(minute)} ${step === "1" ? "*" : `*/${step}`} * * *` };
  }
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)/.exec(value("at")) ?? [];
  if (hour === undefined || minute === undefined) return { missing: "at" };
  const time = `${Number(minute)} ${Number(hour)}`;
  if (repeats === "daily") return { cron: `${time} * * *` };
  if (repeats === "monthly") return { cron: `${time} ${value("monthDay")} * *` };
  if (repeats === "weekday") return { cron: `${time} * * ${value("weekday")}#${value("position")}` };
  const days = WEEKDAYS.filter((day) => given.getAll("weekdays").includes(day));
  return days.length === 0 ? { missing: "weekdays" } : { cron: `${time} * * ${days.sort().join(",")}` };
}

/** The inputs for a cron expression. */
export function inputsOf(cron: string): ScheduleInputs {
  const parts = recognized(cron.trim().toUpperCase());
  return { ...DEFAULTS, ...parts ?? { repeats: "cron" } };
}

function recognized(cron: string): Partial<ScheduleInputs> | null {
  const [minute = "", hour = "", day = "", month = "", weekday = "", more] = cron.split(/\s+/);
  if (more !== undefined || month !== "*") return null;
  if (cron === "* * * * *") return { repeats: "minutes", everyMinutes: "1" };
  const everyDay = day === "*" && weekday === "*";
  const minuteStep = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (minuteStep) {
    const fits = hour === "*" && everyDay && MINUTE_STEPS.includes(Number(minuteStep));
    return fits ? { repeats: "minutes", everyMinutes: minuteStep } : null;
  }
  if (!/^\d{1,2}$/.test(minute)) return null;
  const hourStep = hour === "*" ? "1" : /^\*\/(\d+)$/.exec(hour)?.[1];
  if (hourStep) {
    const fits = everyDay && HOUR_STEPS.includes(Number(hourStep));
    return fits ? { repeats: "hours", everyHours: hourStep, atMinute: String(Number(minute)) } : null;
  }
  if (!/^\d{1,2}$/.test(hour)) return null;
  const at = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (everyDay) return { repeats: "daily", at };
  if (weekday === "*") return MONTH_DAYS.includes(day) ? { repeats: "monthly", at, monthDay: day } : null;
  if (day !== "*") return null;
  const [, nthDay, position] = /^([0-6])#?([1-4L])$/.exec(weekday) ?? [];
  const isNth = weekday.includes("#") || weekday.endsWith("L");
  if (isNth && nthDay && position) return { repeats: "weekday", at, weekday: nthDay, position };
  const days = daysOf(weekday);
  return days && { repeats: "weekly", at, weekdays: days };
}

const NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/** Days of a list with ranges and names; null if it cannot be read. */
function daysOf(weekday: string): string[] | null {
  const numberOf = (text: string): number => {
    const named = NAMES.indexOf(text);
    return named >= 0 ? named : /^[0-7]$/.test(text) ? Number(text) : NaN;
  };
  const days = new Set<string>();
  for (const part of weekday.split(",")) {
    const [from = "", to = from] = part.split("-");
    const [first, last] = [numberOf(from), numberOf(to)];
    if (!(first <= last)) return null;
    for (let day = first; day <= last; day++) days.add(String(day % 7));
  }
  return [...days];
}
