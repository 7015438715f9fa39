import assert from "node:assert/strict";
import { describeCron } from "../../../routes/console/components/cron_description.ts";

const CASES: [string, string | null, string | null][] = [
  ["* * * * *", "every minute", "a cada minuto"],
  ["*/15 * * * *", "every 15 minutes", "a cada 15 minutos"],
  ["*/7 * * * *", null, null],
  ["0 * * * *", "every hour, on the hour", "a cada hora certa"],
  ["20 * * * *", "every hour, 20 min past", "a cada hora, aos 20 minutos"],
  ["5 */6 * * *", "every 6 hours, 5 min past", "a cada 6 horas, aos 5 minutos"],
  ["30 8 * * *", "every day at 08:30", "todos os dias às 08:30"],
  ["0 8,20 * * *", "every day at 08:00 and 20:00", "todos os dias às 08:00 e 20:00"],
  ["0 9 * * 1-5", "on weekdays at 09:00", "nos dias úteis às 09:00"],
  ["0 9 * * MON-FRI", "on weekdays at 09:00", "nos dias úteis às 09:00"],
  ["0 9 * * 6,7", "at weekends at 09:00", "aos fins de semana às 09:00"],
  ["0 9 * * 0,6", "at weekends at 09:00", "aos fins de semana às 09:00"],
  ["0 9 * * 1,4", "every Monday and Thursday at 09:00", null],
  ["0 9 * * 0-7", "every day at 09:00", "todos os dias às 09:00"],
  ["0 6 1,15 * *", "on day 1 and 15 of every month at 06:00", "no dia 1 e 15 de cada mês às 06:00"],
  ["0 22 L * *", "on the last day of every month at 22:00", "no último dia de cada mês às 22:00"],
  ["0 0 25 12 *", "every year on 25 December at 00:00", "todos os anos em 25 de dezembro às 00:00"],
  ["0 0 25 DEC *", "every year on 25 December at 00:00", "todos os anos em 25 de dezembro às 00:00"],
  ["0 9 1 * 1", null, null],
  [
    "0 9 * * 1#2",
    "on the second Monday of every month at 09:00",
    "na segunda segunda-feira de cada mês às 09:00",
  ],
  ["0 9 * * 5#L", "on the last Friday of every month at 09:00", "na última sexta-feira de cada mês às 09:00"],
  ["0 9 * * 6L", "on the last Saturday of every month at 09:00", "no último sábado de cada mês às 09:00"],
  [
    "0 9 LW * *",
    "on the last working day of every month at 09:00",
    "no último dia útil de cada mês às 09:00",
  ],
  [
    "0 9 1W * *",
    "on the first working day of every month at 09:00",
    "no primeiro dia útil de cada mês às 09:00",
  ],
  ["0 9 15W * *", null, null],
  ["0-10 9 * * *", null, null],
  ["0 25 * * *", null, null],
  ["", null, null],
  ["0 9 * * * *", null, null],
];

Deno.test("common cron patterns are described as text; others return null", () => {
  for (const [expression, en, pt] of CASES) {
    assert.equal(describeCron("en", expression), en, expression);
    if (pt !== null || en === null) assert.equal(describeCron("pt", expression), pt, expression);
  }
});
