import type { OpenIdIdentity } from "../../../../infra/openid.ts";
import { X509Certificate } from "node:crypto";
import { z } from "zod";
import { createSecretBox, type SecretBox } from "../../../../infra/encryption.ts";
import { mailDomain } from "../../../../infra/mail/mail_address.ts";
import type { Sql } from "../../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../../problems/problem.ts";
import { storableText } from "../../../shared/cut_text.ts";
import { readPage } from "../../../shared/lists.ts";
import type { PagedResult, PageRequest } from "../../../shared/paging.ts";
import type { Platform } from "../../../shared/platform.ts";
import { time } from "../../../shared/shapes.ts";

export const PROVIDER_KINDS = ["Oidc", "Saml"] as const;
export type ProviderKind = typeof PROVIDER_KINDS[number];

const claimName = z.string().trim().min(1).max(300).nullable().default(null);

/** The claims or SAML attributes that hold the members of an identity. */
export const ClaimNames = z.object({
  email: claimName,
  firstName: claimName,
  lastName: claimName,
  groups: claimName.describe("null: a sign-in changes no roles"),
}).meta({ id: "SignInClaims", description: "null: the usual name" });
export type ClaimNames = z.output<typeof ClaimNames>;

/** A tenant's own provider of sign-in. */
export const SignInProvider = z.object({
  id: z.guid(),
  kind: z.enum(PROVIDER_KINDS),
  name: z.string(),
  isEnabled: z.boolean(),
  issuer: z.string().nullable().describe("Of kind Oidc"),
  clientId: z.string().nullable(),
  hasClientSecret: z.boolean(),
  entityId: z.string().nullable().describe("Of kind Saml: the provider's own id"),
  signInUrl: z.string().nullable().describe("Of kind Saml: where browsers are sent to sign in"),
  certificates: z.array(z.object({ pem: z.string(), expiresAt: time })).describe(
    "Of kind Saml: their keys sign the provider's answers",
  ),
  claims: ClaimNames,
  createsUsers: z.boolean().describe(
    "true: a person of a verified domain who is no user of the tenant becomes one",
  ),
  roleId: z.guid().nullable().describe("The role of users whom a sign-in adds"),
  satisfiesSecondFactor: z.boolean().describe("true: its sign-ins count as two factors"),
  lastSignInAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
  service: z.object({
    startUrl: z.string().describe("Where a browser starts to sign in"),
    redirectUri: z.string().describe("Where the provider sends the browser back"),
    entityId: z.string().nullable(),
    metadataUrl: z.string().nullable(),
  }).describe("The service's own values, to be entered at the provider"),
}).meta({ id: "SignInProviderDto" });
export type SignInProvider = z.output<typeof SignInProvider>;

/** The members by which the service knows a provider. Those of the other kind are null. */
export interface Connection extends Pick<SignInProvider, "issuer" | "clientId" | "entityId" | "signInUrl"> {
  /** In PEM. */
  certificates: string[];
}

/** The members that the connection of a kind has. */
export const CONNECTION_OF = {
  Oidc: ["issuer", "clientId"],
  Saml: ["entityId", "signInUrl", "certificates"],
} as const;

/**
 * Checks that a connection can be used. It is completed after its creation if the provider asks for the service's URLs first.
 * @throws VALIDATION_ERROR
 */
export function requireComplete({ kind, connection }: Pick<ProviderRow, "kind" | "connection">): void {
  const missing = CONNECTION_OF[kind].filter((name) => !connection[name]?.length);
  if (missing.length === 0) return;
  throw invalid(Object.fromEntries(missing.map((name) => [name, [`a provider of kind ${kind} needs it`]])));
}

/** A stored provider. Its client secret is encrypted. */
export interface ProviderRow extends Omit<SignInProvider, keyof Connection | "hasClientSecret" | "service"> {
  tenantId: string;
  connection: Connection;
  clientSecret: string | null;
  version: number;
}

const columns = (q: Sql) =>
  q`id, tenant_id, kind, name, is_enabled, connection, client_secret, claims, creates_users, role_id,
    satisfies_second_factor, last_sign_in_at, version, created_at, updated_at`;

