import assert from "node:assert/strict";
import type { FileStatus } from "../../../domain/files/file.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { INSTANCES } from "../../support/in_one_instance.ts";
import { setup } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

// Measuring time would find only large differences and not always; so the test compares the work itself.
const t = await setup({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });

const ROUTES: Record<string, (id: string) => Promise<HttpAnswer>> = {
  "complete": (id) => actor.post(`/api/v1/files/${id}/complete`),
  "get": (id) => actor.get(`/api/v1/files/${id}`),
  "download-url": (id) => actor.get(`/api/v1/files/${id}/download-url`),
  "scan-attempts": (id) => actor.get(`/api/v1/files/${id}/scan-attempts`),
  "references": (id) => actor.get(`/api/v1/files/${id}/references`),
  "reference": (id) => actor.post(`/api/v1/files/${id}/references`, { scope: "a", ownerId: "b" }),
  "release": (id) => actor.delete(`/api/v1/files/${id}/references/${crypto.randomUUID()}`),
  "retention": (id) => actor.put(`/api/v1/files/${id}/retention`, { legalHold: true }),
  "purge": (id) => actor.post(`/api/v1/files/${id}/purge`, { reason: "x" }),
};

/** The instances fold their counters from time to time, independent of requests. */
const UPKEEP = /_count_deltas/;

/** All requests to the database and the object store while `work` runs, in order. */
async function workOf(work: () => Promise<unknown>): Promise<string[]> {
  const done: string[] = [];
  const { sql, pointReads, objects } = t.steward.platform;
  const watched = (pool: Sql): Sql =>
    new Proxy(pool, {
      apply(target, self, args) {
        const text: string = Array.isArray(args[0]?.raw) ? args[0].join("?") : "";
        if (text && !UPKEEP.test(text)) done.push(text);
        return Reflect.apply(target as (...args: unknown[]) => unknown, self, args);
      },
      get(target, name, receiver) {
        if (name === "begin") done.push("begin");
        return Reflect.get(target, name, receiver);
      },
    });
  const store = new Proxy(objects, {
    get(target, name, receiver) {
      done.push(`store: ${String(name)}`);
      return Reflect.get(target, name, receiver);
    },
  });
  const putBack = t.replace((p) => p, {
    sql: watched(sql),
    pointReads: watched(pointReads),
    objects: store,
  });
  try {
    await work();
  } finally {
    putBack();
  }
  return done;
}

for (const [name, call] of Object.entries(ROUTES)) {
  Deno.test(`${name} does the same work for another tenant's file as for a missing one, in every state`, async () => {
    const other = await t.tenant();
    for (let n = 0; n < INSTANCES; n++) await call(crypto.randomUUID()); // afterwards every instance has the caller's permissions cached
    const none = await workOf(() => call(crypto.randomUUID()));
    assert.ok(none.length >= 1, "the look-up is seen");
    for (
      const state of ["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"] as FileStatus[]
    ) {
      const id = await files.fileIn(state, { tenantId: other, legalHold: true });
      assert.deepEqual(await workOf(() => call(id)), none, state);
    }
  });
}
