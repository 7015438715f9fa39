import assert from "node:assert/strict";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import type { Endpoint } from "../../routes/shared/endpoint.ts";
import type { HttpAnswer, HttpClient } from "../support/http.ts";
import { setup } from "../support/setup.ts";
import { pathOf, ROWS } from "./isolation/all_rows.ts";
import type { Ask, Row } from "./isolation/rows.ts";
import {
  ABSENT,
  anotherOutsider,
  buildWorld,
  everyTenantPermission,
  type Kind,
  KINDS,
  MARKER,
  victimsRows,
} from "./isolation/world.ts";

// No worker runs jobs, so every change comes from a request.
const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const world = await buildWorld(t);

const send = (by: HttpClient, spec: Endpoint, ask: Ask, headers: Record<string, string> = {}) =>
  by.send(spec.method.toUpperCase(), pathOf(spec.path, ask), ask.body, headers);

/** The answer without its trace, and with requested names replaced by their kind. */
function said({ status, headers, body }: HttpAnswer, names: Record<Kind, string>): string {
  const { traceId: _, ...rest } = typeof body === "object" && body !== null ? body : { text: body };
  let text = JSON.stringify({
    status,
    type: headers.get("content-type"),
    etag: headers.get("etag"),
    ...rest,
  });
  for (const kind of KINDS) {
    text = text.replaceAll(names[kind], `<${kind}>`).replaceAll(encodeURIComponent(names[kind]), `<${kind}>`);
  }
  return text;
}

/** Checks that the answer contains nothing of the victim except what the request named. */
function revealsNothing(answer: HttpAnswer, named: Set<string>): void {
  const text = JSON.stringify(answer.body) + JSON.stringify([...answer.headers]);
  const secrets = [MARKER, world.victim.userId, world.victim.email, ...Object.values(world.ids)];
  const revealed = secrets.filter((secret) => !named.has(secret) && text.includes(secret));
  assert.deepEqual(revealed, [], `the answer reveals ${revealed}: ${text.slice(0, 2000)}`);
}

/** Names of the victim's objects or missing ones; remembers which were used. */
function namer(names: Record<Kind, string>) {
  const used = new Set<string>();
  const id = (kind: Kind) => {
    used.add(names[kind]);
    return names[kind];
  };
  return { id, used };
}

async function tryRow(spec: Endpoint, row: Row): Promise<void> {
  if ("open" in row) {
    assert.equal(spec.access.needsCaller, false, "a route that needs a caller must be tried");
    return;
  }
  const { outsider, victim } = world;
  const steer = { "x-tenant-id": victim.tenantId ?? "" }; // ignored: the token has a tenant
  if ("own" in row) {
    const by = row.throwaway ? await anotherOutsider(world) : outsider;
    const ask = row.own(world);
    const answer = await send(by, spec, ask, steer);
    if (row.code) assert.equal(answer.body.code, row.code);
    else assert.ok(answer.status < 400, `expected success, found ${said(answer, world.ids)}`);
    revealsNothing(answer, new Set([...Object.values(ask.params ?? {}), ...Object.values(ask.query ?? {})]));
    return;
  }
  const ask = "refused" in row ? row.ask : (id: (kind: Kind) => string) => row.names(id, world);
  const [theirs, absent] = [namer(world.ids), namer(ABSENT)];
  const answer = await send(outsider, spec, ask(theirs.id), steer);
  revealsNothing(answer, theirs.used);
  const expected = "refused" in row ? row.refused : row.code;
  assert.equal(answer.body.code, expected, `found ${said(answer, world.ids)}`);
  const control = await send(outsider, spec, ask(absent.id), steer);
  if ("names" in row && row.absent) assert.equal(control.body.code, row.absent);
  else assert.equal(said(answer, world.ids), said(control, ABSENT), "the same as for what does not exist");
}

Deno.test("the table of rows contains every registered route and no other", () => {
  const ids = ENDPOINTS.map((spec) => spec.id);
  assert.equal(new Set(ids).size, ids.length, "operation ids are unique");
  assert.deepEqual(
    ids.filter((id) => !Object.hasOwn(ROWS, id)),
    [],
    "routes without a row; add one beside its area's in tests/routes/isolation",
  );
  assert.deepEqual(
    Object.keys(ROWS).filter((id) => !ids.includes(id)),
    [],
    "rows of routes that do not exist",
  );
});

Deno.test("every route that needs a caller answers TOKEN_MISSING without a token, before any other check", async () => {
  for (const spec of ENDPOINTS.filter((spec) => spec.access.needsCaller)) {
    for (const path of [spec.path, ...spec.alsoAt ?? []]) {
      const answer = await send(t.nobody, { ...spec, path }, { params: { id: "not an id" } });
      assert.equal(`${answer.status} ${answer.body.code}`, "401 TOKEN_MISSING", `${spec.method} ${path}`);
    }
  }
});

Deno.test("a global token cannot use a tenant without a link, by header or by query", async () => {
  const global = await t.actor({ permissions: everyTenantPermission, global: true });
  const tenantId = world.ids.tenant;
  for (const spec of ENDPOINTS.filter((spec) => spec.access.needsCaller)) {
    const byHeader = await send(global, spec, {}, { "x-tenant-id": tenantId });
    assert.equal(`${byHeader.status} ${byHeader.body.code}`, "403 TENANT_FORBIDDEN", spec.id);
    revealsNothing(byHeader, new Set([tenantId]));
    const byQuery = await send(global, spec, { query: { tenantId } });
    const expected = spec.path.startsWith("/api/v1/admin/") ? "MISSING_PERMISSION" : "TENANT_FORBIDDEN";
    assert.equal(`${byQuery.status} ${byQuery.body.code}`, `403 ${expected}`, spec.id);
  }
});

for (const spec of ENDPOINTS) {
  const row = ROWS[spec.id];
  if (!row || "open" in row && !spec.access.needsCaller) continue;
  Deno.test(`an outsider gets nothing of another tenant from ${spec.method} ${spec.path}`, async () => {
    const before = await victimsRows(world);
    await tryRow(spec, row);
    assert.deepEqual(await victimsRows(world), before, "nothing of the victim's was changed");
  });
}

Deno.test("names are unique per tenant, so a conflict reveals nothing of another tenant", async () => {
  const { outsider, ids } = world;
  const attempts: [string, Record<string, unknown>][] = [
    ["/api/v1/roles", { name: `${MARKER} role` }],
    ["/api/v1/permissions", { code: ids.permissionCode, description: "Own", category: "Own" }],
    ["/api/v1/recurring-jobs", {
      jobId: ids.recurringJob,
      jobTypeName: "steward.echo",
      cronExpression: "0 4 * * *",
    }],
    ["/api/v1/notification-templates", { slug: ids.templateSlug, name: "Own", textBodyTemplate: "x" }],
  ];
  for (const [path, body] of attempts) {
    const answer = await outsider.post(path, body);
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`);
  }
});

Deno.test("all of the victim's objects still exist and work for the victim", async () => {
  const { victim, ids } = world;
  const paths = [
    `/api/v1/users/${ids.user}`,
    `/api/v1/roles/${ids.role}`,
    `/api/v1/permissions/${ids.permission}`,
    `/api/v1/jobs/${ids.job}`,
    `/api/v1/recurring-jobs/${ids.recurringJob}`,
    `/api/v1/files/${ids.file}`,
    `/api/v1/notifications/${ids.notification}`,
    `/api/v1/notification-templates/${ids.template}`,
    `/api/v1/reports/${ids.execution}`,
  ];
  for (const path of paths) assert.equal((await victim.get(path)).status, 200, path);
});
