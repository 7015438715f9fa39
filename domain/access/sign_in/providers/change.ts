import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { readAllowList, urlMistake } from "../../../../infra/http_out/addresses.ts";
import { transact, type Tx } from "../../../../infra/postgres/postgres.ts";
import { readSamlCertificate, readSamlMetadata, SamlRefused } from "../../../../infra/saml.ts";
import { recordAudit } from "../../../audit/audit.ts";
import { type FieldErrors, invalid, problem } from "../../../problems/problem.ts";
import type { TenantCaller } from "../../../rights/caller.ts";
import { definedMembers } from "../../../shared/defined_members.ts";
import { newId } from "../../../shared/ids.ts";
import { countRows } from "../../../shared/lists.ts";
import { enumName, requiredName, requiredText, uuid } from "../../../shared/shapes.ts";
import { requireVersion } from "../../../shared/version.ts";
import { tellClients } from "../../access_changes.ts";
import type { AccessPlatform } from "../../platform.ts";
import { requireMayAssignRoles, requireWithinTenant } from "../../roles/escalation.ts";
import { lockLinkTargets, requireOwnTargets } from "../../users/link_targets.ts";
import {
  ClaimNames,
  type Connection,
  CONNECTION_OF,
  PROVIDER_KINDS,
  type ProviderRow,
  readGroupRoles,
  readProvider,
  requireComplete,
  sealClientSecret,
} from "./provider.ts";

const MAX_PROVIDERS = 5;
const MAX_CERTIFICATES = 5;

/** A certificate as the record has it, alone in its text. */
const certificate = z.object({
  pem: z.string().trim().max(10_000).refine(
    isCertificate,
    "expected one certificate in PEM with an RSA key of at least 2048 bits",
  ),
}).transform(({ pem }) => pem);

const members = {
  name: requiredName(100),
  issuer: requiredText(500).nullable(),
  clientId: requiredText(500).nullable(),
  clientSecret: z.string().min(1).max(2000).nullable().describe("null: a public client"),
  entityId: requiredText(1024).nullable(),
  signInUrl: requiredText(2000).nullable(),
  certificates: z.array(certificate).max(MAX_CERTIFICATES),
  metadata: z.string().max(131_072).describe(
    "Of kind Saml: the XML that the provider publishes, in the place of the three before",
  ),
  claims: ClaimNames,
  createsUsers: z.boolean(),
  roleId: uuid.nullable(),
  satisfiesSecondFactor: z.boolean(),
};

const EXAMPLE = {
  name: "Example Ltd",
  issuer: "https://id.example.com",
  clientId: "steward",
  createsUsers: true,
};

/** A change of a provider. Members that are left out keep their value. */
export const ProviderChange = z.object(members).partial().meta({
  id: "UpdateSignInProviderRequest",
  description: "Members left out keep their value",
  example: EXAMPLE,
});
type ProviderChange = z.output<typeof ProviderChange>;

/** A provider to create, which is not enabled. */
export const NewProvider = z.object({ ...members, kind: enumName(PROVIDER_KINDS) })
  .partial().required({ kind: true, name: true }).meta({
    id: "CreateSignInProviderRequest",
    example: { kind: "Oidc", ...EXAMPLE },
    description:
      "Before it can be enabled or tested, kind Oidc needs issuer and clientId, kind Saml entityId, signInUrl and " +
      "certificates",
  });

const CONNECTION = [...CONNECTION_OF.Oidc, ...CONNECTION_OF.Saml];

/**
 * Creates a provider, which is not enabled.
 * @throws VALIDATION_ERROR, SIGN_IN_PROVIDER_PLATFORM_CONFLICT, SIGN_IN_PROVIDERS_LIMIT_CONFLICT, ROLE_NOT_FOUND,
 * ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN, SIGN_IN_SECRETS_UNAVAILABLE
 */
export async function createProvider(
  p: AccessPlatform,
  caller: TenantCaller,
  { kind, ...given }: z.output<typeof NewProvider>,
): Promise<ProviderRow> {
  const { tenantId } = caller;
  const id = newId();
  const blank = {
    kind,
    name: given.name,
    connection: { issuer: null, clientId: null, entityId: null, signInUrl: null, certificates: [] },
    claims: ClaimNames.parse({}),
    createsUsers: false,
    roleId: null,
    satisfiesSecondFactor: true,
  };
  const row = { id, ...await changed(p, blank, given) };
  const clientSecret = given.clientSecret ? sealClientSecret(p.config, id, given.clientSecret) : null;
  return await transact(p.sql, async (tx) => {
    await requireMayDecide(tx, caller, row); // locks the tenant, which fixes the number of providers
    await requireRoom(tx, tenantId);
    await tx`insert into sign_in_providers (id, tenant_id, kind, name, connection, client_secret, claims, creates_users,
        role_id, satisfies_second_factor)
      values (${id}, ${tenantId}, ${kind}, ${row.name}, ${JSON.stringify(row.connection)}::text::jsonb,
        ${clientSecret}, ${JSON.stringify(row.claims)}::text::jsonb, ${row.createsUsers}, ${row.roleId},
        ${row.satisfiesSecondFactor})`;
    const created = await readProvider(tx, tenantId, id);
    await recordAudit(tx, caller, "sign-in-provider.create", id, { after: audited(created) });
    return created;
  });
}

