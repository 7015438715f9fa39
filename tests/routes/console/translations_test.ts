import assert from "node:assert/strict";
import { CATALOG_PERMISSIONS, CATALOG_ROLES } from "../../../domain/rights/catalog.ts";
import { translateBuiltin, translateValidation } from "../../../routes/console/shared/translations.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();

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

const ANA = { firstName: "Ana Maria", lastName: "Silva" };
const RECURRING = { jobId: "a", jobTypeName: "steward.echo" };
const REDIRECTS = { redirectUris: ["https://shop.example"] };
const CLIENT = { name: "Shop", kind: "confidential", ...REDIRECTS, audience: "shop" };
const LONG = "x".repeat(300);

Deno.test("the messages about fields of the console's forms have Portuguese translations", async () => {
  const by = t.systemAdmin;
  const requests: [path: string, body: Record<string, unknown>][] = [
    ["admin/users", { email: "ana", password: "short", firstName: LONG, lastName: "" }],
    ["admin/users", { email: "ana@example.test", password: "password1234", firstName: "Ana", lastName: "" }],
    ["admin/users", { email: "ana.maria.silva@example.test", password: "anamariasilva1", ...ANA }],
    ["roles", { name: LONG, permissionIds: ["x"] }],
    ["tenants", { name: "", type: "Club", maxUsers: 0 }],
    ["tenants", { name: "Child", parentTenantId: t.platformTenantId }],
    ["permissions", { code: "Approve", description: LONG, category: "" }],
    ["permissions", { code: "switch:any-group-tenant", category: "Texts" }],
    ["api-keys", { name: "", permissions: [], expiresAt: "2001-01-01T00:00:00Z" }],
    ["webhook-endpoints", { url: "here", eventTypes: [] }],
    ["webhook-endpoints", { url: "http://10.0.0.1/", eventTypes: "*" }],
    ["webhook-endpoints", { url: "https://ann:secret@shop.example/", eventTypes: "*" }],
    ["service-accounts", { name: "", permissions: [], tenants: [] }],
    ["oauth-clients", { ...CLIENT, redirectUris: ["http://shop.example"] }],
    ["oauth-clients", { ...CLIENT, kind: "public", redirectUris: ["http://shop.example"] }],
    ["oauth-clients", { ...CLIENT, redirectUris: ["callback"] }],
    ["oauth-clients", { ...CLIENT, audience: "a b" }],
    ["document-templates", { slug: "?", name: "", titleTemplate: "", bodyTemplate: "" }],
    ["report-targets", { name: "", kind: "s3" }],
    ["sign-in-providers", { kind: "Saml", name: "A", clientId: "a" }],
    ["sign-in-providers", { kind: "Saml", name: "A", certificates: [{ pem: "x" }] }],
    ["sign-in-providers", { kind: "Saml", name: "A", metadata: "<EntityDescriptor/>" }],
    ["sign-in-domains", { name: "here" }],
    ["notification-senders", { address: "ana" }],
    ["notification-suppressions", { channel: "Email", address: "ana" }],
    ["jobs", { jobTypeName: "steward.echo", serializedArgs: "{}", priority: "Some", maxRetries: -1 }],
    ["jobs", { jobTypeName: "steward.echo", serializedArgs: "{}", scheduledAt: "soon" }],
    ["recurring-jobs", { ...RECURRING, cronExpression: "* *", timeZoneId: "Moon" }],
    ["recurring-jobs", { ...RECURRING, cronExpression: "0 0 31 2 *" }],
    ["jobs", { jobTypeName: "steward.echo", serializedArgs: "{", parentJobId: LONG }],
    ["notifications/send", { channel: "Email", recipients: [], subject: "Hello" }],
    ["notifications/send", { channel: "Email", recipients: [{ address: "ana" }] }],
    ["notification-templates", { slug: "a", name: "A", locale: "?!" }],
  ];
  const untranslated: string[] = [];
  for (const [path, body] of requests) {
    const { status, body: { errors } } = await by.post(`/api/v1/${path}`, body);
    const messages: string[] = Object.values(errors ?? {}).flatMap((each) => each as string | string[]);
    if (status !== 400 || messages.length === 0) untranslated.push(`${path} answers ${status}`);
    for (const message of messages) {
      if (translateValidation("pt", message) === message) untranslated.push(`${path}: ${message}`);
    }
  }
  assert.deepEqual(untranslated, []);
});

Deno.test("a translated message keeps its values, and other languages and messages stay", () => {
  const english = "Too big: expected string to have <=100 characters";
  assert.equal(translateValidation("pt", english), "Digite no máximo 100 caracteres.");
  assert.equal(
    translateValidation("pt", `args.text: ${english}`),
    "args.text: Digite no máximo 100 caracteres.",
  );
  assert.equal(translateValidation("en", english), "Enter at most 100 characters.");
  assert.equal(translateValidation("en", "expected a JSON object"), "expected a JSON object");
  assert.equal(translateValidation("pt", "Indique uma data e hora."), "Indique uma data e hora.");
});
