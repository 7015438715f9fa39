import assert from "node:assert/strict";
import { CATALOG_PERMISSIONS, CATALOG_ROLES } from "../../../domain/rights/catalog.ts";
import { translateBuiltin } from "../../../routes/console/shared/builtin_translations.ts";
import { setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());

Deno.test("every text of built-in permissions, roles and reports has a Portuguese translation", async () => {
  const actor = await t.actor({ tenantId: t.platformTenantId, permissions: ["admin:system", "read:files"] });
  const { body: reports } = await actor.get("/api/v1/reports");
  type Described = { displayName: string; description: string | null };
  const described = (reports as (Described & { parameters: Described[] })[])
    .flatMap((report) => [report, ...report.parameters]);
  const texts = [
    ...CATALOG_PERMISSIONS.flatMap(({ category, description }) => [category, description]),
    ...CATALOG_ROLES.map(({ description }) => description),
    ...described.flatMap(({ displayName, description }) => [displayName, description ?? displayName]),
  ];
  assert.ok(described.length > 20);
  assert.deepEqual(texts.filter((text) => translateBuiltin("pt", text) === text), []);
  assert.equal(translateBuiltin("en", "Users"), "Users");
  for (const others of ["approve:invoices", "constructor", "", null]) {
    assert.equal(translateBuiltin("pt", others), others);
  }
});