/** The URLs of the service for a provider. */
export function serviceUrls(
  { baseUrl }: Pick<Platform, "baseUrl">,
  { id, kind }: Pick<ProviderRow, "id" | "kind">,
): SignInProvider["service"] {
  const startUrl = `${baseUrl()}/api/v1/auth/${kind.toLowerCase()}/${id}`;
  if (kind === "Oidc") {
    return { startUrl, redirectUri: `${startUrl}/callback`, entityId: null, metadataUrl: null };
  }
  const metadataUrl = `${startUrl}/metadata`;
  return { startUrl, redirectUri: `${startUrl}/acs`, entityId: metadataUrl, metadataUrl };
}

/** The record of a provider as callers see it. */
export function shownProvider(p: Pick<Platform, "baseUrl">, row: ProviderRow): SignInProvider {
  const { tenantId: _, connection, clientSecret, version: __, ...rest } = row;
  const certificates = connection.certificates.map((pem) => ({
    pem,
    expiresAt: new Date(new X509Certificate(pem).validTo),
  }));
  const service = serviceUrls(p, row);
  return { ...rest, ...connection, certificates, hasClientSecret: clientSecret !== null, service };
}

/** Lists the providers of a tenant, the oldest first. */
export async function listProviders(
  p: Pick<Platform, "baseUrl">,
  q: Sql,
  tenantId: string,
  page: PageRequest,
): Promise<PagedResult<SignInProvider>> {
  const from = q`sign_in_providers where tenant_id = ${tenantId}`;
  const list = { columns: columns(q), from, order: q`order by id` };
  const { items, ...rest } = await readPage<ProviderRow>(q, list, page);
  return { items: items.map((row) => shownProvider(p, row)), ...rest };
}

/** Reads a provider of the tenant. @throws SIGN_IN_PROVIDER_NOT_FOUND */
export async function readProvider(q: Sql, tenantId: string, id: string, lock = q``): Promise<ProviderRow> {
  const [row] = await q<ProviderRow[]>`
    select ${columns(q)} from sign_in_providers where id = ${id} and tenant_id = ${tenantId} ${lock}`;
  if (!row) throw problem("SIGN_IN_PROVIDER_NOT_FOUND", `The tenant has no sign-in provider ${id}.`);
  return row;
}

/** Reads a provider of any active tenant, also one that is not enabled; null if there is none. */
export async function findTenantProvider(q: Sql, id: string, lock = q``): Promise<ProviderRow | null> {
  const [row] = await q<ProviderRow[]>`
    select ${columns(q)} from sign_in_providers p where id = ${id}
      and exists (select from tenants t where t.id = p.tenant_id and t.is_active and t.deleted_at is null) ${lock}`;
  return row ?? null;
}

type Keys = Pick<Platform["config"], "TARGET_KEYS">;

/** @throws SIGN_IN_SECRETS_UNAVAILABLE without TARGET_KEYS */
function secretBox({ TARGET_KEYS }: Keys): SecretBox {
  if (TARGET_KEYS) return createSecretBox(TARGET_KEYS);
  throw problem(
    "SIGN_IN_SECRETS_UNAVAILABLE",
    "A client secret can be neither stored nor read: the service has no TARGET_KEYS.",
  );
}

/** Encrypts the client secret of a provider for storage. @throws SIGN_IN_SECRETS_UNAVAILABLE */
export const sealClientSecret = (keys: Keys, providerId: string, secret: string): string =>
  secretBox(keys).encrypt(new TextEncoder().encode(secret), providerId);

/** The client secret of a provider; undefined: a public client. @throws SIGN_IN_SECRETS_UNAVAILABLE, DecryptionFailed */
export const openClientSecret = (
  keys: Keys,
  { id, clientSecret }: Pick<ProviderRow, "id" | "clientSecret">,
): string | undefined =>
  clientSecret === null ? undefined : new TextDecoder().decode(secretBox(keys).decrypt(clientSecret, id));

/** The longest subject that is stored. */
const MAX_SUBJECT = 1000;
const MAX_GROUPS = 1000;

/** A person, as a tenant's provider asserts them. */
export interface AssertedIdentity extends Omit<OpenIdIdentity, "issuer" | "claims"> {
  /** False: the provider says that it has not verified the email. It need not say that it has. */
  isEmailVerified: boolean;
  /** Names or ids of groups; null: the provider does not say. */
  groups: string[] | null;
}

