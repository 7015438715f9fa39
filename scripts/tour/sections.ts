import assert from "node:assert/strict";
import { ApiCaller, type Tour } from "./tour.ts";

const PERMISSIONS = ["read:users", "upload:files", "read:files", "send:notifications"];
const PASSWORD = "a-long-enough-password";

/** Access: creates a tenant, a role and two users, and checks their permissions. */
export async function accessSteps(tour: Tour): Promise<void> {
  tour.section("Access administration");
  const email = Deno.env.get("BOOTSTRAP_ADMIN_EMAIL") ?? "admin@steward.local";
  const password = Deno.env.get("BOOTSTRAP_ADMIN_PASSWORD") ?? "steward-admin-dev";
  const run = crypto.randomUUID().slice(0, 8);

  await tour.step("the administrator signs in", async () => {
    const { accessToken } = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", {
      email,
      password,
    });
    tour.administrator = new ApiCaller(tour.url, accessToken);
  });
  const { administrator } = tour;
  const tenant = await tour.step(
    "creates a tenant",
    async () =>
      await administrator.expect(201, "POST", "/api/v1/tenants", { name: `Acme ${run}`, type: "Standard" }),
  );
  const tenantAdmin = await tour.step("joins it as its administrator", async () => {
    const me = await administrator.expect(200, "GET", "/api/v1/auth/me");
    const roles = await administrator.expect(
      200,
      "GET",
      `/api/v1/admin/tenants/${tenant.id}/roles?search=Admin`,
    );
    const admin = roles.items.find((role: { name: string }) => role.name === "Admin");
    await administrator.expect(201, "POST", `/api/v1/admin/users/${me.user.id}/tenants`, {
      tenantId: tenant.id,
      roleIds: [admin.id],
      isDefault: false,
    });
    await administrator.refused(401, "SESSION_INVALIDATED", "GET", "/api/v1/auth/me");
    const again = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", { email, password });
    tour.administrator = new ApiCaller(tour.url, again.accessToken);
    const inTenant = await tour.administrator.expect(200, "POST", "/auth/switch-tenant", {
      tenantId: tenant.id,
    });
    return new ApiCaller(tour.url, inTenant.accessToken);
  });
  const role = await tour.step(`creates a role with ${PERMISSIONS.join(", ")}`, async () => {
    const permissionIds = await Promise.all(
      PERMISSIONS.map(async (code) =>
        (await tenantAdmin.expect(200, "GET", `/api/v1/permissions/by-code/${code}`)).id
      ),
    );
    return await tenantAdmin.expect(201, "POST", "/api/v1/roles", {
      name: "Clerk",
      description: "Keeps files",
      permissionIds,
    });
  });
  await tour.step("creates two users: Zoë with that role, Otto without a role", async () => {
    const create = async (name: string, roleIds: string[]) =>
      await tour.administrator.expect(201, "POST", "/api/v1/admin/users", {
        email: `${name}.${run}@example.test`,
        password: PASSWORD,
        firstName: name === "zoe" ? "Zoë" : "Otto",
        lastName: "Tour",
        isActive: true,
        tenants: roleIds.length > 0 ? [{ tenantId: tenant.id, roleIds, isDefault: true }] : [],
      });
    const zoe = await create("zoe", [role.id]);
    await create("otto", []);
    tour.memberId = zoe.id;
    tour.memberEmail = zoe.email;
  });
  await tour.step("Zoë signs in and has exactly those permissions", async () => {
    const signedIn = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", {
      email: tour.memberEmail,
      password: PASSWORD,
    });
    assert.deepEqual(signedIn.permissions, PERMISSIONS.toSorted());
    assert.equal(signedIn.tenant.id, tenant.id);
    tour.member = new ApiCaller(tour.url, signedIn.accessToken);
    await tour.member.expect(200, "GET", "/api/v1/users");
    await tour.member.refused(403, "MISSING_PERMISSION", "GET", "/api/v1/roles");
  });
  await tour.step("Otto is refused with 403; a forged token with 401", async () => {
    const otto = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", {
      email: `otto.${run}@example.test`,
      password: PASSWORD,
    });
    const outsider = new ApiCaller(tour.url, otto.accessToken);
    await outsider.refused(403, "FORBIDDEN", "GET", "/api/v1/users");
    await outsider.refused(403, "TENANT_FORBIDDEN", "POST", "/auth/switch-tenant", { tenantId: tenant.id });
    const forged = new ApiCaller(tour.url, otto.accessToken.slice(0, -12) + "A".repeat(12));
    await forged.refused(401, "TOKEN_INVALID", "GET", "/api/v1/users");
  });
}

