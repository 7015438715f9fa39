import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Accepted, Kind, Load } from "./load.ts";
import type { Call, System } from "./system.ts";

/** Table, status column, final statuses of success and the column with the request's key, by kind of work. */
const TABLES: Record<Kind, { table: string; state: string; good: string[]; key: string | null }> = {
  job: { table: "jobs", state: "status::text", good: ["Succeeded"], key: null },
  call: {
    table: "jobs",
    state: "status::text",
    good: ["Succeeded"],
    key: "serialized_args::jsonb ->> 'url'",
  },
  message: { table: "notifications", state: "status::text", good: ["Sent"], key: "subject" },
  mail: { table: "notifications", state: "status::text", good: ["Sent"], key: "subject" },
  file: { table: "files", state: "status::text", good: ["Available"], key: "file_name" },
  report: { table: "report_executions", state: "status::text", good: ["3", "5"], key: null },
};

const ENDS_WITHIN_MS = 120_000;

interface Verdict {
  /** Accepted, but not in the database. */
  lost: string[];
  /** In the database, but not completed in time. */
  stuck: string[];
  /** Created twice for one Idempotency-Key, or a job that two workers ran at once. */
  duplicated: string[];
  /** Mails that arrived twice: SMTP cannot prevent it when a connection breaks after the last byte. */
  duplicateMails: number;
  /** Milliseconds from the end of the load to the completion of the last accepted item. */
  drainedMs: number;
}

/**
 * Reads the database until everything accepted is complete. Nothing may be lost, stuck or created twice, and no correct
 * request refused.
 * @param o.callsSince the number of calls of jobs before the load
 * @param o.mayOverlap two attempts of a job may call at once
 */
export async function requireAccepted(
  system: System,
  sql: Sql,
  load: Pick<Load, "accepted" | "refused" | "givenUp">,
  o: { callsSince?: number; mayOverlap?: boolean } = {},
): Promise<Verdict> {
  const { accepted, refused, givenUp } = load;
  const since = performance.now();
  let open = await unfinished(sql, accepted);
  while (open.length > 0 && performance.now() - since < ENDS_WITHIN_MS) {
    await pause(250);
    open = await unfinished(sql, accepted);
  }
  const drainedMs = performance.now() - since;
  const mails = new Map<string, number>();
  for (const { to } of system.mailbox.received) {
    for (const address of to) mails.set(address, (mails.get(address) ?? 0) + 1);
  }
  const own = accepted.filter(({ kind }) => kind === "message" || kind === "mail");
  const absent = own.filter(({ key, isOutcomeUnknown }) =>
    !isOutcomeUnknown && !mails.has(`${key}@example.test`)
  );
  const verdict = {
    lost: [...open.filter(({ state }) => state === null).map(nameOf), ...absent.map(nameOf)],
    stuck: open.filter(({ state }) => state !== null).map(nameOf),
    duplicated: [
      ...await createdTwice(sql, accepted),
      ...(o.mayOverlap ? [] : overlapping(system.calls.slice(o.callsSince ?? 0))),
    ],
    duplicateMails: own.filter(({ key }) => (mails.get(`${key}@example.test`) ?? 0) > 1).length,
    drainedMs,
  };
  const { lost, stuck, duplicated } = verdict;
  assert.deepEqual(
    { lost, stuck, duplicated, refused, givenUp },
    { lost: [], stuck: [], duplicated: [], refused: [], givenUp: [] },
  );
  return verdict;
}

type Open = Accepted & { state: string | null };

async function unfinished(sql: Sql, accepted: Accepted[]): Promise<Open[]> {
  const open: Open[] = [];
  for (const [kind, { table, state, good }] of Object.entries(TABLES)) {
    const own = accepted.filter((each) => each.kind === kind);
    const rows = await sql.unsafe<{ id: string; state: string }[]>(
      `select id, ${state} as state from ${table} where id = any($1::uuid[])`,
      [own.map(({ id }) => id)] as unknown as string[],
    );
    const states = new Map(rows.map((row) => [row.id, row.state]));
    for (const each of own) {
      const found = states.get(each.id) ?? null;
      // after a crash the service does not send a direct mail again; it says that the outcome is unknown
      const isSettled = found !== null &&
        (good.includes(found) || each.isOutcomeUnknown && found === "Failed");
      if (!isSettled) open.push({ ...each, state: found });
    }
  }
  return open;
}

/** One Idempotency-Key creates one thing, however often its request was sent. */
async function createdTwice(sql: Sql, accepted: Accepted[]): Promise<string[]> {
  const twice: string[] = [];
  for (const [kind, { table, key }] of Object.entries(TABLES)) {
    if (key === null) continue;
    const rows = await sql.unsafe<{ key: string }[]>(
      `select ${key} as key from ${table} where ${key} is not null group by 1 having count(*) > 1`,
    );
    const own = accepted.filter((each) => each.kind === kind);
    for (const row of rows) {
      // a reservation may be repeated; only one of them is completed
      if (kind !== "file" && own.some((each) => row.key.includes(each.key))) twice.push(`${kind} ${row.key}`);
    }
  }
  for (const { kind, id } of accepted) {
    if (accepted.filter((other) => other.id === id).length > 1) {
      twice.push(`${kind} ${id} was returned for two keys`);
    }
  }
  return twice;
}

/** Jobs of which two attempts ran at the same moment. */
function overlapping(calls: Call[]): string[] {
  const found: string[] = [];
  for (const [jobId, own] of Map.groupBy(calls, (call) => call.jobId)) {
    for (const [n, call] of own.entries()) {
      const next = own[n + 1];
      if (next && (call.ended ?? Infinity) > next.began) {
        found.push(`job ${jobId}: attempts ${call.attempt} and ${next.attempt} at once`);
      }
    }
  }
  return found;
}

function nameOf({ kind, id, ...rest }: Accepted & { state?: string | null }): string {
  return `${kind} ${id}${"state" in rest && rest.state ? ` (${rest.state})` : ""}`;
}
