import assert from "node:assert/strict";
import { checkDueDomain } from "../../../domain/access/sign_in/providers/domains.ts";
import { has, pluck } from "../../support/answers.ts";
import { makeSamlKey } from "../../support/saml.ts";
import { startNameServer } from "../../support/name_server.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { withToken } from "./people.ts";

const names = await startNameServer();
const t = await setupShared();
const { hostname, port } = new URL(`dns://${names.address}`);
const DNS_SERVER = { hostname, port: Number(port) };
const restore = t.replace(({ config }) => config, { DNS_SERVER });
Deno.test.afterAll(() => {
  restore();
  names.stop();
});
const { platform, sql } = t;
const PROVIDERS = "/api/v1/sign-in-providers";
const DOMAINS = "/api/v1/sign-in-domains";
const LINKS = "/api/v1/sign-in-setup-links";
const OIDC = { kind: "Oidc", name: "Id", issuer: "https://id.example.com", clientId: "steward" };
const PEM = (await makeSamlKey()).certificate.trim();
const SAML = {
  kind: "Saml",
  name: "Saml",
  entityId: "urn:company",
  signInUrl: "https://id.example.com/saml",
  certificates: [{ pem: PEM }],
};
const NOT_VALID = "400 VALIDATION_ERROR";
const ESCALATION = "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED";

/** The token of a set-up link, which is in the fragment. */
const tokenIn = (url: string): string => new URLSearchParams(new URL(url).hash.slice(1)).get("token") ?? "";

Deno.test("a provider is created, enabled and deleted; its secret is never shown", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const { id, ...made } = await accepted(admin.post(PROVIDERS, { ...OIDC, clientSecret: "very secret" }));
  has(made, { hasClientSecret: true, isEnabled: false, satisfiesSecondFactor: true, entityId: null });
  assert.equal(made.service.redirectUri, `${platform.baseUrl()}/api/v1/auth/oidc/${id}/callback`);
  const [row] = await sql`select client_secret from sign_in_providers where id = ${id}`;
  assert.ok(!JSON.stringify([made, row?.clientSecret]).includes("very secret"));
  const at = `${PROVIDERS}/${id}`;
  assert.equal((await accepted(admin.put(at, { clientSecret: null }))).hasClientSecret, false);
  assert.equal((await accepted(admin.post(`${at}/enable`))).isEnabled, true);
  await accepted(admin.delete(at), 204);
  await refused("404 SIGN_IN_PROVIDER_NOT_FOUND", admin.get(at));
});

Deno.test("a connection must be of its kind, complete before it is used, and reach no private address", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const saml = await accepted(admin.post(PROVIDERS, SAML), 201);
  assert.ok(Date.parse(saml.certificates[0].expiresAt) > Date.now());
  assert.equal(saml.service.metadataUrl, saml.service.entityId);
  const partly = await accepted(admin.post(PROVIDERS, { ...OIDC, clientId: undefined }), 201);
  await accepted(admin.post(`${PROVIDERS}/${saml.id}/enable`));
  const local = ["https://127.0.0.1", "https://[::1]/", "https://localhost"];
  const issuers = [...local, "http://id.example.com", "https://a:b@id.example.com", "ftp://x", "no"];
  await refused(
    NOT_VALID,
    admin.post(`${PROVIDERS}/${partly.id}/enable`),
    admin.post(`${PROVIDERS}/${partly.id}/test`),
    admin.put(`${PROVIDERS}/${saml.id}`, { signInUrl: null }),
    admin.post(PROVIDERS, { ...SAML, metadata: "<EntityDescriptor/>" }),
    admin.post(PROVIDERS, { ...OIDC, entityId: "urn:x" }),
    admin.post(PROVIDERS, { ...SAML, clientSecret: "x" }),
    admin.post(PROVIDERS, { ...SAML, certificates: [{ pem: `${PEM}\n${PEM}` }] }),
    ...issuers.map((issuer) => admin.post(PROVIDERS, { ...OIDC, issuer })),
    admin.put(`${PROVIDERS}/${saml.id}`, { issuer: OIDC.issuer }),
  );
  // a name that resolves to a private address is refused by the request itself
  const { id } = await accepted(admin.post(PROVIDERS, OIDC), 201);
  await accepted(admin.post(`${PROVIDERS}/${id}/enable`));
  await sql`update sign_in_providers set connection = connection || '{"issuer": "https://127.0.0.1:1"}' where id = ${id}`;
  await refused("503 OIDC_PROVIDER_UNAVAILABLE", t.nobody.get(`/api/v1/auth/oidc/${id}`));
  assert.ok(t.logs.some((line) => line.includes(id) && line.includes("not in OUTBOUND_ALLOW")));
});

