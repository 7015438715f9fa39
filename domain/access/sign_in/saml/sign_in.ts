import {
  readSamlAnswer,
  type SamlConnection,
  type SamlIdentity,
  samlMetadata,
  SamlRefused,
  samlRequestUrl,
  type SamlService,
  verifySamlAnswer,
} from "../../../../infra/saml.ts";
import { type Problem, problem } from "../../../problems/problem.ts";
import { isUuid } from "../../../shared/ids.ts";
import { digest, newSecret } from "../../../shared/secrets.ts";
import type { AccessPlatform, Trace } from "../../platform.ts";
import { finishProviderSignIn, type ProviderOutcome } from "../providers/finish.ts";
import {
  badState,
  type FlowRequest,
  requireStartable,
  type StartedFlow,
  storeFlow,
  takeFlow,
  unknownProvider,
} from "../providers/flow.ts";
import {
  type AssertedIdentity,
  type ClaimNames,
  findTenantProvider,
  identityOf,
  type ProviderRow,
  serviceUrls,
} from "../providers/provider.ts";
import type { Origin } from "../sign_in.ts";

const SOAP_CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims";
/** Names of attributes that providers use. */
const USUAL_NAMES: Record<keyof ClaimNames, string[]> = {
  email: ["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", `${SOAP_CLAIMS}/emailaddress`],
  firstName: ["firstName", "givenName", "urn:oid:2.5.4.42", `${SOAP_CLAIMS}/givenname`],
  lastName: ["lastName", "sn", "surname", "urn:oid:2.5.4.4", `${SOAP_CLAIMS}/surname`],
  groups: [],
};

/**
 * Starts a sign-in. The id of the request holds the state, so that the answer brings it back.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_STATE_INVALID (the ticket of a test), VALIDATION_ERROR (returnTo)
 */
export async function startSamlSignIn(p: AccessPlatform, o: FlowRequest): Promise<StartedFlow> {
  const row = await requireStartable(p, "Saml", o);
  const [state, browserSecret] = [newSecret(), newSecret()];
  const location = await samlRequestUrl(connectionOf(row), serviceOf(p, row), `_${state}`);
  await storeFlow(p, o, row, { state, browserSecret, nonce: "", codeVerifier: "" });
  return { location, state, browserSecret };
}

/**
 * Verifies the answer that a browser brings from a provider. Keeps its identity, or why it is refused, for the browser's next
 * request, because the cookie of the sign-in does not come with a form of another site.
 * @returns the state of the sign-in
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_STATE_INVALID, OIDC_REFUSED_UNAUTHORIZED (the answer belongs to no sign-in)
 */
export async function acceptSamlAnswer(
  p: AccessPlatform,
  provider: string,
  encoded: string,
): Promise<string> {
  const row = await requireSaml(p, provider);
  const answer = await readSamlAnswer(encoded).catch((cause: unknown) => {
    throw cause instanceof SamlRefused ? refused(p, row.id, cause.message) : cause;
  });
  const requestId = answer.inResponseTo;
  if (requestId === null) {
    const reason = "expected the answer to a sign-in that was started here; found one that was not";
    throw refused(p, row.id, reason);
  }
  const state = requestId.slice(1);
  const isOpen = p.sql`state_hash = ${digest(state)} and provider_id = ${row.id} and expires_at > now()`;
  const [flow] = await p.sql`select from oidc_flows where ${isOpen}`;
  if (!flow) throw badState();
  const expected = {
    connection: connectionOf(row),
    service: serviceOf(p, row),
    requestId,
    now: p.clock.now(),
  };
  const verified = await verifySamlAnswer(answer, expected).catch((cause: unknown) => {
    if (cause instanceof SamlRefused) return cause.message;
    throw cause;
  });
  if (typeof verified === "string") {
    const refusal = JSON.stringify({ refused: verified });
    await p
      .sql`update oidc_flows set identity = ${refusal}::text::jsonb where ${isOpen} and identity is null`;
    return state;
  }
  const identity = JSON.stringify(
    asserted(row, verified) ?? { refused: "expected a subject of 1 to 1000 characters" },
  );
  const kept = await p.sql`
    with used as (
      insert into sign_in_assertions (provider_id, id_hash, expires_at)
      values (${row.id}, ${digest(verified.assertionId)}, ${verified.expiresAt})
      on conflict do nothing returning 1
    )
    update oidc_flows set identity = ${identity}::text::jsonb where ${isOpen} and exists (select from used)`;
  if (kept.count === 0) throw badState();
  return state;
}

