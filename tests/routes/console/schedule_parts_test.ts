import assert from "node:assert/strict";
import { scheduleMistakes } from "../../../domain/jobs/cron.ts";
import {
  cronOf,
  HOUR_STEPS,
  MINUTE_STEPS,
  MONTH_DAYS,
  partsOf,
  POSITIONS,
  REPEATS,
  type ScheduleParts,
  WEEKDAYS,
} from "../../../routes/console/components/schedule_parts.ts";

/** The inputs as the browser sends them. */
function sent({ weekdays, ...others }: ScheduleParts, cronExpression = ""): URLSearchParams {
  const form = new URLSearchParams({ ...others, cronExpression });
  for (const day of weekdays) form.append("weekdays", day);
  return form;
}

const base = partsOf("0 8 * * *");

function* everyChoice(): Generator<ScheduleParts> {
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
    const again = partsOf(said.cron);
    assert.equal(again.repeats, parts.repeats, said.cron);
    assert.deepEqual(cronOf(sent(again)), said);
    seen.add(parts.repeats);
  }
  assert.equal(seen.size, REPEATS.length - 1, "all but the cron expression itself");
});

Deno.test("expressions that the choices cannot say stay cron expressions, unchanged", () => {
  for (
    const cron of [
      "*/7 * * * *",
      "0 */5 * * *",
      "0,30 8 * * *",
      "0 8 1,15 * *",
      "0 8 1 6 *",
      "0 8 1 * 1",
      "0 8 * * 1#5",
      "0 8 15W * *",
      "* 8 * * *",
      "0 8 * * 5-1",
      "nonsense",
      "",
    ]
  ) {
    const parts = partsOf(cron);
    assert.equal(parts.repeats, "cron", cron);
    assert.deepEqual(cronOf(sent(parts, cron)), { cron });
  }
  assert.deepEqual(partsOf("0 9 * * MON-FRI").weekdays, ["1", "2", "3", "4", "5"]);
});

Deno.test("a missing or wrong input is named", () => {
  assert.deepEqual(cronOf(sent({ ...base, repeats: "weekly", weekdays: [] })), { missing: "weekdays" });
  assert.deepEqual(cronOf(sent({ ...base, repeats: "daily", at: "25:00" })), { missing: "at" });
  assert.deepEqual(cronOf(sent({ ...base, repeats: "hours", atMinute: "60" })), { missing: "atMinute" });
});
