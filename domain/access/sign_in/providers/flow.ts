import type { OpenIdBinding } from "../../../../infra/openid.ts";
import type { Sql } from "../../../../infra/postgres/postgres.ts";
import { invalid, type Problem, problem } from "../../../problems/problem.ts";
import { isUuid } from "../../../shared/ids.ts";
import { digest, newSecret } from "../../../shared/secrets.ts";
import type { TenantCaller } from "../../../rights/caller.ts";
import type { AccessPlatform } from "../../platform.ts";
import type { WantedTenant } from "../sessions.ts";
import {
  type AssertedIdentity,
  type Connection,
  findTenantProvider,
  type ProviderKind,
  type ProviderRow,
  readProvider,
  requireComplete,
  serviceUrls,
} from "./provider.ts";

export const FLOW_MINUTES = 10;

/** A started sign-in. */
export interface StartedFlow {
  /** URL of the provider to redirect the browser to. */
  location: string;
  state: string;
  /** Cookie value that binds the sign-in to this browser, so that no other browser can finish it. */
  browserSecret: string;
}

/** A sign-in to start. */
export interface FlowRequest extends WantedTenant {
  /** Name of a configured provider, or id of a tenant's. */
  provider: string;
  /** Where to redirect the browser afterwards: a path of the service or a URL of an allowed origin; null: nowhere. */
  returnTo: string | null;
  /** The ticket of a test; null: a sign-in. */
  test: string | null;
}

/** Values of a flow besides those of its request. */
interface FlowSecrets extends OpenIdBinding {
  browserSecret: string;
}

/** A sign-in that returned from the provider, with the values it was started with. */
export interface ReturnedFlow extends WantedTenant, Pick<FlowSecrets, "nonce" | "codeVerifier"> {
  provider: string;
  /** Null: a configured provider. */
  providerId: string | null;
  /** The connection of the tenant's provider. A change of it deletes the flow, so this is the one of its start. */
  connection: Connection | null;
  isTest: boolean;
  returnTo: string | null;
  /** The identity of an answer that came before the browser returned, or why it was refused; null: none came. */
  identity: AssertedIdentity | { refused: string } | null;
}

/**
 * Finds the tenant's provider of a sign-in to start. A test needs its ticket, which is used up; a sign-in needs an enabled
 * provider.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_STATE_INVALID
 */
export async function requireStartable(
  { sql }: Pick<AccessPlatform, "sql">,
  kind: ProviderKind,
  { provider: id, test }: Pick<FlowRequest, "provider" | "test">,
): Promise<ProviderRow> {
  const found = isUuid(id) ? await findTenantProvider(sql, id) : null;
  if (found?.kind !== kind || test === null && !found.isEnabled) throw unknownProvider(id);
  if (test !== null) {
    const ticket = await sql`delete from oidc_flows
      where state_hash = ${digest(test)} and provider_id = ${id} and is_test and expires_at > now()`;
    if (ticket.count === 0) throw badState();
  }
  return found;
}

export const unknownProvider = (name: string): Problem =>
  problem("OIDC_PROVIDER_NOT_FOUND", `Expected a provider that is configured or enabled; found "${name}".`);

/**
 * Starts a test of a provider, also of one that is not enabled.
 * @returns the URL that starts it, once and within ten minutes
 * @throws SIGN_IN_PROVIDER_NOT_FOUND
 */
export async function startTest(p: AccessPlatform, { tenantId }: TenantCaller, id: string): Promise<string> {
  const row = await readProvider(p.sql, tenantId, id);
  requireComplete(row);
  const ticket = newSecret();
  const secrets = { state: ticket, browserSecret: newSecret(), nonce: "", codeVerifier: "" };
  await storeFlow(p, { provider: id, returnTo: null, test: ticket, tenantId, global: false }, row, secrets);
  return `${serviceUrls(p, row).startUrl}?${new URLSearchParams({ test: ticket })}`;
}

/** Stores a sign-in that starts. @param row null: of a configured provider @throws VALIDATION_ERROR (returnTo) */
export async function storeFlow(
  p: AccessPlatform,
  o: FlowRequest,
  row: ProviderRow | null,
  { state, browserSecret, nonce, codeVerifier }: FlowSecrets,
): Promise<void> {
  const returnTo = o.returnTo === null ? null : requireAllowedReturn(p, o.returnTo);
  const { tenantId, global } = row ? { tenantId: row.tenantId, global: false } : o;
  await p.sql`
    insert into oidc_flows (state_hash, browser_hash, provider, nonce, code_verifier, return_to, tenant_id, is_global,
      provider_id, is_test, expires_at)
    values (${digest(state)}, ${digest(browserSecret)}, ${o.provider}, ${nonce}, ${codeVerifier}, ${returnTo},
      ${tenantId}, ${global}, ${row?.id ?? null}, ${o.test !== null},
      now() + make_interval(mins => ${FLOW_MINUTES}))`;
}

/**
 * Deletes and returns the stored sign-in of `state`, so that it can be used only once, even if it then fails.
 * @throws OIDC_STATE_INVALID
 */
export async function takeFlow(
  { sql }: { sql: Sql },
  o: { provider: string; state: string; browserSecret: string },
): Promise<ReturnedFlow> {
  // A request from another browser does not delete it, so an attacker cannot break someone's sign-in.
  const [flow] = await sql<ReturnedFlow[]>`
    delete from oidc_flows where state_hash = ${digest(o.state)} and provider = ${o.provider}
      and browser_hash = ${digest(o.browserSecret)} and expires_at > now()
    returning provider, provider_id, is_test, nonce, code_verifier, return_to, tenant_id, is_global as global, identity,
      (select p.connection from sign_in_providers p where p.id = provider_id) as connection`;
  if (flow) return flow;
  throw badState();
}

export const badState = (): Problem =>
  problem(
    "OIDC_STATE_INVALID",
    "The sign-in cannot be finished: its state is unknown, was already used, has expired, or belongs to another browser.",
  );

/** Checks that the URL has the service's origin or a configured one. An open redirect would leak sign-in codes. */
function requireAllowedReturn(p: Pick<AccessPlatform, "config" | "baseUrl">, returnTo: string): string {
  const url = URL.parse(returnTo, `${p.baseUrl()}/`);
  const allowed = [new URL(p.baseUrl()).origin, ...p.config.OIDC_RETURN_ORIGINS ?? []];
  if (!url || !allowed.includes(url.origin) || url.username !== "" || url.password !== "") {
    throw invalid({ returnTo: [`expected a path of this service or a URL of ${allowed.join(", ")}`] });
  }
  url.hash = "";
  return url.href;
}