/**
 * Finishes a sign-in whose answer was accepted, as `finishProviderSignIn` does.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_STATE_INVALID, OIDC_REFUSED_UNAUTHORIZED, OIDC_EMAIL_UNVERIFIED_FORBIDDEN,
 * SIGN_IN_DOMAIN_FORBIDDEN, OIDC_USER_UNKNOWN_FORBIDDEN, OIDC_IDENTITY_CONFLICT, TENANT_CAPACITY_REACHED, TENANT_FORBIDDEN,
 * SECOND_FACTOR_REQUIRED_UNAUTHORIZED
 */
export async function finishSamlSignIn(
  p: AccessPlatform,
  o: Origin & Trace & { provider: string; state: string; browserSecret: string },
): Promise<ProviderOutcome> {
  const flow = await takeFlow(p, o);
  return await finishProviderSignIn(p, o, flow, () => {
    const { identity } = flow;
    if (identity !== null && !("refused" in identity)) return identity;
    throw refused(p, flow.provider, identity?.refused ?? "expected an answer of the provider; found none");
  });
}

/** The service's metadata for a provider, which may be disabled. @throws OIDC_PROVIDER_NOT_FOUND */
export const readServiceMetadata = async (p: AccessPlatform, provider: string): Promise<string> =>
  await samlMetadata(serviceOf(p, await requireSaml(p, provider)));

async function requireSaml({ sql }: Pick<AccessPlatform, "sql">, id: string): Promise<ProviderRow> {
  const row = isUuid(id) ? await findTenantProvider(sql, id) : null;
  if (row?.kind === "Saml") return row;
  throw unknownProvider(id);
}

function connectionOf({ id, connection }: ProviderRow): SamlConnection {
  const { entityId, signInUrl, certificates } = connection;
  if (entityId !== null && signInUrl !== null) return { entityId, signInUrl, certificates };
  throw new Error(`the provider ${id} has no entity id or sign-in URL`);
}

function serviceOf(p: Pick<AccessPlatform, "baseUrl">, row: ProviderRow): SamlService {
  const { entityId, redirectUri } = serviceUrls(p, row);
  return { entityId: entityId ?? redirectUri, acsUrl: redirectUri };
}

/** The identity of a verified answer. Without an attribute for the email, a subject that is an email counts as it. */
function asserted(
  { claims }: ProviderRow,
  { subject, attributes, amr }: SamlIdentity,
): AssertedIdentity | null {
  const nameOf = (claim: keyof ClaimNames) =>
    claims[claim] ?? USUAL_NAMES[claim].find((name) => attributes.has(name)) ?? null;
  const identity = identityOf({ subject, amr, isEmailVerified: true }, (name) => attributes.get(name), {
    email: nameOf("email"),
    firstName: nameOf("firstName"),
    lastName: nameOf("lastName"),
    groups: nameOf("groups"),
  });
  const email = identity?.email ?? (claims.email === null && subject.includes("@") ? subject : null);
  return identity && { ...identity, email };
}

function refused({ log }: Pick<AccessPlatform, "log">, provider: string, reason: string): Problem {
  log.warn("a sign-in by a SAML provider failed", { provider, reason });
  return problem("OIDC_REFUSED_UNAUTHORIZED", `The provider's answer was refused: ${reason}.`);
}
