import type { Child } from "hono/jsx";
import { nextRuns, scheduleMistakes } from "../../../domain/jobs/cron.ts";
import { formatter } from "../../../domain/shared/formatters.ts";
import { refusedInput } from "../shared/api.ts";
import { sectionTexts } from "../shared/labels.ts";
import { FORMAT_TAGS, type Locale } from "../shared/languages.ts";
import { field, type Visit } from "../shared/page.ts";
import { SHOW_AGAIN } from "../shared/actions.ts";
import { translateValidation } from "../shared/translations.ts";
import { describeCron, weekdayName, weekdaysOf } from "./cron_description.ts";
import type { Fields } from "./fields.tsx";
import type { Choice } from "./forms.tsx";
import { Time } from "./values.tsx";

const ZONES = Intl.supportedValuesOf("timeZone");
const SHOWN_RUNS = 5;

/** The values of the editor's inputs for a schedule. A new one gets the time zone of the viewer's browser. */
export const scheduleValues = (v: Visit, o: { cronExpression?: string; timeZoneId?: string } = {}) => {
  const cronExpression = o.cronExpression ?? "0 8 * * *";
  return { ...inputsOf(cronExpression), cronExpression, timeZoneId: o.timeZoneId ?? v.timeZone };
};

/** The text that asks for an input, by the input. */
const MISSING_TEXTS = { at: "enterTime", atMinute: "enterMinute", weekdays: "chooseDays" } as const;

/** The values of the editor's inputs, for the API. @throws Refusal if an input is missing */
export function sentSchedule(v: Visit, form: FormData): { cronExpression: string; timeZoneId: string } {
  const t = scheduleEditorTexts[v.locale];
  const said = cronOf(form);
  if ("missing" in said) throw refusedInput(said.missing, t[MISSING_TEXTS[said.missing]]);
  return { cronExpression: said.cron, timeZoneId: field(form, "timeZoneId") };
}

/**
 * The inputs of a schedule, with its next runs. A change reloads the runs from this page; without JavaScript, a button
 * does.
 */
export function ScheduleEditor({ f, legend }: { f: Fields; legend: string }) {
  const { v } = f;
  const t = scheduleEditorTexts[v.locale];
  const weekdays = WEEKDAYS.map((value) => ({ value, label: weekdayName(v.locale, Number(value)) }));
  const dayErrors = f.errorsOf("weekdays");
  return (
    <fieldset
      class="schedule"
      hx-get={v.address}
      hx-include="closest fieldset"
      hx-target="#next-runs"
      hx-select="#next-runs"
      hx-swap="outerHTML"
      hx-trigger="input delay:300ms, change delay:300ms"
    >
      <legend>{legend}</legend>
      <div class="pair">
        {f.select("repeats", t.repeats, REPEATS.map((value) => ({ value, label: t[value] })))}
        <When is="minutes">
          {f.select("everyMinutes", t.everyMinutes, steps(MINUTE_STEPS, t.minutesCount))}
        </When>
        <When is="hours">
          {f.select("everyHours", t.everyMinutes, steps(HOUR_STEPS, t.hoursCount))}
        </When>
        <When is="hours">{f.text("atMinute", t.atMinute, { type: "number", min: 0, max: 59 })}</When>
        <When is="monthly">
          {f.select("monthDay", t.monthDay, monthDays(v.locale), { hint: t.monthDayHint })}
        </When>
        <When is="weekday">{f.select("position", t.position, positions(v.locale))}</When>
        <When is="weekday">{f.select("weekday", t.onWeekday, weekdays)}</When>
        <When is="cron">
          {f.text("cronExpression", t.cron, { hint: t.cronHint, required: false, maxlength: 200 })}
        </When>
        <When is="daily weekly monthly weekday">{f.text("at", t.at, { type: "time" })}</When>
      </div>
      <When is="weekly">
        <fieldset class={`choices${dayErrors ? " has-error" : ""}`}>
          <legend>{t.weekdays}</legend>
          {f.choices("weekdays", weekdays)}
          {dayErrors && <div class="error">{dayErrors.join(" ")}</div>}
        </fieldset>
      </When>
      {f.text("timeZoneId", t.zone, { suggestions: ZONES, required: true, hint: t.zoneHint })}
      <NextRuns f={f} />
    </fieldset>
  );
}

