import assert from "node:assert/strict";
import {
  beginListTask,
  draftListTask,
  endListTask,
  type ListTask,
  type ListTaskStatus,
  noteCsvRows,
  readListTask,
  recordTaskRows,
  startListTask,
} from "../../../domain/console/list_task.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
const { sql } = t;

/** What moves a task; returns whether it did. */
const ACTIONS: Record<string, (task: ListTask) => Promise<unknown>> = {
  start: async ({ userId, id }) =>
    (await transact(sql, (tx) => startListTask(tx, { userId, id, fields: {} }))) === "started",
  begin: ({ id }) => beginListTask(sql, id),
  record: (task) => recordTaskRows(sql, task, { rows: 1, refusals: [] }),
  "note CSV rows": ({ id }) => noteCsvRows(sql, id, 1),
  complete: ({ id }) => endListTask(sql, id, { status: "Completed" }),
  fail: ({ id }) => endListTask(sql, id, { status: "Failed", error: "why" }),
  cancel: ({ id }) => endListTask(sql, id, { status: "Cancelled" }),
};

/** The status after each action that is allowed. All others are refused and change nothing. */
const ALLOWED: Record<ListTaskStatus, Record<string, ListTaskStatus>> = {
  Draft: { start: "Queued", cancel: "Cancelled" },
  Queued: { begin: "Running", fail: "Failed", cancel: "Cancelled" },
  Running: {
    begin: "Running",
    record: "Running",
    "note CSV rows": "Running",
    complete: "Completed",
    fail: "Failed",
    cancel: "Cancelled",
  },
  Completed: {},
  Failed: {},
  Cancelled: {},
};

async function taskIn(status: ListTaskStatus, userId: string): Promise<ListTask> {
  const id = await draftListTask(sql, {
    userId,
    sessionId: newId(),
    tenantId: null,
    securityVersion: 1,
    kind: "Action",
    list: "jobs",
    query: "",
    action: "cancel",
    locale: "en",
    timeZone: "UTC",
    total: 2,
    ids: ["a", "b"],
  });
  const hasEnded = ["Completed", "Failed", "Cancelled"].includes(status);
  await sql`update console_list_tasks set status = ${status}, ended_at = case when ${hasEnded} then now() end
    where id = ${id}`;
  const task = await readListTask(sql, userId, id);
  assert.ok(task);
  return task;
}

for (
  const [status, allowed] of Object.entries(ALLOWED) as [ListTaskStatus, Record<string, ListTaskStatus>][]
) {
  Deno.test(`a task on a list that is ${status} allows ${Object.keys(allowed).join(", ") || "nothing"}`, async () => {
    const { userId } = await t.actor();
    for (const [name, act] of Object.entries(ACTIONS)) {
      const task = await taskIn(status, userId);
      assert.equal(Boolean(await act(task)), Object.hasOwn(allowed, name), name);
      const after = await readListTask(sql, userId, task.id);
      assert.equal(after?.status, allowed[name] ?? status, name);
      await sql`delete from console_list_tasks where id = ${task.id}`;
    }
  });
}
