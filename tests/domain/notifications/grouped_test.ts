import assert from "node:assert/strict";
import { Grouped } from "../../../domain/notifications/grouped.ts";
import { jsonRows } from "../../../domain/notifications/json_rows.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** Divides a hundred by each of its items in one statement, which a single nought spoils for all. */
function dividing(o: { atOnce: number; largest: number; heaviest?: number; weigh?: (n: number) => number }) {
  const groups: number[][] = [];
  const grouped = new Grouped(async (divisors: number[]) => {
    groups.push(divisors);
    const [row] = await sql<{ results: number[] }[]>`
      select array_agg(100 / n order by position) as results
      from unnest(${divisors}::int[]) with ordinality as given (n, position)`;
    return row?.results ?? [];
  }, o);
  return { grouped, groups };
}

Deno.test("who comes while a write is under way shares the next one, and each gets its own answer", async () => {
  const { grouped, groups } = dividing({ atOnce: 1, largest: 3 });
  const results = await Promise.all([1, 2, 4, 5, 10, 20].map((n) => grouped.add(n)));
  assert.deepEqual(results, [100, 50, 25, 20, 10, 5]);
  assert.deepEqual(groups, [[1], [2, 4, 5], [10, 20]]);
});

Deno.test("heavy items go in several writes, and one too heavy for any goes alone", async () => {
  const { grouped, groups } = dividing({ atOnce: 1, largest: 9, heaviest: 10, weigh: (n) => n });
  await Promise.all([1, 4, 5, 20, 2].map((n) => grouped.add(n)));
  assert.deepEqual(groups, [[1], [4, 5], [20], [2]]);
});

Deno.test("one item that spoils the statement fails alone", async () => {
  const { grouped } = dividing({ atOnce: 1, largest: 100 });
  const results = await Promise.allSettled([1, 2, 0, 4].map((n) => grouped.add(n)));
  assert.deepEqual(results.map((result) => result.status === "fulfilled" ? result.value : "failed"), [
    ...[100, 50, "failed", 25],
  ]);
  assert.match(String(results[2]?.status === "rejected" && results[2].reason), /division by zero/);
});

Deno.test("after a lost connection nothing is written a second time", async () => {
  let writes = 0;
  const grouped = new Grouped<number, number>(() => {
    writes++;
    return Promise.reject(Object.assign(new Error("write CONNECTION_CLOSED"), { code: "CONNECTION_CLOSED" }));
  }, { atOnce: 1, largest: 100 });
  const results = await Promise.allSettled([1, 2, 3].map((n) => grouped.add(n)));
  assert.deepEqual(results.map((result) => result.status), ["rejected", "rejected", "rejected"]);
  assert.equal(writes, 2, "the first alone, the two that waited for it together");
});

Deno.test("rows lose what a text of Postgres cannot hold, and nothing else", async () => {
  const rows = [{ text: "a\0b\ud800c 😀 \\u0000 \\ud800" }, { text: "plain" }];
  const [row] = await sql<{ texts: string[] }[]>`
    select array_agg(text) as texts from json_to_recordset(${jsonRows(rows)}::text::json) as r (text text)`;
  assert.deepEqual(row?.texts, ["ab\ufffdc 😀 \\u0000 \\ud800", "plain"]);
});

Deno.test("of messages sent at the same moment those that may not go are refused, each for its own reason", async () => {
  const ann = await t.actor({ permissions: ["send:notifications"] });
  const bob = await t.actor({ permissions: ["send:notifications"] });
  const recipients = [{ address: "ann@x.test" }];
  const bodies = [
    { channel: "Email", recipients, subject: "S" },
    { channel: "Email", recipients, templateSlug: "nowhere" },
    { channel: "Email", recipients, templateSlug: "report-ready" },
    { channel: "Email", recipients, templateSlug: "report-ready", templateData: { reportName: "R" } },
    { channel: "Email", recipients, templateSlug: "report-ready", locale: "not a locale!" },
    { channel: "Email", recipients: [{ address: "nobody" }], subject: "S" },
  ];
  const sent = await Promise.all(
    Array.from({ length: 10 }, () => [ann, bob]).flat().flatMap((actor) =>
      bodies.map((body) => actor.post("/api/v1/notifications/send", body))
    ),
  );
  const answers = sent.map(({ status, body }) => status === 200 ? body.status : body.code);
  const expected = [
    ...["Queued", "NOTIFICATION_TEMPLATE_NOT_FOUND", "NOTIFICATION_TEMPLATE_VARIABLES_MISSING", "Queued"],
    ...["VALIDATION_ERROR", "VALIDATION_ERROR"],
  ];
  assert.deepEqual(answers, Array.from({ length: 20 }, () => expected).flat());
  const ids = sent.flatMap(({ status, body }) => status === 200 ? [body.notificationId] : []);
  const stored = await sql<{ tenantId: string; jobTenantId: string; status: string }[]>`
    select n.tenant_id, j.tenant_id as job_tenant_id, j.status from notifications n join jobs j on j.id = n.job_id
    where n.id = any(${ids}::uuid[]) and j.serialized_args::json ->> 'notificationId' = n.id::text`;
  assert.equal(stored.length, 40, "each message has its own job");
  assert.ok(stored.every((row) => row.tenantId === row.jobTenantId && row.status === "Enqueued"));
  const [all] = await sql<{ count: number }[]>`select count(*) from notifications`;
  assert.equal(all?.count, 40, "nothing was stored of those refused");
});