/** Inputs that only some choices of `repeats` use. */
const When = ({ is, children }: { is: string; children?: Child }) => <div data-repeats={is}>{children}</div>;

const steps = (values: number[], label: (count: number) => string): Choice[] =>
  values.map((value) => ({ value: String(value), label: label(value) }));

function monthDays(locale: Locale): Choice[] {
  const t = scheduleEditorTexts[locale];
  const names: Record<string, string> = { L: t.lastDay, LW: t.lastWorkingDay, "1W": t.firstWorkingDay };
  return MONTH_DAYS.map((value) => ({ value, label: names[value] ?? value }));
}

function positions(locale: Locale): Choice[] {
  const t = scheduleEditorTexts[locale];
  const names = [t.first, t.second, t.third, t.fourth, t.last];
  return POSITIONS.map((value, n) => ({ value, label: names[n] ?? value }));
}

/** The schedule in words and its next runs in the viewer's time zone; what is wrong with it instead. */
function NextRuns({ f }: { f: Fields }) {
  const { v } = f;
  const t = scheduleEditorTexts[v.locale];
  const given = v.query.has("repeats") ? v.query : f.sent?.form;
  const said = given ? cronOf(given) : { cron: f.value("cronExpression") };
  const zone = v.query.get("timeZoneId") ?? f.value("timeZoneId");
  return (
    <div id="next-runs" class="next-runs" aria-live="polite">
      <strong>{t.nextRuns}</strong>
      {"missing" in said
        ? <p class="muted">{t[MISSING_TEXTS[said.missing]]}</p>
        : <Runs v={v} cron={said.cron} zone={zone} />}
      <button type="submit" class="button small no-script" name={SHOW_AGAIN} value="true" formnovalidate>
        {t.showRuns}
      </button>
    </div>
  );
}

function Runs({ v, cron, zone }: { v: Visit; cron: string; zone: string }) {
  const mistakes = Object.values(scheduleMistakes(cron, zone)).flat();
  if (mistakes.length > 0) {
    const texts = mistakes.map((mistake) => translateValidation(v.locale, mistake));
    return <p class="muted break">{texts.join(" ")}</p>;
  }
  const words = describeCron(v.locale, cron);
  return (
    <>
      <p>
        {words && `${words.charAt(0).toUpperCase()}${words.slice(1)} `}
        <code>{cron}</code> <span class="muted">{zone}</span>
      </p>
      <RunTimes v={v} cron={cron} zone={zone} />
    </>
  );
}