Deno.test("a tenant has at most five providers, the platform none", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  for (let n = 0; n < 5; n++) await accepted(admin.post(PROVIDERS, OIDC), 201);
  await refused("409 SIGN_IN_PROVIDERS_LIMIT_CONFLICT", admin.post(PROVIDERS, OIDC));
  await refused("409 SIGN_IN_PROVIDER_PLATFORM_CONFLICT", t.systemAdmin.post(PROVIDERS, OIDC));
});

Deno.test("without TARGET_KEYS only public clients are possible", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const { id } = await accepted(admin.post(PROVIDERS, { ...OIDC, clientSecret: "secret" }), 201);
  await accepted(admin.post(`${PROVIDERS}/${id}/enable`));
  using _without = t.replace(({ config }) => config, { TARGET_KEYS: null });
  await refused(
    "503 SIGN_IN_SECRETS_UNAVAILABLE",
    admin.post(PROVIDERS, { ...OIDC, clientSecret: "secret" }),
    t.nobody.get(`/api/v1/auth/oidc/${id}`),
  );
  await accepted(admin.post(PROVIDERS, OIDC), 201);
});

Deno.test("the stored client secret stays with its issuer", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const { id } = await accepted(admin.post(PROVIDERS, { ...OIDC, clientSecret: "secret" }), 201);
  const hasSecret = async (change: Record<string, unknown>) =>
    (await accepted(admin.put(`${PROVIDERS}/${id}`, change))).hasClientSecret;
  assert.equal(await hasSecret({ clientId: "other", issuer: OIDC.issuer }), true);
  assert.equal(await hasSecret({ issuer: "https://elsewhere.example.com" }), false);
  assert.equal(await hasSecret({ issuer: OIDC.issuer, clientSecret: "secret" }), true);
});

Deno.test("roles that the caller may not assign, or of platform reach, are no provider's", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const [visitor] = await sql`select id from roles where tenant_id = ${admin.tenantId} and name = 'Visitor'`;
  await refused(
    ESCALATION,
    admin.post(PROVIDERS, { ...OIDC, roleId: visitor?.id }),
    admin.post(PROVIDERS, { ...OIDC, claims: { groups: "groups" } }),
  );
  await sql`insert into role_permissions (role_id, permission_id) select ${visitor?.id}, id from permissions where code = 'admin:system'`;
  const system = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["admin:system"] });
  await refused(ESCALATION, system.post(PROVIDERS, { ...OIDC, roleId: visitor?.id }));
});

Deno.test("a TXT record verifies a domain, and three daily checks without it fail it", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const made = await accepted(admin.post(DOMAINS, { name: "Example.COM" }), 201);
  has(made, { name: "example.com", dnsName: "_steward-sign-in.example.com", status: "Pending" });
  await refused("409 SIGN_IN_DOMAIN_ALREADY_EXISTS", admin.post(DOMAINS, { name: "example.com" }));
  await refused(
    NOT_VALID,
    ...["localhost", "10.0.0.1", "a b.com", ""].map((name) => admin.post(DOMAINS, { name })),
  );
  await sql`insert into sign_in_domains (id, tenant_id, name, dns_value)
    select gen_random_uuid(), ${admin.tenantId}, n || '.example.com', '' from generate_series(2, 50) n`;
  await refused("409 SIGN_IN_DOMAINS_LIMIT_CONFLICT", admin.post(DOMAINS, { name: "example.net" }));
  await sql`delete from sign_in_domains where tenant_id = ${admin.tenantId} and id <> ${made.id}`;
  const verify = () => accepted(admin.post(`${DOMAINS}/${made.id}/verify`));
  const missing = await verify();
  assert.deepEqual([missing.status, /was not found/.test(missing.lastError)], ["Pending", true]);
  names.records.set(made.dnsName, [made.dnsValue]);
  assert.deepEqual([(await verify()).status, (await verify()).lastError], ["Verified", null]);
  names.records.delete(made.dnsName);
  const read = async () => (await accepted(admin.get(DOMAINS))).items[0];
  const daily = async () => {
    const { checkedAt } = await read();
    await sql`update sign_in_domains set next_check_at = now() - interval '1 ms' where id = ${made.id}`;
    await checkDueDomain(platform); // the service's own job may have taken the check
    return (await until(read, (domain) => domain.checkedAt !== checkedAt)).status;
  };
  assert.equal((await verify()).status, "Verified");
  for (const expected of ["Verified", "Verified", "Failed"]) assert.equal(await daily(), expected);
  await accepted(admin.delete(`${DOMAINS}/${made.id}`), 204);
  await refused("404 SIGN_IN_DOMAIN_NOT_FOUND", admin.delete(`${DOMAINS}/${made.id}`));
});