async function requireRoom(tx: Tx, tenantId: string): Promise<void> {
  const [platform] = await tx`select from tenants where id = ${tenantId} and type = 'Platform'`;
  if (platform) {
    throw problem(
      "SIGN_IN_PROVIDER_PLATFORM_CONFLICT",
      "The platform tenant has no providers of its own: the setting OIDC_PROVIDERS has those of the service.",
    );
  }
  if (await countRows(tx, tx`sign_in_providers where tenant_id = ${tenantId}`) < MAX_PROVIDERS) return;
  throw problem(
    "SIGN_IN_PROVIDERS_LIMIT_CONFLICT",
    `The provider was not created: the tenant already has ${MAX_PROVIDERS}, the maximum.`,
  );
}

/**
 * Changes a provider. A change of its connection ends the sessions that were opened by it. Another issuer or entity id is
 * another provider, so the links of its subjects to users are deleted, and a client secret that is not given again too.
 * @throws as `createProvider`, and SIGN_IN_PROVIDER_NOT_FOUND, PRECONDITION_FAILED
 */
export async function updateProvider(
  p: AccessPlatform,
  caller: TenantCaller,
  id: string,
  { clientSecret, ...given }: ProviderChange,
  ifMatch: string | null,
): Promise<ProviderRow> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    const before = await readProvider(tx, tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    const after = await changed(p, before, given);
    if (before.isEnabled) requireComplete(after);
    if (clientSecret) requireOidc(before);
    const [was, is] = [before.connection, after.connection];
    // the secret is sent to the issuer, so who names another one must know it
    const isSecretGone = before.clientSecret !== null && (clientSecret === null || was.issuer !== is.issuer);
    const isNewSecret = Boolean(clientSecret) || isSecretGone;
    if (isDeepStrictEqual(audited(before), audited(after)) && !isNewSecret) return before;
    await requireMayDecide(tx, caller, after);
    const secret = clientSecret ? sealClientSecret(p.config, id, clientSecret) : null;
    await tx`update sign_in_providers set name = ${after.name},
        connection = ${JSON.stringify(after.connection)}::text::jsonb,
        client_secret = ${isNewSecret ? secret : tx`client_secret`},
        claims = ${JSON.stringify(after.claims)}::text::jsonb, creates_users = ${after.createsUsers},
        role_id = ${after.roleId}, satisfies_second_factor = ${after.satisfiesSecondFactor},
        version = version + 1, updated_at = now()
      where id = ${id}`;
    const isReconnected = isNewSecret || !isDeepStrictEqual(was, is);
    if (isReconnected) await endProviderSessions(p, tx, id, "sign-in provider changed");
    if (was.issuer !== is.issuer || was.entityId !== is.entityId) {
      await tx`delete from sign_in_subjects where provider_id = ${id}`;
      await tx`update sign_in_providers set last_sign_in_at = null where id = ${id}`;
    }
    await recordAudit(tx, caller, "sign-in-provider.update", id, {
      before: audited(before),
      after: { ...audited(after), ...isNewSecret ? { clientSecret: "changed" } : {} },
    });
    return await readProvider(tx, tenantId, id);
  });
}

/**
 * Enables or disables a provider. Disabling it ends the sessions that were opened by it.
 * @throws SIGN_IN_PROVIDER_NOT_FOUND, PRECONDITION_FAILED, VALIDATION_ERROR (the connection is not complete)
 */