/**
 * Reads an identity from what a provider says.
 * @param said values by the names of claims or attributes; a list stands for its first value, except for groups
 * @returns null without a usable subject
 */
export function identityOf(
  { subject, isEmailVerified, amr }: Pick<AssertedIdentity, "subject" | "isEmailVerified" | "amr">,
  said: (name: string) => unknown,
  names: { [K in keyof ClaimNames]: string | null },
): AssertedIdentity | null {
  if (subject === "" || subject.length > MAX_SUBJECT || subject.includes("\0")) return null;
  const read = (name: string | null) => name === null ? [] : textsOf(said(name));
  const groups = names.groups === null || said(names.groups) === undefined ? null : read(names.groups);
  return {
    subject,
    isEmailVerified,
    amr,
    email: read(names.email)[0] ?? null,
    firstName: read(names.firstName)[0] ?? "",
    lastName: read(names.lastName)[0] ?? "",
    groups: groups?.slice(0, MAX_GROUPS) ?? null,
  };
}

/** The texts of a value in one line each. Texts with NUL are left out: without it they may equal another name. */
const textsOf = (value: unknown): string[] =>
  [value].flat().filter((each) => typeof each === "string").filter((each) => !each.includes("\0"))
    .map((each) => storableText(each.replaceAll(/\p{Cc}+/gu, " ").trim(), 320)).filter(Boolean);

/** A role that a directory or provider sees as a group. */
interface GroupRole {
  id: string;
  /** One of the given texts is its name as a group, or its id in the directory. */
  isNamed: boolean;
}

/** The roles of a tenant that are groups, without those that have platform reach: no provider gives or takes these. */
export const readGroupRoles = (q: Sql, tenantId: string, groups: string[] = []): Promise<GroupRole[]> =>
  q<GroupRole[]>`
    select r.id, coalesce(g.external_id = any(${groups}::text[]), false) or same_text(coalesce(g.display_name, r.name))
        = any(array(select same_text(n) from unnest(${groups}::text[]) n)) as is_named
    from roles r left join scim_groups g on g.role_id = r.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null and g.hidden_by is null and not exists (
      select from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
      where rp.role_id = r.id and p.reach = 'Platform')
    order by r.id`;

const MAX_PROVIDERS = 50;

/** How people of a tenant, or with an email, can sign in. */
export const SignInOptions = z.object({
  providers: z.array(z.object({
    id: z.guid(),
    kind: z.enum(PROVIDER_KINDS),
    name: z.string(),
    startUrl: z.string(),
  })),
  passwordSignIn: z.boolean().describe(
    "false: of the users of the tenant, only those who may use a password in an emergency can use one",
  ),
}).meta({ id: "SignInOptionsDto" });

/**
 * Reads the enabled providers of a tenant, or of all tenants that have verified the domain of an email. Of the email only the
 * domain counts, so the answer never tells whether a user exists.
 */
export async function readSignInOptions(
  p: Pick<Platform, "sql" | "baseUrl">,
  { email, tenantId }: { email: string | null; tenantId: string | null },
): Promise<z.output<typeof SignInOptions>> {
  const q = p.sql;
  const domain = email === null ? null : mailDomain(email);
  const tenants = q`select t.id, t.password_sign_in from tenants t where t.is_active and t.deleted_at is null
    and (t.id = ${tenantId} or ${tenantId}::uuid is null and t.id in (
      select d.tenant_id from sign_in_domains d where d.name = ${domain} and d.status = 'Verified'))`;
  const [providers, [password]] = await Promise.all([
    q<Pick<SignInProvider, "id" | "kind" | "name">[]>`
      select id, kind, name from sign_in_providers
      where is_enabled and tenant_id in (select id from (${tenants}) t)
      order by name, id limit ${MAX_PROVIDERS}`,
    q<{ isPossible: boolean }[]>`
      select coalesce(bool_or(password_sign_in), true) as is_possible from (${tenants}) t`,
  ]);
  return {
    providers: providers.map((row) => ({ ...row, startUrl: serviceUrls(p, row).startUrl })),
    passwordSignIn: password?.isPossible ?? true,
  };
}