Deno.test("a set-up link is for one task in one tenant, and as long as its creator holds the permission", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in", "read:users", "read:roles"] });
  const { id, url } = await accepted(admin.post(LINKS), 201);
  const token = tokenIn(url);
  const link = withToken(t, token);
  const made = await accepted(link.post(PROVIDERS, OIDC), 201);
  await accepted(link.post(DOMAINS, { name: "example.org" }), 201);
  assert.match((await accepted(link.post(`${PROVIDERS}/${made.id}/test`))).url, /test=/);
  const [entry] = await sql`select actor_id, api_key_id from audit_log where target_id = ${made.id}`;
  assert.deepEqual({ ...entry }, { actorId: admin.userId, apiKeyId: id });
  const [role] = await sql`select id from roles where tenant_id = ${admin.tenantId} and name = 'Visitor'`;
  await refused(
    ESCALATION,
    link.put(`${PROVIDERS}/${made.id}`, { roleId: role?.id }),
    link.put(`${PROVIDERS}/${made.id}`, { claims: { groups: "g" } }),
  );
  await refused("404 SIGN_IN_SETUP_LINK_NOT_FOUND", admin.delete(`${LINKS}/${crypto.randomUUID()}`));
  const elsewhere = { "x-tenant-id": await t.tenant() };
  await refused("403 TENANT_FORBIDDEN", link.get(PROVIDERS, elsewhere));
  await sql`update user_tenants set is_active = false where user_id = ${admin.userId}`;
  await refused("401 SESSION_INVALIDATED", link.get(PROVIDERS));
  await sql`update user_tenants set is_active = true where user_id = ${admin.userId}`;
  assert.deepEqual(pluck((await accepted(admin.get(LINKS))).items, "id"), [id]);
  await accepted(admin.delete(`${LINKS}/${id}`), 204);
  await refused("401 TOKEN_REVOKED", link.get(PROVIDERS));
  const next = withToken(t, tokenIn((await accepted(admin.post(LINKS))).url));
  await sql`update sign_in_setup_links set expires_at = now() - interval '1 ms' where tenant_id = ${admin.tenantId}`;
  await refused("401 TOKEN_EXPIRED", next.get(PROVIDERS));
  await refused("401 TOKEN_INVALID", withToken(t, `${token}x`).get(PROVIDERS));
  // a service account hands out links too, which end with it
  const maker = await t.actor({ permissions: ["manage:service-accounts", "manage:sign-in"] });
  const given = { name: "n", permissions: ["manage:sign-in"], tenants: [maker.tenantId] };
  const account = await accepted(maker.post("/api/v1/service-accounts", given), 201);
  const inTenant = { "x-tenant-id": maker.tenantId ?? "" };
  const { url: byAccount } = await accepted(
    withToken(t, account.secret).post(LINKS, undefined, inTenant),
    201,
  );
  const ofAccount = withToken(t, tokenIn(byAccount));
  await accepted(ofAccount.get(PROVIDERS));
  await accepted(maker.delete(`/api/v1/service-accounts/${account.id}`), 204);
  await refused("401 SESSION_INVALIDATED", ofAccount.get(PROVIDERS));
});