export async function setProviderEnabled(
  p: AccessPlatform,
  caller: TenantCaller,
  id: string,
  isEnabled: boolean,
  ifMatch: string | null,
): Promise<ProviderRow> {
  return await transact(p.sql, async (tx) => {
    const before = await readProvider(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    if (before.isEnabled === isEnabled) return before;
    if (isEnabled) requireComplete(before);
    await tx`update sign_in_providers set is_enabled = ${isEnabled}, version = version + 1, updated_at = now()
      where id = ${id}`;
    if (!isEnabled) await endProviderSessions(p, tx, id, "sign-in provider disabled");
    await recordAudit(tx, caller, `sign-in-provider.${isEnabled ? "enable" : "disable"}`, id, {
      before: { isEnabled: !isEnabled },
      after: { isEnabled },
    });
    return await readProvider(tx, caller.tenantId, id);
  });
}

/** Deletes a provider and ends its sessions. @throws SIGN_IN_PROVIDER_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteProvider(
  p: AccessPlatform,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await readProvider(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    await endProviderSessions(p, tx, id, "sign-in provider deleted");
    await tx`delete from sign_in_providers where id = ${id}`;
    await recordAudit(tx, caller, "sign-in-provider.delete", id, { before: audited(before) });
  });
}

/** Ends the sessions of a locked provider, and its sign-ins that have not finished. */
async function endProviderSessions(p: AccessPlatform, tx: Tx, id: string, reason: string): Promise<void> {
  await tx`delete from oidc_flows where provider_id = ${id}`;
  await tx`delete from oidc_handovers where provider_id = ${id}`;
  await tx`delete from factor_tokens where provider_id = ${id}`;
  const users = await tx<{ userId: string }[]>`
    select distinct user_id from sessions where provider_id = ${id} and revoked_at is null`;
  const userIds = users.map(({ userId }) => userId);
  await tellClients(p, tx, userIds);
  await tx`update sessions set revoked_at = now(), revoked_reason = ${reason}
    where provider_id = ${id} and revoked_at is null`;
  p.rights.invalidateAfterCommit(tx, userIds);
}

type Settings = Pick<
  ProviderRow,
  "kind" | "name" | "connection" | "claims" | "createsUsers" | "roleId" | "satisfiesSecondFactor"
>;

/** The settings with their change. @throws VALIDATION_ERROR */
async function changed(
  p: Pick<AccessPlatform, "config">,
  before: Settings,
  { metadata, ...rest }: Omit<ProviderChange, "clientSecret"> & { clientSecret?: string | null | undefined },
): Promise<Settings> {
  const { kind } = before;
  const given = metadata === undefined ? rest : { ...rest, ...await connectionOf(metadata) };
  const foreign = CONNECTION.filter((name) =>
    Boolean(given[name]?.length) && !(CONNECTION_OF[kind] as readonly string[]).includes(name)
  );
  if (foreign.length > 0) {
    throw invalid(Object.fromEntries(foreign.map((name) => [name, [`a provider of kind ${kind} has none`]])));
  }
  if (given.clientSecret) requireOidc(before);
  const { issuer, clientId, entityId, signInUrl, certificates } = given;
  const sent = definedMembers({ issuer, clientId, entityId, signInUrl, certificates });
  const connection: Connection = { ...before.connection, ...sent };
  requireAddresses(p, connection);
  const { name = before.name, claims = before.claims, createsUsers = before.createsUsers } = given;
  const { roleId = before.roleId, satisfiesSecondFactor = before.satisfiesSecondFactor } = given;
  return { kind, name, connection, claims, createsUsers, roleId, satisfiesSecondFactor };
}

/** @throws VALIDATION_ERROR */
async function connectionOf(metadata: string) {
  try {
    return await readSamlMetadata(metadata);
  } catch (cause) {
    throw cause instanceof SamlRefused ? invalid({ metadata: [cause.message] }) : cause;
  }
}

function requireOidc({ kind }: Pick<ProviderRow, "kind">): void {
  if (kind !== "Oidc") throw invalid({ clientSecret: [`a provider of kind ${kind} has none`] });
}

/** Checks that the URLs of a connection may be used. @throws VALIDATION_ERROR */
function requireAddresses({ config }: Pick<AccessPlatform, "config">, connection: Connection): void {
  const errors: FieldErrors = {};
  for (const name of ["issuer", "signInUrl"] as const) {
    const value = connection[name];
    const mistake = value === null ? null : addressMistake(value, config.OUTBOUND_ALLOW);
    if (mistake) errors[name] = [mistake];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/** The reason why a provider cannot have the URL: it must be of https, unless OUTBOUND_ALLOW names its host. */
function addressMistake(text: string, allow: string | null): string | null {
  const mistake = urlMistake(text, allow);
  const url = URL.parse(text);
  if (mistake || !url || url.protocol === "https:") return mistake;
  const isNamed = readAllowList(allow).allows(url.hostname, Number(url.port) || 80, url.hostname);
  return isNamed ? null : "expected a URL that starts with https://";
}

/**
 * Checks that the caller may decide who gets the roles that the provider gives: its own, and with a claim for groups all roles
 * that are groups. Otherwise a provider under the caller's control could make them administrators.
 * @throws ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN
 */
async function requireMayDecide(
  tx: Tx,
  caller: TenantCaller,
  { roleId, claims }: Pick<Settings, "roleId" | "claims">,
): Promise<void> {
  const { tenantId } = caller;
  const own = { tenantId, roleIds: roleId === null ? [] : [roleId] };
  requireOwnTargets(await lockLinkTargets(tx, [own]), own);
  const groups = claims.groups === null ? [] : await readGroupRoles(tx, tenantId);
  await requireMayAssignRoles(tx, caller, [...own.roleIds, ...groups.map(({ id }) => id)]);
  await requireWithinTenant(tx, own.roleIds, "at a sign-in");
}

/** The members of a provider that its audit rows have. */
const audited = (
  { kind, name, connection, claims, createsUsers, roleId, satisfiesSecondFactor }: Settings,
) => ({
  kind,
  name,
  ...connection,
  claims,
  createsUsers,
  roleId,
  satisfiesSecondFactor,
});

function isCertificate(text: string): boolean {
  try {
    return text.split("-----BEGIN").length === 2 && readSamlCertificate(text) !== "";
  } catch {
    return false;
  }
}
