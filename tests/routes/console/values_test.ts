import assert from "node:assert/strict";
import { instantOf } from "../../../routes/console/components/date_inputs.ts";
import { bytes, duration, timeOfDay } from "../../../routes/console/components/values.tsx";

const v = { locale: "en", timeZone: "America/Santiago" } as const;

Deno.test("a value just below the next unit is shown in that unit", () => {
  const durations = [999.94, 999.96, 59_940, 59_960, 119_600, 3_599_600].map((ms) => duration(v, ms));
  assert.deepEqual(durations, ["999.9 ms", "1 s", "59.9 s", "1 min 0 s", "2 min 0 s", "1 h 0 min"]);
  const sizes = [1_023, 1_024 ** 2 - 1, 1_024 ** 2].map((size) => bytes(v, size));
  assert.deepEqual(sizes, ["1,023 B", "1 MiB", "1 MiB"]);
});

Deno.test("a day ends when the next one starts, also if its last hour is repeated", () => {
  assert.equal(instantOf(v, "2026-04-04"), "2026-04-04T03:00:00Z");
  assert.equal(instantOf(v, "2026-04-04", true), "2026-04-05T03:59:59.999Z");
  assert.equal(timeOfDay(v, "2026-04-04T15:00:01.5Z"), "12:00:01.500");
});
