// The scenario of the tour, run in Node with the packed client: `node scenario.mjs <baseUrl> <expired token>`.
import assert from "node:assert/strict";

const installed = "@steward/client"; // a variable, because the package is not installed where Deno checks this file
const { each, isProblem, Steward, StewardProblem } = await import(installed);

const [baseUrl, expired] = process.argv.slice(2);
const run = crypto.randomUUID().slice(0, 8);
const password = "a-long-enough-password";
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

// Access
const admin = new Steward({ baseUrl, onTokens: (tokens) => savedTokens.push(tokens) });
const { user } = await admin.signIn("admin@steward.local", "steward-admin-dev");
const tenant = await admin.tenants.createTenant({ name: `Acme ${run}`, type: "Standard" });
const roles = await admin.adminTenants.listRolesOfTenant(tenant.id, { search: "Admin" });
const adminRole = roles.items.find(({ name }) => name === "Admin");
await admin.adminUsers.addUserTenant(user.id, {
  tenantId: tenant.id,
  roleIds: [adminRole.id],
  isDefault: false,
});
// The change has ended the administrator's own session.
await rejectedWith("SESSION_INVALIDATED", () => admin.auth.readMe());
await admin.signIn("admin@steward.local", "steward-admin-dev");
// An expired token is renewed once for all concurrent requests.
admin.useTokens({ ...savedTokens.at(-1), accessToken: expired });
const before = savedTokens.length;
const profiles = await Promise.all([admin.auth.readMe(), admin.auth.readMe(), admin.auth.readMe()]);
assert.ok(profiles.every((profile) => profile.tenants.some(({ id }) => id === tenant.id)));
assert.equal(savedTokens.length, before + 1);

const insider = new Steward({ baseUrl });
await insider.signIn("admin@steward.local", "steward-admin-dev");
await insider.switchTenant(tenant.id);
const codes = [
  "read:users",
  "upload:files",
  "read:files",
  "send:notifications",
  "manage:job-types",
  "work:jobs",
];
const permissions = await Promise.all(codes.map((code) => insider.permissions.readPermissionByCode(code)));
const role = await insider.roles.createRole({
  name: "Clerk",
  permissionIds: permissions.map(({ id }) => id),
});
const newUser = {
  email: `zoe.${run}@example.test`,
  password,
  firstName: "Zoë",
  lastName: "Tour",
  isActive: true,
  tenants: [{ tenantId: tenant.id, roleIds: [role.id], isDefault: true }],
};
const idempotencyKey = crypto.randomUUID();
let replayed;
const zoe = await admin.adminUsers.createUserAnywhere(newUser, { idempotencyKey });
const again = await admin.adminUsers.createUserAnywhere(newUser, {
  idempotencyKey,
  onResponse: (response) => replayed = response.headers.get("idempotency-replayed"),
});
assert.equal(again.id, zoe.id);
assert.equal(replayed, "true");

const member = new Steward({ baseUrl });
const signedIn = await member.signIn(zoe.email, password);
assert.deepEqual(signedIn.permissions, codes.toSorted());
await rejectedWith("MISSING_PERMISSION", () => member.roles.listRoles());
const emails = [];
for await (const one of each((page) => member.users.listUsers({ page, pageSize: 1 }))) emails.push(one.email);
assert.ok(emails.length >= 2 && emails.includes(zoe.email));

// Preconditions and validation
let etag;
const own = await member.auth.readMe({ onResponse: (response) => etag = response.headers.get("etag") });
assert.equal(own.user.firstName, "Zoë");
await rejectedWith(
  "PRECONDITION_FAILED",
  () => member.auth.updateMe({ lastName: "Other" }, { ifMatch: '"999"' }),
);
await member.auth.updateMe({ lastName: "Scenario" }, { ifMatch: etag });
const invalid = await member.jobs.enqueueJob({}).catch((error) => error);
assert.ok(invalid instanceof StewardProblem);
assert.equal(invalid.status, 400);
assert.equal(invalid.code, "VALIDATION_ERROR");
assert.ok(invalid.errors.jobTypeName);
assert.match(invalid.traceId, /^[0-9a-f]{32}$/);

