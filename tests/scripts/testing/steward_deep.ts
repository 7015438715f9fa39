// The service for the tests of a product: its clock, jobs, outbox and users, also by a process.
import assert from "node:assert/strict";
import { startSteward } from "@steward/steward/testing";
import { isAlive } from "../../support/processes.ts";
import { until } from "../../support/until.ts";

const SERVE = new URL("../../../scripts/testing/serve.ts", import.meta.url).pathname;

Deno.test("a product's test moves the clock, runs due jobs, reads messages, and gets users with tokens", async () => {
  await using steward = await startSteward();
  const { users, clock, jobs, outbox, tenants, url } = steward;
  const tenant = await tenants.create({ name: "Northwind" });
  const user = await users.create({ tenantId: tenant.id, role: "Admin" });
  const send = async (token: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`${url}/api/v1${path}`, { ...request, headers })).json();
  };
  const mailIn = (days: number) => ({
    notification: {
      channel: "Email",
      recipients: [{ address: "Ann@example.com" }],
      subject: `Day ${days}`,
      htmlBody: '<p>See <a href="https://example.com/a?b=1&amp;c=2">it</a></p>',
    },
    scheduledAt: new Date(Date.now() + days * 86_400_000),
  });
  await send(user.token, "/notifications/schedule", mailIn(2));
  await send(user.token, "/notifications/schedule", mailIn(40));
  await send(user.token, "/jobs", { jobTypeName: "steward.fail", maxRetries: 0 });
  const first = await jobs.drain();
  assert.deepEqual([first.ran, first.left], [[], []]);
  assert.deepEqual(
    first.failed.map(({ jobTypeName, status, attempts }) => [jobTypeName, status, attempts]),
    [["steward.fail", "DeadLettered", 1]],
  );
  assert.deepEqual(await jobs.drain(), { ran: [], failed: [], left: [] });
  assert.equal(await outbox.last(), null);

  const moved = await clock.advance("3 days");
  assert.ok(moved.getTime() - Date.now() > 71 * 3_600_000);
  assert.equal((await send(user.token, "/jobs")).code, "TOKEN_EXPIRED");
  const { ran, failed } = await jobs.drain();
  assert.deepEqual([ran.length, ran[0]?.status, failed], [1, "Succeeded", []]);
  const mail = await outbox.last({ to: "ann@example.com", channel: "Email" });
  assert.equal(mail?.subject, "Day 2");
  assert.deepEqual(mail?.links, ["https://example.com/a?b=1&c=2"]);
  assert.ok(Date.parse(mail?.sentAt ?? "") - Date.now() > 71 * 3_600_000);
  assert.equal(await outbox.last({ to: "bob@example.com" }), null);
  const statuses = async () =>
    (await send(await users.token(user), "/jobs")).items.map(({ status }: { status: string }) => status);
  assert.deepEqual(await statuses(), ["DeadLettered", "Scheduled", "Succeeded"]);
  await clock.advance("1 year");
  assert.equal((await jobs.drain()).ran.length, 1);
  assert.deepEqual(await statuses(), ["DeadLettered", "Succeeded"]); // the retention of the first one has ended
  await assert.rejects(clock.advance("-1 day"), /cannot move by -1 day/);
});

Deno.test("it refuses to run in production or on another database", async () => {
  await assert.rejects(startSteward({ STEWARD_ENV: "production" }), /for tests/);
  await assert.rejects(startSteward({ DATABASE_URL: "postgres://db.example.com/steward" }), /of its own/);
});

Deno.test("by a process it answers only those who know its control URL, and leaves nothing when it is killed or its stdin closes", async () => {
  for (const end of ["stdin", "kill"]) {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", SERVE],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { url, control } = JSON.parse((await reader.read()).value ?? "");
    const post = (path: string, body: unknown) => fetch(path, { method: "POST", body: JSON.stringify(body) });
    const user = await (await post(`${control}/users`, { role: "Admin" })).json();
    const me = await fetch(`${url}/api/v1/auth/me`, { headers: { authorization: `Bearer ${user.token}` } });
    assert.ok((await me.text()).includes(user.email));
    assert.equal((await post(`${control}/clock/advance`, { by: "no interval" })).status, 400);
    assert.equal((await post(`${new URL(control).origin}/users`, {})).status, 404);
    assert.equal((await post(`${url}${new URL(control).pathname}/users`, {})).status, 404);
    if (end === "stdin") await child.stdin.close();
    else child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    const folder = `${Deno.env.get("TMPDIR") ?? "/tmp"}/steward-testing-${child.pid}`;
    await until(() => Deno.stat(folder).then(() => false, () => true));
    assert.ok(!isAlive(child.pid));
  }
});
