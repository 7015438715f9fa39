import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const actor = await t.actor();
const { sql } = t.steward.platform;
const url = "/api/v1/jobs";

const enqueue = async (extra: Record<string, unknown> = {}) => {
  const { status, body } = await actor.post(url, {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
    ...extra,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
};
const later = () => new Date(Date.now() + 3_600_000).toISOString();
const failing = (extra = {}) => enqueue({ jobTypeName: "steward.fail", maxRetries: 0, ...extra });
const sleeping = (milliseconds: number) =>
  enqueue({ jobTypeName: "steward.sleep", serializedArgs: JSON.stringify({ milliseconds }) });

Deno.test("a continuation starts when its parent has succeeded, also in a chain", async () => {
  const parent = await sleeping(200);
  const child = await enqueue({ parentJobId: parent.id });
  const grandchild = await enqueue({ parentJobId: child.id });
  assert.equal(child.type, "Continuation");
  assert.equal(child.status, "AwaitingParent");
  assert.equal(child.parentJobId, parent.id);
  assert.equal(await t.settled(grandchild.id), "Succeeded");
  const times = await sql`select id, started_at, completed_at from jobs
    where id = any(${[parent.id, child.id, grandchild.id]}::uuid[]) order by id`;
  assert.ok(times[1]?.startedAt >= times[0]?.completedAt);
  assert.ok(times[2]?.startedAt >= times[1]?.completedAt);
});

Deno.test("a scheduled continuation waits for both its parent and its time", async () => {
  const parent = await sleeping(100);
  const child = await enqueue({ parentJobId: parent.id, scheduledAt: later() });
  assert.equal(await t.settled(child.id, ["Scheduled"]), "Scheduled");
});

Deno.test("a dead-lettered parent cancels all its descendants", async () => {
  const parent = await failing({ scheduledAt: new Date(Date.now() + 300).toISOString() });
  const child = await enqueue({ parentJobId: parent.id });
  const grandchild = await enqueue({ parentJobId: child.id });
  assert.equal(await t.settled(parent.id), "DeadLettered");
  assert.equal(await t.settled(child.id), "Cancelled");
  assert.equal(await t.settled(grandchild.id), "Cancelled");
});

Deno.test("a cancelled parent cancels all its descendants", async () => {
  const parent = await enqueue({ scheduledAt: later() });
  const children = await Promise.all([1, 2, 3].map(() => enqueue({ parentJobId: parent.id })));
  const grandchild = await enqueue({ parentJobId: children[0]?.id });
  await actor.post(`${url}/${parent.id}/cancel`);
  for (const { id } of [...children, grandchild]) {
    const job = (await actor.get(`${url}/${id}`)).body;
    assert.equal(job.status, "Cancelled");
    assert.ok(job.completedAt);
  }
});

Deno.test("a continuation added to an ended parent gets the outcome of that parent", async () => {
  const succeeded = await enqueue();
  const dead = await failing();
  await t.settled(succeeded.id);
  await t.settled(dead.id);
  assert.equal((await enqueue({ parentJobId: succeeded.id })).status, "Enqueued");
  const late = await enqueue({ parentJobId: dead.id });
  assert.equal(late.status, "Cancelled");
  assert.ok(late.completedAt);
});

Deno.test("if parents end while continuations are added, no continuation stays behind", async () => {
  const results = await Promise.all(Array.from({ length: 40 }, async (_, index) => {
    const parent = await (index % 2 ? enqueue() : failing());
    const children = await Promise.all([1, 2, 3].map(() => enqueue({ parentJobId: parent.id })));
    await t.settled(parent.id);
    return { expected: index % 2 ? "Succeeded" : "Cancelled", ids: children.map((child) => child.id) };
  }));
  for (const { expected, ids } of results) {
    for (const id of ids) {
      const job = (await actor.get(`${url}/${id}`)).body;
      const status = ["Succeeded", "Cancelled"].includes(job.status) ? job.status : await t.settled(id);
      assert.equal(status, expected);
    }
  }
});

Deno.test("the sweep releases continuations that a crashed process left waiting", async () => {
  const parent = await enqueue({ scheduledAt: later() });
  const child = await enqueue({ parentJobId: parent.id });
  await sql`update jobs set status = 'Succeeded', completed_at = now() where id = ${parent.id}`;
  await t.steward.sweep();
  assert.equal(await t.settled(child.id), "Succeeded");
});