const NAME = "Zoë’s façade ✓ 図面.png";
/** A real one-pixel PNG. */
const PNG = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
  (char) => char.charCodeAt(0),
);
/** The standard anti-virus test file, built from parts so that no scanner reports this source file. */
const EICAR = new TextEncoder().encode(
  ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-", "ANTIVIRUS-TEST-FILE!$H+H*"].join(""),
);

/** Files: upload, scan and download of a clean file; an infected file and one with a wrong type are not served. */
export async function fileSteps(tour: Tour): Promise<void> {
  tour.section("Files");
  const { member } = tour;

  const upload = async (
    content: Uint8Array<ArrayBuffer>,
    reservation: Record<string, unknown>,
  ): Promise<string> => {
    const reserved = await member.expect(201, "POST", "/api/v1/files", {
      ...reservation,
      sizeBytes: content.length,
    });
    const put = await fetch(reserved.uploadUrl, {
      method: "PUT",
      headers: reserved.requiredHeaders,
      body: content,
    });
    assert.equal(put.status, 200, `storage answered ${put.status}: ${await put.text()}`);
    const completed = await member.expect(200, "POST", `/api/v1/files/${reserved.fileId}/complete`);
    assert.equal(completed.status, "Scanning");
    return reserved.fileId;
  };
  const verdict = async (id: string) =>
    await tour.until("the scan", async () => {
      const record = await member.expect(200, "GET", `/api/v1/files/${id}`);
      return record.status === "Scanning" ? null : record;
    });

  const id = await tour.step(
    "Zoë reserves a file, uploads a PNG to the signed URL and completes it: Scanning",
    async () => await upload(PNG, { profile: "image", fileName: NAME, contentType: "image/png" }),
  );
  await tour.step("a background job scans it: Available", async () => {
    const record = await verdict(id);
    assert.equal(record.status, "Available");
    assert.equal(record.detectedContentType, "image/png");
  });
  await tour.step(
    "the download URL returns the same bytes, as an attachment with the original name",
    async () => {
      const { url } = await member.expect(200, "GET", `/api/v1/files/${id}/download-url`);
      const download = await fetch(url);
      assert.deepEqual(new Uint8Array(await download.arrayBuffer()), PNG);
      assert.equal(download.headers.get("content-type"), "application/octet-stream");
      const disposition = download.headers.get("content-disposition") ?? "";
      assert.match(disposition, /^attachment/);
      assert.equal(decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1] ?? ""), NAME);
    },
  );
  await tour.step("the EICAR test file becomes Infected and cannot be downloaded", async () => {
    const infected = await upload(EICAR, {
      profile: "document",
      fileName: "letter.txt",
      contentType: "text/plain",
    });
    assert.equal((await verdict(infected)).status, "Infected");
    await member.refused(409, "FILE_INFECTED_CONFLICT", "GET", `/api/v1/files/${infected}/download-url`);
  });
  await tour.step("a text file renamed to .png is purged; its record shows the reason", async () => {
    const text = new TextEncoder().encode("This is no picture.\n");
    const disguised = await upload(text, {
      profile: "image",
      fileName: "photo.png",
      contentType: "image/png",
    });
    const record = await verdict(disguised);
    assert.equal(record.status, "Purged");
    assert.equal(record.purgeReason, "job:tipo-reprovado");
    assert.equal(record.rejectionCode, "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
    assert.match(record.sha256, /^[0-9a-f]{64}$/);
  });
}

/** Jobs: one that succeeds, one that always fails. */
export async function jobSteps(tour: Tour): Promise<void> {
  tour.section("Jobs");
  const { member } = tour;
  const ended = async (id: string, statuses: string[]) =>
    await tour.until(`job ${statuses.join(" or ")}`, async () => {
      const job = await member.expect(200, "GET", `/api/v1/jobs/${id}`);
      return statuses.includes(job.status) ? job : null;
    });

  await tour.step("Zoë enqueues a job: Succeeded, and its execution is listed", async () => {
    const job = await member.expect(201, "POST", "/api/v1/jobs", {
      jobTypeName: "steward.echo",
      serializedArgs: JSON.stringify({ hello: "wörld" }),
    });
    await ended(job.id, ["Succeeded"]);
    const executions = await member.expect(200, "GET", `/api/v1/jobs/${job.id}/executions`);
    assert.equal(executions.totalCount, 1);
    assert.equal(executions.items[0].status, "Succeeded");
    assert.match(executions.items[0].output, /wörld/);
  });
  await tour.step("a job that always fails is retried, then dead-lettered", async () => {
    const job = await member.expect(201, "POST", "/api/v1/jobs", {
      jobTypeName: "steward.fail",
      serializedArgs: JSON.stringify({ message: "it never works" }),
      maxRetries: 1,
    });
    await ended(job.id, ["Failed"]);
    const dead = await ended(job.id, ["DeadLettered"]);
    assert.equal(dead.attempts, 2);
    const entries = await member.expect(200, "GET", "/api/v1/dead-letter-jobs");
    const entry = entries.items.find((item: { jobId: string }) => item.jobId === job.id);
    assert.match(entry.errorMessage, /it never works/);
  });
}