/** The next runs of a valid schedule in words, in the viewer's time zone, and in the schedule's if it differs. */
export function RunTimes({ v, cron, zone }: { v: Visit; cron: string; zone: string }) {
  const t = scheduleEditorTexts[v.locale];
  const runs = nextRuns(cron, zone, v.now, SHOWN_RUNS);
  if (runs.length === 0) return <p class="muted">{t.neverDue}</p>;
  return (
    <ol>
      {runs.map((run) => (
        <li>
          {inWords(v.locale, v.timeZone, run)}{" "}
          <span class="muted">
            {zone !== v.timeZone && `${t.inZone(inWords(v.locale, zone, run, true), zone)}, `}
            <Time v={v} at={run.toISOString()} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/** "Friday, 30 January 2026 at 08:00" */
const inWords = (locale: Locale, timeZone: string, run: Date, isShort = false): string =>
  formatter(Intl.DateTimeFormat, FORMAT_TAGS[locale], {
    ...isShort ? { weekday: "short" } : { dateStyle: "full" },
    ...isShort ? { hour: "2-digit", minute: "2-digit" } : { timeStyle: "short" },
    timeZone,
  }).format(run);

const scheduleEditorTexts = sectionTexts({
  repeats: ["Repeats", "Repete-se"],
  minutes: ["Every few minutes", "A cada poucos minutos"],
  hours: ["Every few hours", "A cada poucas horas"],
  daily: ["Every day", "Todos os dias"],
  weekly: ["Every week", "Toda semana"],
  monthly: ["Every month, on a date", "Todo mês, em uma data"],
  weekday: ["Every month, on a weekday", "Todo mês, em um dia da semana"],
  everyMinutes: ["Every", "A cada"],
  minutesCount: (count: number) => [
    count === 1 ? "minute" : `${count} minutes`,
    count === 1 ? "minuto" : `${count} minutos`,
  ],
  hoursCount: (count: number) => [
    count === 1 ? "hour" : `${count} hours`,
    count === 1 ? "hora" : `${count} horas`,
  ],
  atMinute: ["Minutes past the hour", "Minutos depois da hora"],
  at: ["At", "Às"],
  weekdays: ["Days of the week", "Dias da semana"],
  monthDay: ["Day of the month", "Dia do mês"],
  lastDay: ["Last day", "Último dia"],
  lastWorkingDay: ["Last weekday (Monday to Friday)", "Último dia útil (segunda a sexta)"],
  firstWorkingDay: ["First weekday (Monday to Friday)", "Primeiro dia útil (segunda a sexta)"],
  monthDayHint: ["Months without this day are left out.", "Meses sem esse dia são pulados."],
  position: ["Which", "Qual"],
  first: ["First", "Primeiro"],
  second: ["Second", "Segundo"],
  third: ["Third", "Terceiro"],
  fourth: ["Fourth", "Quarto"],
  last: ["Last", "Último"],
  onWeekday: ["Day of the week", "Dia da semana"],
  cronHint: [
    "Minute, hour, day of month, month, day of week. L is the last day, LW the last weekday, 1#2 the second Monday.",
    "Minuto, hora, dia do mês, mês, dia da semana. L é o último dia, LW o último dia útil, 1#2 a segunda segunda-feira.",
  ],
  zoneHint: [
    "Times are in this time zone. Yours is preset.",
    "Os horários são deste fuso. O seu já vem preenchido.",
  ],
  showRuns: ["Show next runs", "Mostrar próximas execuções"],
  neverDue: ["It never runs. Check the cron expression.", "Nunca é executado. Verifique a expressão cron."],
  chooseDays: ["Choose at least one day.", "Escolha pelo menos um dia."],
  enterTime: ["Enter a time, such as 08:00.", "Informe um horário, como 08:00."],
  enterMinute: ["Enter a number from 0 to 59.", "Informe um número de 0 a 59."],
  inZone: (time: string, zone: string) => [`${time} in ${zone}`, `${time} em ${zone}`],
});

/** How often a schedule of the editor repeats. `cron`: what the other choices cannot say. */
export const REPEATS = ["minutes", "hours", "daily", "weekly", "monthly", "weekday", "cron"] as const;

/** Steps that divide an hour or a day: a cron expression cannot say others. */
export const MINUTE_STEPS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];
export const HOUR_STEPS = [1, 2, 3, 4, 6, 8, 12];
/** Days of the month: a date, the last day (L), and the first and last working day (1W, LW). */
export const MONTH_DAYS = ["L", "LW", "1W", ...Array.from({ length: 31 }, (_, n) => String(n + 1))];
/** The number of a weekday within its month; L is the last. */
export const POSITIONS = ["1", "2", "3", "4", "L"];
/** Days of the week from Monday on, as in cron. */
export const WEEKDAYS = ["1", "2", "3", "4", "5", "6", "0"];

const DEFAULTS = {
  repeats: "daily" as typeof REPEATS[number],
  everyMinutes: "15",
  everyHours: "1",
  atMinute: "0",
  at: "08:00",
  weekdays: ["1"],
  monthDay: "1",
  position: "1",
  weekday: "1",
};
/** The values of the inputs of the schedule editor. */
export type ScheduleInputs = typeof DEFAULTS;

/** The source of the inputs: a form, or the query of an address. */
type Given = Pick<FormData, "get" | "getAll"> | URLSearchParams;

/**
 * The cron expression of the inputs. Without the input `repeats`, it is that of `cronExpression`.
 * @returns the name of the input that is wrong or missing instead
 */
export function cronOf(given: Given): { cron: string } | { missing: keyof typeof MISSING_TEXTS } {
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
  const days = weekdaysOf(weekday.toLowerCase());
  return days && { repeats: "weekly", at, weekdays: days.map(String) };
}
