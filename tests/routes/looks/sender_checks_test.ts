import assert from "node:assert/strict";
import { REFUSED, SERVER_FAILURE } from "../../support/name_server.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { add, newDomain, read, setupSenders, statusAfterCheck } from "./senders.ts";

const { t, names, manager, verified, checkNow, send } = await setupSenders();
const { sql } = t.steward.platform;

/** When the next check is due, in minutes from now and as text, and how many checks found nothing. */
async function schedule({ id }: { id: string }) {
  const [row] = await sql`
    select round(extract(epoch from next_check_at - now()) / 60)::int as minutes, next_check_at::text as at, misses
    from notification_senders where id = ${id}`;
  return { minutes: row?.minutes, at: row?.at, misses: row?.misses };
}

/** Checks a sender while the name server does not answer. */
async function checkInSilence(sender: { id: string }): Promise<void> {
  names.isSilent = true;
  await checkNow(sender);
  names.isSilent = false;
}

Deno.test("the job searches a pending record at growing intervals and gives up after seven days", async () => {
  const by = await manager();
  const sender = await add(by, { address: `a@${newDomain()}` });
  const intervals = [(await schedule(sender)).minutes];
  for (let check = 0; check < 8; check++) {
    await checkNow(sender);
    intervals.push((await schedule(sender)).minutes);
  }
  assert.deepEqual(intervals, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
  const silent = await add(by, { address: `a@${newDomain()}` });
  await checkInSilence(silent);
  const { minutes, misses } = await schedule(silent);
  assert.ok(minutes >= 29 && misses === 0, "a silent name server delays the checks of others");
  await sql`update notification_senders set proof_ends_at = now() where id = ${sender.id}`;
  await checkNow(sender);
  assert.equal((await read(by, sender)).status, "Failed");
  assert.equal((await schedule(sender)).at, null);
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  assert.equal(await statusAfterCheck(by, sender), "Verified", "a failed sender can be verified later");
});

Deno.test("a verified sender fails after three daily checks without its record, and administrators are notified", async () => {
  const by = await manager();
  const tenantId = by.tenantId ?? "";
  const visitor = await t.actor({ tenantId, role: "Visitor" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  await checkNow(sender);
  await checkInSilence(sender); // proves nothing
  await checkNow(sender);
  assert.equal((await read(by, sender)).status, "Verified");
  await checkNow(sender);
  const { status, isDefault } = await read(by, sender);
  assert.deepEqual([status, isDefault], ["Failed", true], "it is the default again when its record is back");
  const { from, raw } = await send(by, "lost@example.test");
  assert.equal(from, "service@steward.test");
  assert.match(raw, /^From: Steward <service@steward\.test>/m);
  const inbox = async (user: Actor) =>
    (await accepted(user.get(`/api/v1/user-notifications?userId=${user.userId}&category=senders`))).items;
  for (const user of [by, admin]) {
    const [message] = await until(() => inbox(user), ({ length }) => length === 1);
    assert.equal(message.title, `Mail is no longer sent from ${sender.address}`);
  }
  assert.deepEqual(await inbox(visitor), []);
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  await statusAfterCheck(by, sender);
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
  assert.equal((await schedule(sender)).misses, 0);
});

Deno.test("checks that somebody asks for do not count against a verified sender, nor postpone the daily one", async () => {
  const by = await manager();
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  const { at, misses } = await schedule(sender);
  for (let time = 0; time < 4; time++) assert.equal(await statusAfterCheck(by, sender), "Verified");
  const after = await schedule(sender);
  assert.deepEqual([after.at, after.misses], [at, misses]);
  assert.match((await read(by, sender)).lastError, /was not found/);
});
