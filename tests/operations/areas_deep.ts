// Services with several sets of areas: each route, and each page of the navigation.
import assert from "node:assert/strict";
import type { AreaName } from "../../infra/areas.ts";
import { endpointsOf } from "../../routes/areas.ts";
import { sections, sectionsOf } from "../../routes/console/sections.ts";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import { setup, type TestService } from "../support/setup.ts";
import { browse } from "../routes/console/plain_browser.ts";

const onOf = (...areas: AreaName[]) => ({ AREAS: new Set(areas) });
const firstOf = (path: string) => path.split("/")[0] ?? "";

/** Requires that routes of areas that are off answer 404, and that the document has the others alone. */
async function requireServed(t: TestService, areas: AreaName[]): Promise<void> {
  const served = new Set((await endpointsOf({ config: onOf(...areas), outbox: true })).map(({ id }) => id));
  assert.ok(served.size < ENDPOINTS.length);
  for (const { method, path } of ENDPOINTS.filter(({ id }) => !served.has(id))) {
    const at = path.replaceAll(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000");
    const { status } = await t.systemAdmin.send(method.toUpperCase(), at);
    // A path may also fit a served route of another method, or with a parameter.
    const fits = ENDPOINTS.some((other) =>
      served.has(other.id) && new RegExp(`^${other.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(at)
    );
    if (!fits) assert.equal(status, 404, `${method} ${path}`);
  }
  const { body: document } = await t.nobody.get("/openapi.json");
  const documented = Object.values<Record<string, { operationId: string }>>(document.paths)
    .flatMap((operations) => Object.values(operations).flatMap(({ operationId }) => operationId ?? []));
  assert.deepEqual(new Set(documented), served);
}

/** Opens every page of the navigation; none links to a section of an area that is off. */
async function requireConsole(t: TestService, areas: AreaName[]): Promise<void> {
  const shown = sectionsOf(onOf(...areas));
  const known = new Set(shown.flatMap(({ pages }) => pages.map(({ path }) => firstOf(path))));
  const off = new Set(sections.flatMap(({ pages }) => pages.map(({ path }) => firstOf(path))));
  const left = new Set([...off].filter((path) => !known.has(path)));
  const browser = await browse(t, t.systemAdmin);
  for (
    const path of [
      "./",
      "account",
      "first-steps",
      ...shown.flatMap(({ nav }) => nav.map(({ path }) => path)),
    ]
  ) {
    const { status, html } = await browser.open(path);
    assert.equal(status, path === "files" ? 403 : 200, path); // admin:system does not include the files
    for (const [, href = ""] of html.matchAll(/<a [^>]*href="([^"]*)"/g)) {
      assert.ok(!left.has(firstOf(href.split(/[?#]/)[0] ?? "")), `${path} links to ${href}`);
    }
  }
  assert.equal((await browser.open([...left][0] ?? "")).status, 404);
}

const SETS: AreaName[][] = [
  ["jobs"],
  ["access"],
  ["notifications", "reports"],
  ["files", "events", "records"],
  ["access", "oauth", "notifications"],
];
for (const areas of SETS) {
  Deno.test(`a service with ${areas.join()} serves these areas alone, and its jobs run`, async () => {
    const t = await setup({ AREAS: areas.join() });
    try {
      await requireServed(t, areas);
      await requireConsole(t, areas);
      assert.equal((await t.nobody.get("/readyz")).status, 200);
      assert.equal((await t.systemAdmin.get("/api/v1/operations/overview")).status, 200);
      if (areas.includes("jobs")) {
        const { body } = await t.systemAdmin.post("/api/v1/jobs", { jobTypeName: "steward.echo", args: {} });
        assert.equal(await t.settled(body.id), "Succeeded");
      }
      if (areas.includes("reports")) {
        const report = { templateId: "users", format: 3 };
        const { status, body: { id } } = await t.systemAdmin.post("/api/v1/reports/generate-async", report);
        assert.equal(status, 202);
        const [job] = await t.steward.platform.sql<{ id: string }[]>`
          select job_id as id from report_executions where id = ${id}`;
        assert.equal(await t.settled(job?.id ?? ""), "Succeeded");
      }
    } finally {
      await t.stop();
    }
  });
}
