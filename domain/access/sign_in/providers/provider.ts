import { X509Certificate } from "node:crypto";
import { z } from "zod";
import type { Sql } from "../../../../infra/postgres/postgres.ts";
import { invalid, type Problem, problem } from "../../../problems/problem.ts";
import type { PagedResult, PageRequest } from "../../../shared/paging.ts";
import type { Platform } from "../../../shared/platform.ts";
import { readPage } from "../../../shared/lists.ts";
import { time } from "../../../shared/shapes.ts";
import { createSecretBox, type SecretBox } from "../../../../infra/encryption.ts";

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
export interface Connection {
  issuer: string | null;
  clientId: string | null;
  entityId: string | null;
  signInUrl: string | null;
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
export interface ProviderRow extends
  Pick<
    SignInProvider,
    | "id"
    | "kind"
    | "name"
    | "isEnabled"
    | "claims"
    | "createsUsers"
    | "roleId"
    | "satisfiesSecondFactor"
    | "lastSignInAt"
    | "createdAt"
    | "updatedAt"
  > {
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
  const { items, ...rest } = await readPage<ProviderRow>(
    q,
    { columns: columns(q), from, order: q`order by id` },
    page,
  );
  return { items: items.map((row) => shownProvider(p, row)), ...rest };
}

/** Reads a provider of the tenant. @throws SIGN_IN_PROVIDER_NOT_FOUND */
export async function readProvider(q: Sql, tenantId: string, id: string, lock = q``): Promise<ProviderRow> {
  const [row] = await q<ProviderRow[]>`
    select ${columns(q)} from sign_in_providers where id = ${id} and tenant_id = ${tenantId} ${lock}`;
  if (!row) throw providerNotFound(id);
  return row;
}

/** Reads a provider of any active tenant, also one that is not enabled; null if there is none. */
export async function findTenantProvider(q: Sql, id: string, lock = q``): Promise<ProviderRow | null> {
  const [row] = await q<ProviderRow[]>`
    select ${columns(q)} from sign_in_providers p where id = ${id}
      and exists (select from tenants t where t.id = p.tenant_id and t.is_active and t.deleted_at is null) ${lock}`;
  return row ?? null;
}

const providerNotFound = (id: string): Problem =>
  problem("SIGN_IN_PROVIDER_NOT_FOUND", `The tenant has no sign-in provider ${id}.`);

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
