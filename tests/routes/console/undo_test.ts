// Every pause, hold, activation and change of roles of the console can be undone with the button "Undo".
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { INVERSES } from "../../../routes/console/shared/undo.ts";
import { pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "../files/uploading.ts";
import { browse } from "./plain_browser.ts";

const t = await setupShared();

/** Operations that pause, hold, activate or give roles, by their ids. */
const SWITCHES =
  /^(pause|resume|hold|release|enable|disable|activate|deactivate|lift)|^(set|add|change|update|map|assign|revoke)\w*(Role|Roles|Permission|Tenant|Group|Retention|User|UserAnywhere|SignInSettings|RegistrationSettings)$/;
/** No single call of the API undoes these. The README of the console says why. */
const WITHOUT_UNDO = ["updatePermission"];

Deno.test("the console undoes each operation that pauses, holds, activates or changes roles", async () => {
  const root = new URL("../../../routes/console/", import.meta.url).pathname;
  const paths = globSync(`${root}**/*.{ts,tsx}`).filter((path) => !path.endsWith("/shared/undo.ts"));
  const sources = (await Promise.all(paths.map((path) => Deno.readTextFile(path)))).join("\n");
  const called = ENDPOINTS.filter(({ id, method }) => method !== "get" && sources.includes(`"${id}"`));
  const switches = called.map(({ id }) => id).filter((id) => SWITCHES.test(id));
  assert.ok(switches.includes("setUserRoles") && switches.includes("changeRetention"));
  const missing = switches.filter((id) => !Object.hasOwn(INVERSES, id) && !WITHOUT_UNDO.includes(id));
  assert.deepEqual(missing, []);
});

Deno.test("what is paused, held, deactivated or given is as before after Undo", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ tenantId, permissions: PERMISSIONS });
  const person = await t.actor({ tenantId, role: "Visitor" });
  const made = async (path: string, body: unknown): Promise<string> =>
    (await accepted(admin.post(`/api/v1/${path}`, body))).id;
  const cronExpression = "30 3 * * *";
  await made("recurring-jobs", { jobId: "nightly", jobTypeName: "steward.echo", cronExpression });
  const report = { templateId: "users", name: "Users", format: 3, cronExpression };
  const schedule = await made("reports/schedules", report);
  const webhook = await made("webhook-endpoints", { url: "https://x.test/", eventTypes: ["*"] });
  const role = await made("roles", { name: "Desk", description: null, permissionIds: [] });
  const { id: permission } = (await admin.get("/api/v1/permissions/by-code/read:users")).body;
  const { id: file, retentionClass } = await new Uploading(t).uploadAndScan(admin);
  const address = { channel: "Email", address: "a@b.test", detail: "x" };
  const suppressed = await made("notification-suppressions", address);
  const browser = await browse(t, admin);
  const reads = (path: string) => async () => (await admin.get(`/api/v1/${path}`)).body;
  const pauses = async () =>
    (await reads("jobs/pauses")()).map(({ pausedAt: _, ...pause }: Record<string, unknown>) => pause);
  const endpoint = async () => {
    const { pausedAt, pauseReason, isActive } = await reads(`webhook-endpoints/${webhook}`)();
    return { isPaused: pausedAt !== null, pauseReason, isActive };
  };
  const retention = async () => {
    const { legalHold, legalHoldReason, retentionClass, retainUntil } = await reads(`files/${file}`)();
    return { legalHold, legalHoldReason, retentionClass, retainUntil };
  };
  const roles = async () => pluck(await reads(`users/${person.userId}/roles`)(), "name");
  const links = async () =>
    pluck(await reads(`admin/users/${person.userId}/tenants`)(), "tenantId", "isActive", "roles");
  const other = await t.tenant();
  const [otherRole] = await t.steward.platform.sql<{ id: string }[]>`
    select id from roles where tenant_id = ${other} and name = 'Visitor'`;
  const user = `users/${person.userId}`;
  const held = { legalHold: "true", reason: "Court order", retentionClass };
  const actions: [
    address: string,
    form: Record<string, string>,
    state: () => Promise<unknown>,
    stays?: true,
  ][] = [
    ["recurring/nightly/pause", {}, async () => (await reads("recurring-jobs/nightly")()).isPaused, true],
    ["recurring/nightly/resume", {}, async () => (await reads("recurring-jobs/nightly")()).isPaused],
    [
      `report-schedules/${schedule}/pause`,
      {},
      async () => (await reads(`reports/schedules/${schedule}`)()).isActive,
    ],
    ["queues/mail/pause", { reason: "Provider" }, pauses, true],
    ["queues/mail/resume", {}, pauses],
    ["job-types/steward.echo/pause", { reason: "Bug" }, pauses],
    [`webhooks/${webhook}/pause`, { reason: "They move" }, endpoint, true],
    [`webhooks/${webhook}/resume`, {}, endpoint],
    [`${user}/deactivate`, {}, async () => (await reads(user)()).isActive],
    [`${user}/roles`, {}, roles],
    [`${user}/links/new`, { tenantId: other, roleIds: otherRole?.id ?? "" }, links],
    [`${user}/links`, {}, links],
    [
      `roles/${role}/edit`,
      { name: "Desk", description: "", permissionIds: permission, reviewed: "true" },
      async () => (await reads(`roles/with-permissions?ids=${role}`)()).items[0].permissions.length,
    ],
    [`roles/${role}/group`, { displayName: "desk-group", isGroup: "true" }, reads("scim-groups")],
    [`files/${file}/retention`, held, retention, true],
    [`files/${file}/retention`, { ...held, legalHold: "false" }, retention],
    [
      `suppressions/${suppressed}/lift`,
      {},
      async () => (await reads("notification-suppressions")()).totalCount,
    ],
    ["tenants/registration", { mode: "closed" }, reads("registration-settings")],
    [`tenants/${other}/deactivate`, {}, async () => (await reads(`tenants/${other}`)()).isActive],
  ];
  const faults: string[] = [];
  for (const [address, form, state, stays] of actions) {
    const before = await state();
    const page = await browser.force(address, form);
    if (!page.offers.includes("Undo")) faults.push(`${address} offers no undo: ${page.text.slice(0, 300)}`);
    else {
      assert.notDeepEqual(await state(), before, `${address} changes something`);
      (await browser.press("Undo")).shows("The change was undone.");
      assert.deepEqual(await state(), before, `${address} is undone`);
      if (stays) await browser.force(address, form);
    }
  }
  assert.deepEqual(faults, []);
});

