import assert from "node:assert/strict";
import { REFUSED, SERVER_FAILURE } from "../../support/name_server.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { add, newDomain, read, setupSenders, verify } from "./senders.ts";

const { t, names, manager, verified, checkNow, send, stop } = await setupSenders();
Deno.test.afterAll(stop);
const { sql } = t.steward.platform;

Deno.test("the job searches a pending record at growing intervals and gives up after seven days", async () => {
  const by = await manager();
  const sender = await add(by, { address: `a@${newDomain()}` });
  const dueIn = async () => {
    const [row] = await sql`
      select round(extract(epoch from next_check_at - now()) / 60)::int as minutes, misses from notification_senders
      where id = ${sender.id}`;
    return row?.minutes;
  };
  const intervals = [await dueIn()];
  for (let check = 0; check < 8; check++) {
    await checkNow(sender);
    intervals.push(await dueIn());
  }
  assert.deepEqual(intervals, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
  const silent = await add(by, { address: `a@${newDomain()}` });
  names.isSilent = true;
  await checkNow(silent);
  names.isSilent = false;
  const [unanswered] = await sql`select next_check_at > now() + interval '29 minutes' as is_late, misses
    from notification_senders where id = ${silent.id}`;
  assert.deepEqual(
    { ...unanswered },
    { isLate: true, misses: 0 },
    "a silent name server delays the checks of others",
  );
  await sql`update notification_senders set proof_ends_at = now() where id = ${sender.id}`;
  await checkNow(sender);
  const failed = await read(by, sender);
  assert.equal(failed.status, "Failed");
  assert.equal(await dueIn(), null);
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  assert.equal((await verify(by, sender)).body.status, "Verified", "a failed sender can be verified later");
});

Deno.test("a verified sender fails after three daily checks without its record, and administrators are notified", async () => {
  const by = await manager();
  const visitor = await t.actor({ tenantId: by.tenantId ?? "", role: "Visitor" });
  const admin = await t.actor({ tenantId: by.tenantId ?? "", role: "Admin" });
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  await checkNow(sender);
  names.isSilent = true;
  await checkNow(sender);
  names.isSilent = false;
  await checkNow(sender);
  assert.equal(
    (await read(by, sender)).status,
    "Verified",
    "a name server that does not answer proves nothing",
  );
  await checkNow(sender);
  const lost = await read(by, sender);
  assert.equal(lost.status, "Failed");
  assert.ok(lost.isDefault, "it is the default again when its record is back");
  assert.equal((await send(by, "lost@example.test")).from, "service@steward.test");
  assert.match((await send(by, "lost2@example.test")).raw, /^From: Steward <service@steward\.test>/m);
  const inbox = async (user: Actor) =>
    (await user.get(`/api/v1/user-notifications?userId=${user.userId}&category=senders`)).body.items;
  await until(async () => (await inbox(by)).length, (length) => length === 1);
  await until(async () => (await inbox(admin)).length, (length) => length === 1);
  assert.equal((await inbox(by))[0].title, `Mail is no longer sent from ${sender.address}`);
  assert.deepEqual(await inbox(visitor), []);
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  await verify(by, sender);
  assert.match((await send(by, "back@example.test")).raw, new RegExp(`^From: ${sender.address}\\r`, "m"));
});

Deno.test("a record that is back before the third check keeps the sender", async () => {
  const by = await manager();
  const sender = await verified(by);
  for (const isThere of [false, false, true, false, false]) {
    names.records.set(sender.dnsRecord.name, isThere ? [sender.dnsRecord.value] : []);
    await checkNow(sender);
  }
  assert.equal((await read(by, sender)).status, "Verified");
});

Deno.test("a name server that fails or refuses keeps a sender as it is", async () => {
  const by = await manager();
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  for (const failure of [SERVER_FAILURE, REFUSED, SERVER_FAILURE]) {
    names.failure = failure;
    await checkNow(sender);
  }
  names.failure = null;
  const { status, lastError } = await read(by, sender);
  assert.equal(status, "Verified");
  assert.match(lastError, /^The name server did not answer for _steward\./);
  const [row] = await sql`select misses from notification_senders where id = ${sender.id}`;
  assert.equal(row?.misses, 0);
});

Deno.test("checks that somebody asks for do not count against a verified sender, nor postpone the daily one", async () => {
  const by = await manager();
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  const due = async () => {
    const [row] = await t.steward.platform.sql`
      select next_check_at, misses from notification_senders where id = ${sender.id}`;
    return [row?.nextCheckAt?.toISOString(), row?.misses];
  };
  const before = await due();
  for (let time = 0; time < 4; time++) assert.equal((await verify(by, sender)).body.status, "Verified");
  assert.deepEqual(await due(), before);
  assert.match((await read(by, sender)).lastError, /was not found/);
});
