// The scenario of the tour, run in Node with the packed client: `node scenario.mjs <baseUrl> <expired token>`.
import assert from "node:assert/strict";

const installed = "@steward/client"; // a variable, because the package is not installed where Deno checks this file
const { each, isProblem, Steward, StewardProblem } = await import(installed);

const [baseUrl, expired] = process.argv.slice(2);
const run = crypto.randomUUID().slice(0, 8);
const credentials = ["admin@steward.local", "steward-admin-dev"];
const savedTokens = [];
const until = async (look) => {
  for (const since = Date.now(); Date.now() - since < 20_000;) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("not reached within 20 s");
};
const rejectedWith = (code, work) => assert.rejects(work, (error) => isProblem(error, code));

// Tokens and sessions
const admin = new Steward({ baseUrl, onTokens: (tokens) => savedTokens.push(tokens) });
const { user } = await admin.signIn(...credentials);
const idempotencyKey = crypto.randomUUID();
let replayed;
const creation = { name: `Acme ${run}`, type: "Standard" };
const tenant = await admin.tenants.createTenant(creation, { idempotencyKey });
const again = await admin.tenants.createTenant(creation, {
  idempotencyKey,
  onResponse: (response) => replayed = response.headers.get("idempotency-replayed"),
});
assert.deepEqual([again.id, replayed], [tenant.id, "true"]);
const roles = await admin.adminTenants.listRolesOfTenant(tenant.id, { search: "Admin" });
const { id: roleId } = roles.items.find(({ name }) => name === "Admin");
const link = { tenantId: tenant.id, roleIds: [roleId], isDefault: false };
await admin.adminUsers.addUserTenant(user.id, link);
// The change has ended the administrator's own session.
await rejectedWith("SESSION_INVALIDATED", () => admin.auth.readMe());
await admin.signIn(...credentials);
// An expired token is renewed once for all concurrent requests.
admin.useTokens({ ...savedTokens.at(-1), accessToken: expired });
const before = savedTokens.length;
const profiles = await Promise.all([admin.auth.readMe(), admin.auth.readMe(), admin.auth.readMe()]);
assert.ok(profiles.every((profile) => profile.tenants.some(({ id }) => id === tenant.id)));
assert.equal(savedTokens.length, before + 1);
const member = new Steward({ baseUrl });
await member.signIn(...credentials);
await member.switchTenant(tenant.id);
await rejectedWith("MISSING_PERMISSION", () => member.jobs.putJobType("scenario.greet", {}));
const names = [];
for await (const one of each((page) => admin.tenants.listTenants({ page, pageSize: 1 }))) {
  names.push(one.name);
}
assert.ok(names.length >= 2 && names.includes(tenant.name));

// Preconditions and validation
let etag;
await admin.auth.readMe({ onResponse: (response) => etag = response.headers.get("etag") });
const change = { lastName: "Scenario" };
await rejectedWith("PRECONDITION_FAILED", () => admin.auth.updateMe(change, { ifMatch: '"999"' }));
await admin.auth.updateMe(change, { ifMatch: etag });
const invalid = await admin.jobs.enqueueJob({}).catch((error) => error);
assert.ok(invalid instanceof StewardProblem);
assert.deepEqual([invalid.status, invalid.code], [400, "VALIDATION_ERROR"]);
assert.ok(invalid.errors.jobTypeName);
assert.match(invalid.traceId, /^[0-9a-f]{32}$/);

// Files
const verdict = (id) =>
  until(async () => {
    const file = await member.files.readFile(id);
    return file.status === "Scanning" ? null : file;
  });
const text = { profile: "document", fileName: "Zoë’s façade ✓ 図面.txt", contentType: "text/plain" };
const content = new TextEncoder().encode("a small text");
let sentBytes = 0;
const uploaded = await member.upload({ ...text, content, onProgress: (sent) => sentBytes = sent });
assert.equal(sentBytes, content.length);
assert.equal((await verdict(uploaded.id)).status, "Available");
const { url } = await member.files.giveDownloadUrl(uploaded.id);
assert.deepEqual(new Uint8Array(await (await fetch(url)).arrayBuffer()), content);
const large = new Uint8Array(11 * 1024 * 1024).fill(0x20);
const inParts = await member.upload({ ...text, content: new Blob([large]), parts: 2 });
assert.equal((await verdict(inParts.id)).sizeBytes, large.length);

// Jobs
await admin.jobs.putJobType("scenario.greet", {});
const stopping = new AbortController();
const working = admin.work({ "scenario.greet": ({ name }) => `hello ${name}` }, { signal: stopping.signal });
const greeting = await admin.jobs.enqueueJob({
  jobTypeName: "scenario.greet",
  serializedArgs: JSON.stringify({ name: "ZOË" }),
});
await until(async () => (await admin.jobs.readJob(greeting.id)).status === "Succeeded");
const [{ output }] = (await admin.jobs.listJobExecutions(greeting.id)).items;
assert.equal(output, JSON.stringify("hello ZOË"));
stopping.abort();
await working;

// Notifications as a stream
const closing = new AbortController();
const stream = member.userNotifications(user.id, { signal: closing.signal, lastEventId: "0" });
const recipients = [{ address: user.id }];
const notification = { channel: "InApp", recipients, subject: "Hello ZOË", textBody: "You have new files" };
await member.notifications.sendNotification(notification);
const { value } = await stream.next();
assert.deepEqual([value.event, value.data.title], ["notification", "Hello ZOË"]);
closing.abort();
assert.equal((await stream.next()).done, true);

// Web components: a server that renders pages may load them
await import(`${installed}/components/steward-inbox.js`);

// The end
await member.signOut();
assert.equal(member.tokens, null);
await rejectedWith("TOKEN_MISSING", () => member.auth.readMe());
console.log("all steps passed");
