// Parts of forms and lists, without a service.
import assert from "node:assert/strict";
import { instantOf } from "../../../routes/console/components/date_inputs.ts";
import { bytes, duration, timeOfDay } from "../../../routes/console/components/values.tsx";
import { z } from "zod";
import { scheduleMistakes } from "../../../domain/jobs/cron.ts";
import { describeCron } from "../../../routes/console/components/cron_description.ts";
import {
  cronOf,
  HOUR_STEPS,
  inputsOf,
  MINUTE_STEPS,
  MONTH_DAYS,
  POSITIONS,
  REPEATS,
  type ScheduleInputs,
  WEEKDAYS,
} from "../../../routes/console/components/schedule_editor.tsx";
import { declaredType } from "../../../routes/console/files/upload.tsx";
import {
  argErrors,
  type ArgsSchema,
  fieldsOf,
  readArgs,
  typedOf,
} from "../../../routes/console/jobs/args_form.tsx";
import { keyArgs } from "../../../routes/console/jobs/list.tsx";

const said = { notJson: "not JSON", notNumber: "not a number" };
const schema = z.object({
  name: z.string().max(40),
  note: z.string().nullish(),
  count: z.int().min(1).max(9).default(2),
  loud: z.boolean().optional(),
  mode: z.enum(["fast", "slow"]).default("fast"),
  tags: z.array(z.string()).optional(),
});
const fields = fieldsOf(z.toJSONSchema(schema, { io: "input" }) as ArgsSchema);

function form(values: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(name, value);
  return data;
}

Deno.test("typed values become arguments; empty fields are left out", () => {
  const typed = { "arg.name": " Ana ", "arg.count": "3", "arg.loud": "false", "arg.tags": '["a"]' };
  const { serializedArgs, errors } = readArgs(fields, form({ ...typed, "arg.mode": "" }), said);
  assert.deepEqual(errors, {});
  assert.deepEqual(JSON.parse(serializedArgs), { name: " Ana ", count: 3, loud: false, tags: ["a"] });
  const again = typedOf(fields, serializedArgs);
  assert.equal(again["arg.count"], "3");
  assert.equal(again["arg.loud"], "false");
  assert.deepEqual(JSON.parse(again["arg.tags"] ?? ""), ["a"]);
  const exact = '{"name":"","count":9007199254740993,"tags":[1e400]}';
  const shown = typedOf(fields, exact);
  assert.equal(shown["arg.count"], "9007199254740993");
  assert.equal(readArgs(fields, form(shown), said).serializedArgs, exact);
  assert.equal(keyArgs(exact, undefined), "count: 9007199254740993");
});

Deno.test("errors appear at their fields, both local ones and those of the API", () => {
  const { errors } = readArgs(fields, form({ "arg.count": "three", "arg.tags": "[" }), said);
  assert.deepEqual(errors, { "arg.count": ["not a number"], "arg.tags": ["not JSON"] });
  assert.deepEqual(readArgs(null, form({ args: "{" }), said).errors, { args: ["not JSON"] });
  assert.equal(readArgs(null, form({}), said).serializedArgs, "{}");
  const given = ["name: too long: 41", "tags.0: expected a string", "Unrecognized key"];
  const named = { "arg.name": ["too long: 41"], "arg.tags": ["expected a string"] };
  assert.deepEqual(argErrors(fields, given), { ...named, args: ["Unrecognized key"] });
});

/** The inputs as the browser sends them. */
function sent({ weekdays, ...others }: ScheduleInputs, cronExpression = ""): URLSearchParams {
  const form = new URLSearchParams({ ...others, cronExpression });
  for (const day of weekdays) form.append("weekdays", day);
  return form;
}

const base = inputsOf("0 8 * * *");

function* everyChoice(): Generator<ScheduleInputs> {
  for (const step of MINUTE_STEPS) yield { ...base, repeats: "minutes", everyMinutes: String(step) };
  for (const step of HOUR_STEPS) {
    yield { ...base, repeats: "hours", everyHours: String(step), atMinute: "59" };
  }
  for (const at of ["00:00", "08:05", "23:59"]) yield { ...base, repeats: "daily", at };
  for (let chosen = 1; chosen < 128; chosen++) {
    yield { ...base, repeats: "weekly", weekdays: WEEKDAYS.filter((_, n) => chosen & 1 << n) };
  }
  for (const monthDay of MONTH_DAYS) yield { ...base, repeats: "monthly", monthDay };
  for (const position of POSITIONS) {
    for (const weekday of WEEKDAYS) yield { ...base, repeats: "weekday", position, weekday };
  }
}

Deno.test("every choice of the editor is a valid schedule, and the editor shows it as that choice again", () => {
  const seen = new Set<string>();
  for (const parts of everyChoice()) {
    const said = cronOf(sent(parts));
    assert.ok("cron" in said, JSON.stringify(parts));
    assert.deepEqual(scheduleMistakes(said.cron, "Europe/Lisbon"), {}, said.cron);
    const again = inputsOf(said.cron);
    assert.equal(again.repeats, parts.repeats, said.cron);
    assert.deepEqual(cronOf(sent(again)), said);
    seen.add(parts.repeats);
  }
  assert.equal(seen.size, REPEATS.length - 1, "all but the cron expression itself");
});

