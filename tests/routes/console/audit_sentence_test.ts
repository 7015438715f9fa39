import assert from "node:assert/strict";
import { type AuditEntry, auditSentence } from "../../../routes/console/components/audit_sentence.tsx";
import type { Locale } from "../../../routes/console/shared/languages.ts";

const idOf = (n: number) => `0199aaaa-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [TENANT = "", ANA = "", BILLING = "", SALES = "", BRUNO = "", JOB = ""] = [1, 2, 3, 4, 5, 6].map(idOf);
const names = {
  [ANA]: "Ana",
  [BILLING]: "Billing",
  [SALES]: "Sales",
  [BRUNO]: "Bruno",
  [TENANT]: "Northwind",
};

const entry = (action: string, targetId: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  id: crypto.randomUUID(),
  at: "2026-01-01T00:00:00.000Z",
  actorId: ANA,
  actorEmail: "ana@example.test",
  serviceAccount: null,
  apiKeyId: null,
  actedBy: null,
  tenantId: TENANT,
  action,
  targetType: action.split(".")[0] ?? "",
  targetId,
  before: null,
  after: null,
  traceId: null,
  ip: null,
  valuesErasedAt: null,
  names,
  ...more,
});
const viewer = (permissions: string[], tenantId: string | null = TENANT) => ({
  userId: ANA,
  email: "ana@example.test",
  name: "Ana",
  tenant: tenantId === null ? null : { id: tenantId, name: "Northwind", type: "Standard" },
  hasOtherTenants: false,
  isInPlatform: false,
  permissions: new Set(permissions),
});
const parts = (
  locale: Locale,
  of: AuditEntry,
  permissions = ["read:users", "read:roles"],
  tenantId = TENANT,
) => auditSentence({ locale, viewer: viewer(permissions, tenantId) }, of);
const said = (of: AuditEntry) =>
  (["en", "pt"] as const).map((locale) => parts(locale, of).map(({ text }) => text).join(""));

Deno.test("changes of the permissions of a role are said with the permissions", () => {
  const update = (before: string[], after: string[]) =>
    said(entry("role.update", BILLING, {
      before: { name: "Billing", permissions: before },
      after: { name: "Billing", permissions: after },
    }));
  assert.deepEqual(update(["a:x"], ["a:x", "read:invoices"]), [
    "Ana gave role Billing the permission read:invoices",
    "Ana deu a permissão read:invoices ao papel Billing",
  ]);
  assert.deepEqual(update(["a:x", "b:y"], ["c:z"]), [
    "Ana gave role Billing the permission c:z and took the permissions a:x, b:y",
    "Ana deu a permissão c:z ao papel Billing e tirou as permissões a:x, b:y",
  ]);
  assert.deepEqual(update(["a:x"], []), [
    "Ana took the permission a:x from role Billing",
    "Ana tirou a permissão a:x do papel Billing",
  ]);
  assert.equal(update([], ["a:1", "a:2", "a:3", "a:4"])[0], "Ana gave role Billing 4 permissions");
  assert.deepEqual(said(entry("role.permission.assign", BILLING, { after: { id: SALES, code: "a:x" } })), [
    "Ana gave role Billing the permission a:x",
    "Ana deu a permissão a:x ao papel Billing",
  ]);
});

Deno.test("roles of a user are said with their names", () => {
  const set = entry("user.set-roles", BRUNO, {
    before: { roleIds: [SALES] },
    after: { roleIds: [SALES, BILLING] },
  });
  assert.deepEqual(said(set), ["Ana gave Bruno the role Billing", "Ana deu o papel Billing a Bruno"]);
  const acted = entry("user.set-roles", BRUNO, { ...set, actedBy: BRUNO });
  assert.equal(said(acted)[0], "Bruno as Ana gave Bruno the role Billing");
});

Deno.test("other changes are said with what changed, and pauses with their reason", () => {
  const renamed = entry("user.update", BRUNO, { before: { firstName: "B" }, after: { firstName: "Bruno" } });
  assert.deepEqual(said(renamed), [
    "Ana changed user Bruno: first name",
    "Ana alterou o usuário Bruno: nome",
  ]);
  const off = entry("user.update", BRUNO, { before: { isActive: true }, after: { isActive: false } });
  assert.deepEqual(said(off), ["Ana deactivated user Bruno", "Ana desativou o usuário Bruno"]);
  const pause = entry("jobQueue.pause", "mail", {
    before: { isPaused: false },
    after: { isPaused: true, reason: "The provider is down" },
  });
  assert.deepEqual(said(pause), [
    "Ana paused queue mail: The provider is down",
    "Ana pausou a fila mail: The provider is down",
  ]);
  assert.deepEqual(said(entry("deadLetter.purge", TENANT, { after: { purged: 3 } })), [
    "Ana purged 3 dead letters",
    "Ana excluiu 3 falhas definitivas",
  ]);
  assert.deepEqual(said(entry("user.link", BRUNO, { after: { tenantId: TENANT } })), [
    "Ana added Bruno to Northwind",
    "Ana adicionou Bruno a Northwind",
  ]);
});

Deno.test("the service, API keys and unknown actions are named too", () => {
  const deleted = entry("file.purge", JOB, { actorId: null, before: { name: "a.pdf" } });
  assert.deepEqual(said(deleted), [
    "The service deleted the content of file a.pdf",
    "O serviço excluiu o conteúdo do arquivo a.pdf",
  ]);
  const byKey = entry("role.create", BILLING, { apiKeyId: SALES, after: { name: "Billing" } });
  assert.equal(said(byKey)[0], "A key or link of Ana created role Billing");
  assert.equal(said(entry("invoice.settle", "42"))[0], "Ana did invoice.settle to 42");
  const mark = entry("deployMark.create", JOB, { after: { label: "Billing 4.2" } });
  assert.equal(said(mark)[0], "Ana created mark of a deploy Billing 4.2");
});

Deno.test("names are links to the pages that the viewer may open", () => {
  const change = entry("role.create", BILLING, { after: { name: "Billing" } });
  const links = (permissions: string[], tenantId = TENANT) =>
    parts("en", change, permissions, tenantId).flatMap(({ href }) => href ?? []);
  assert.deepEqual(links(["read:users", "read:roles"]), [`audit?actor=${ANA}`, `roles/${BILLING}`]);
  assert.deepEqual(links(["read:users"]), [`audit?actor=${ANA}`]);
  const elsewhere = links(["read:users", "read:roles"], SALES);
  assert.deepEqual(elsewhere, [`audit?actor=${ANA}`], "another tenant's role");
  const deleted = parts("en", entry("role.delete", BILLING, { before: { name: "Billing" } }));
  assert.equal(deleted.at(-1)?.href, undefined, "a deleted role has no page");
  const ran = parts("en", entry("job.retry", JOB));
  assert.deepEqual(ran.filter(({ href }) => href).map(({ text }) => text), ["Ana", "…00000006"]);
});