Deno.test("no undo is offered that the viewer may not do, and one of the whole service acts in the whole service", async () => {
  const keeper = await t.actor({ permissions: ALL });
  const { id, retentionClass } = await new Uploading(t).uploadAndScan(keeper);
  const browser = await browse(t, keeper);
  const hold = { retentionClass, legalHold: "true", reason: "Court" };
  const held = await browser.force(`files/${id}/retention`, hold);
  assert.ok(!held.shows("The retention was changed.").offers.includes("Undo"));
  const { sql } = t.steward.platform;
  const service = await browse(t, t.systemAdmin);
  await service.force("queues/whole/pause", {});
  const pausedFor = async () =>
    (await sql<{ tenantId: string | null }[]>`select tenant_id from job_pauses where name = 'whole'`)
      .map(({ tenantId }) => tenantId);
  assert.deepEqual(await pausedFor(), [null]);
  assert.ok(!(await service.force("queues/whole/pause", {})).offers.includes("Undo"), "it changed nothing");
  await service.force("queues/whole/resume", {});
  await service.press("Undo");
  assert.deepEqual(await pausedFor(), [null]);

  const owners = [await t.actor(), await t.actor()];
  const nightly = { jobId: "of-two", jobTypeName: "steward.echo", cronExpression: "0 4 * * *" };
  for (const by of owners) assert.equal((await by.post("/api/v1/recurring-jobs", nightly)).status, 201);
  const pauses = async () => {
    const read = await Promise.all(owners.map((by) => by.get("/api/v1/recurring-jobs/of-two")));
    return read.map(({ body }) => body.isPaused);
  };
  const page = `recurring/of-two?tenantId=${owners[1]?.tenantId}`;
  assert.ok((await service.open("recurring?pageSize=100")).html.includes(page), "the list names the tenant");
  const paused = await service.force(page.replace("?", "/pause?"), {});
  assert.ok(paused.html.includes(page.replace("?", "/resume?")));
  assert.deepEqual(await pauses(), [false, true]);
  await service.press("Undo");
  assert.deepEqual(await pauses(), [false, false]);
});

const PERMISSIONS = ["admin:system", "manage:all-users", "manage:jobs", "manage:webhooks", ...ALL];