// Files
const png = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
  (char) => char.charCodeAt(0),
);
const verdict = (id) =>
  until(async () => {
    const file = await member.files.readFile(id);
    return file.status === "Scanning" ? null : file;
  });
const fileName = "Zoë’s façade ✓ 図面.png";
let sentBytes = 0;
const uploaded = await member.upload({
  profile: "image",
  fileName,
  contentType: "image/png",
  content: png,
  onProgress: (sent) => sentBytes = sent,
});
assert.equal(sentBytes, png.length);
assert.equal((await verdict(uploaded.id)).status, "Available");
const { url } = await member.files.giveDownloadUrl(uploaded.id);
assert.deepEqual(new Uint8Array(await (await fetch(url)).arrayBuffer()), png);
const large = new Uint8Array(11 * 1024 * 1024).fill(0x20);
const inParts = await member.upload({
  profile: "document",
  fileName: "large.txt",
  contentType: "text/plain",
  content: new Blob([large]),
  parts: 2,
});
assert.equal((await verdict(inParts.id)).sizeBytes, large.length);
const eicar = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-", "ANTIVIRUS-TEST-FILE!$H+H*"].join("");
const infected = await member.upload({
  profile: "document",
  fileName: "letter.txt",
  contentType: "text/plain",
  content: new TextEncoder().encode(eicar).buffer,
});
assert.equal((await verdict(infected.id)).status, "Infected");
await rejectedWith("FILE_INFECTED_CONFLICT", () => member.files.giveDownloadUrl(infected.id));

// Jobs
const job = await member.jobs.enqueueJob({
  jobTypeName: "steward.echo",
  serializedArgs: JSON.stringify({ hello: "wörld" }),
});
await until(async () => (await member.jobs.readJob(job.id)).status === "Succeeded");
await member.jobs.putJobType("scenario.greet", {});
const stopping = new AbortController();
const working = member.work({ "scenario.greet": ({ name }) => `hello ${name}` }, { signal: stopping.signal });
const greeting = await member.jobs.enqueueJob({
  jobTypeName: "scenario.greet",
  serializedArgs: JSON.stringify({ name: "ZOË" }),
});
await until(async () => (await member.jobs.readJob(greeting.id)).status === "Succeeded");
const [{ output }] = (await member.jobs.listJobExecutions(greeting.id)).items;
assert.equal(output, JSON.stringify("hello ZOË"));
stopping.abort();
await working;

// Reports
const report = await member.reports.generateReportAsync({ templateId: "users", format: 3 });
const made = await until(async () => {
  const execution = await member.reports.readReportExecution(report.trackingId);
  return execution.storedFileId ? execution : null;
});
assert.equal((await verdict(made.storedFileId)).status, "Available");
const download = await member.reports.downloadReport(made.id);
assert.match(await (await fetch(download.url)).text(), new RegExp(zoe.email));

// Notifications as a stream
const closing = new AbortController();
const stream = member.userNotifications(zoe.id, { signal: closing.signal, lastEventId: "0" });
await member.notifications.sendNotification({
  channel: "InApp",
  recipients: [{ address: zoe.id }],
  subject: "Hello ZOË",
  textBody: "You have new files",
});
const { value } = await stream.next();
assert.equal(value.event, "notification");
assert.equal(value.data.title, "Hello ZOË");
closing.abort();
assert.equal((await stream.next()).done, true);
assert.equal(await member.notifications.countUnreadUserNotifications({ userId: zoe.id }), 1);

// Web components: a server that renders pages may load them
await import(`${installed}/components/steward-inbox.js`);

// The end
await member.signOut();
assert.equal(member.tokens, null);
await rejectedWith("TOKEN_MISSING", () => member.auth.readMe());
console.log("all steps passed");