Deno.test("expressions that the choices cannot say stay cron expressions, unchanged", () => {
  const others = [
    ...["*/7 * * * *", "0 */5 * * *", "0,30 8 * * *", "0 8 1,15 * *", "0 8 1 6 *", "0 8 1 * 1"],
    ...["0 8 * * 1#5", "0 8 15W * *", "* 8 * * *", "0 8 * * 5-1", "nonsense", ""],
  ];
  for (const cron of others) {
    const parts = inputsOf(cron);
    assert.equal(parts.repeats, "cron", cron);
    assert.deepEqual(cronOf(sent(parts, cron)), { cron });
  }
  assert.deepEqual(inputsOf("0 9 * * MON-FRI").weekdays, ["1", "2", "3", "4", "5"]);
});

const CASES: [string, string | null, string | null][] = [
  ["* * * * *", "every minute", "a cada minuto"],
  ["*/15 * * * *", "every 15 minutes", "a cada 15 minutos"],
  ["0 * * * *", "every hour, on the hour", "a cada hora certa"],
  ["20 * * * *", "every hour, 20 min past", "a cada hora, aos 20 minutos"],
  ["5 */6 * * *", "every 6 hours, 5 min past", "a cada 6 horas, aos 5 minutos"],
  ["30 8 * * *", "every day at 08:30", "todos os dias às 08:30"],
  ["0 8,20 * * *", "every day at 08:00 and 20:00", "todos os dias às 08:00 e 20:00"],
  ["0 9 * * 1-5", "on weekdays at 09:00", "nos dias úteis às 09:00"],
  ["0 9 * * 6,7", "at weekends at 09:00", "aos fins de semana às 09:00"],
  ["0 9 * * 1,4", "every Monday and Thursday at 09:00", null],
  ["0 6 1,15 * *", "on day 1 and 15 of every month at 06:00", "no dia 1 e 15 de cada mês às 06:00"],
  ["0 22 L * *", "on the last day of every month at 22:00", "no último dia de cada mês às 22:00"],
  ["0 0 25 12 *", "every year on 25 December at 00:00", "todos os anos em 25 de dezembro às 00:00"],
  ["0 9 1 * 1", null, null],
  ["0 9 * * 1#2", "on the second Monday of every month at 09:00", null],
  ["0 9 * * 5#L", "on the last Friday of every month at 09:00", "na última sexta-feira de cada mês às 09:00"],
  ["0 9 * * 6L", "on the last Saturday of every month at 09:00", "no último sábado de cada mês às 09:00"],
  ["0 9 LW * *", "on the last working day of every month at 09:00", null],
  ["0 9 1W * *", "on the first working day of every month at 09:00", null],
  ["0 9 15W * *", null, null],
  ["", null, null],
];

Deno.test("common cron patterns are described as text; others return null", () => {
  for (const [expression, en, pt] of CASES) {
    assert.equal(describeCron("en", expression), en, expression);
    if (pt !== null || en === null) assert.equal(describeCron("pt", expression), pt, expression);
  }
});

Deno.test("an upload declares its type by the extension, and JSON as the plain text that profiles accept", () => {
  assert.equal(declaredType("people.CSV", "application/vnd.ms-excel"), "text/csv");
  assert.equal(declaredType("people.json", "application/json"), "text/plain");
  assert.equal(declaredType("people.constructor", ""), "application/octet-stream");
  assert.equal(declaredType("people.xyz", "image/png"), "image/png");
});

const viewer = { locale: "en", timeZone: "America/Santiago" } as const;

Deno.test("a value just below the next unit is shown in that unit", () => {
  const durations = [999.94, 999.96, 59_940, 59_960, 119_600, 3_599_600].map((ms) => duration(viewer, ms));
  assert.deepEqual(durations, ["999.9 ms", "1 s", "59.9 s", "1 min 0 s", "2 min 0 s", "1 h 0 min"]);
  const sizes = [1_023, 1_024 ** 2 - 1, 1_024 ** 2].map((size) => bytes(viewer, size));
  assert.deepEqual(sizes, ["1,023 B", "1 MiB", "1 MiB"]);
});

Deno.test("a local time becomes an instant, also around daylight-saving changes; a day ends when the next one starts", () => {
  assert.equal(instantOf({ timeZone: "Europe/Lisbon" }, "2026-03-29T01:30"), "2026-03-29T01:30:00Z");
  for (const none of ["", "x", "2026-13-01", "2026-07-01T25:00"]) {
    assert.equal(instantOf(viewer, none), undefined);
  }
  assert.equal(instantOf(viewer, "2026-04-04"), "2026-04-04T03:00:00Z");
  assert.equal(instantOf(viewer, "2026-04-04", true), "2026-04-05T03:59:59.999Z");
  assert.equal(timeOfDay(viewer, "2026-04-04T15:00:01.5Z"), "12:00:01.500");
});