const CSV = 3;
const EMAIL = 2;
const DELIVERED = 5;

/** Reports: generated in the background, scanned like any file, delivered by email. */
export async function reportSteps(tour: Tour): Promise<void> {
  tour.section("Reports");
  const { member, anonymous } = tour;
  const execution = await tour.step(
    "Zoë requests the users report as CSV, by email",
    async () =>
      await member.expect(202, "POST", "/api/v1/reports/generate-async", {
        templateId: "users",
        format: CSV,
        delivery: { method: EMAIL, recipients: [tour.memberEmail], emailSubject: "Your users" },
      }),
  );
  const report = await tour.step(
    "it is generated, scanned and delivered in the background",
    async () =>
      await tour.until("the delivery", async () => {
        const detail = await member.expect(200, "GET", `/api/v1/reports/${execution.trackingId}`);
        assert.notEqual(detail.status, 4, `the report failed: ${detail.errorMessage}`);
        return detail.status === DELIVERED ? detail : null;
      }),
  );
  await tour.step("its file is in the registry, is scanned, and contains Zoë's row", async () => {
    const file = await member.expect(200, "GET", `/api/v1/files/${report.storedFileId}`);
    assert.equal(file.status, "Available");
    const { url } = await member.expect(200, "GET", `/api/v1/reports/${report.id}/download`);
    assert.match(await (await fetch(url)).text(), new RegExp(tour.memberEmail));
  });
  const { status } = await anonymous.send("GET", "/dev/outbox");
  if (status === 404) return; // only a development service has an outbox
  await tour.step("the email is in the outbox with its attachment", async () => {
    const messages = await anonymous.expect(200, "GET", "/dev/outbox");
    const mail = messages.find((message: { to: string[]; subject: string }) =>
      message.to.includes(tour.memberEmail) && message.subject === "Your users"
    );
    assert.ok(mail, "an email to Zoë with the given subject");
    assert.equal(mail.attachments.length, 1);
    assert.equal(mail.attachments[0].sizeBytes, report.fileSizeBytes);
  });
}

/** Notifications: a template, a message from it, and its recipient reading it. */
export async function notificationSteps(tour: Tour): Promise<void> {
  tour.section("Notifications");
  const { member, memberId } = tour;
  const slug = `welcome-${crypto.randomUUID().slice(0, 8)}`;
  await tour.step("Zoë creates a template", async () => {
    const template = await member.expect(201, "POST", "/api/v1/notification-templates", {
      slug,
      name: "Welcome",
      locale: "en",
      subjectTemplate: "Hello {{ name | upper }}",
      htmlBodyTemplate: "<p>You have {{ count | number }} new files, {{ name }}.</p>",
      requiredVariables: "name,count",
    });
    assert.equal(template.version, 1);
  });
  await tour.step("sends herself an in-app notification from it", async () => {
    const sent = await member.expect(200, "POST", "/api/v1/notifications/send", {
      channel: "InApp",
      recipients: [{ address: memberId, displayName: "Zoë" }],
      templateSlug: slug,
      templateData: { name: "Zoë", count: 1234 },
    });
    await tour.until("the delivery", async () => {
      const detail = await member.expect(200, "GET", `/api/v1/notifications/${sent.notificationId}`);
      return detail.status === "Sent" ? detail : null;
    });
  });
  await tour.step("and reads it", async () => {
    assert.equal(
      await member.expect(200, "GET", `/api/v1/user-notifications/unread-count?userId=${memberId}`),
      1,
    );
    const inbox = await member.expect(200, "GET", `/api/v1/user-notifications?userId=${memberId}`);
    const [message] = inbox.items;
    assert.equal(message.title, "Hello ZOË");
    assert.match(message.body, /1,234 new files/);
    await member.expect(200, "PUT", `/api/v1/user-notifications/${message.id}/read?userId=${memberId}`);
    assert.equal(
      await member.expect(200, "GET", `/api/v1/user-notifications/unread-count?userId=${memberId}`),
      0,
    );
  });
}
