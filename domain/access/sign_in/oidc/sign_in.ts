import { isMailAddress } from "../../../../infra/mail/mail_address.ts";
import {
  guardedFetch,
  type NamedProvider,
  type OpenIdIdentity,
  type OpenIdProvider,
  openIdProvider,
  OpenIdRefused,
  OpenIdUnavailable,
} from "../../../../infra/openid.ts";
import { transact, type Tx } from "../../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../../audit/audit.ts";
import { type Problem, problem } from "../../../problems/problem.ts";
import { cutText } from "../../../shared/cut_text.ts";
import { isUuid, newId } from "../../../shared/ids.ts";
import type { Platform } from "../../../shared/platform.ts";
import { newSecret } from "../../../shared/secrets.ts";
import { proveOwner } from "../../account/proved_owner.ts";
import type { AccessPlatform, Trace } from "../../platform.ts";
import { amrOf, finishFlow, finishProviderSignIn, type ProviderOutcome } from "../providers/finish.ts";
import {
  type FlowRequest,
  requireStartable,
  type StartedFlow,
  storeFlow,
  takeFlow,
  unknownProvider,
} from "../providers/flow.ts";
import { findTenantProvider, identityOf, openClientSecret, type ProviderRow } from "../providers/provider.ts";
import { otherAccount } from "../providers/resolve.ts";
import type { Origin } from "../sign_in.ts";

/** Redirect URI of a provider; must be registered there. */
const callbackUrl = (p: Pick<AccessPlatform, "baseUrl">, provider: string): string =>
  `${p.baseUrl()}/api/v1/auth/oidc/${provider}/callback`;

/**
 * Starts a sign-in by a configured provider or by a tenant's own one.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_PROVIDER_UNAVAILABLE, OIDC_STATE_INVALID (the ticket of a test),
 * SIGN_IN_SECRETS_UNAVAILABLE, VALIDATION_ERROR (returnTo)
 */
export async function startOpenIdSignIn(p: AccessPlatform, o: FlowRequest): Promise<StartedFlow> {
  const configured = p.openIdProviders.get(o.provider);
  const row = configured ? null : await requireStartable(p, "Oidc", o);
  const provider = configured ?? tenantClient(p, row as ProviderRow);
  const [state, nonce, codeVerifier, browserSecret] = [newSecret(), newSecret(), newSecret(), newSecret()];
  const redirectUri = callbackUrl(p, provider.name);
  const asked = { state, nonce, codeVerifier, redirectUri };
  const location = await callProvider(p, provider, (openId) => openId.authorizationUrl(asked));
  const request = { ...o, provider: provider.name, test: row ? o.test : null };
  await storeFlow(p, request, row, { state, browserSecret, nonce, codeVerifier });
  return { location: location.href, state, browserSecret };
}

/** The request of a browser that returns from a provider. */
interface Callback extends Origin, Trace {
  provider: string;
  /** The unchanged query string, with its question mark. */
  search: string;
  state: string;
  /** Value of the cookie; empty if the browser sent none. */
  browserSecret: string;
}

/**
 * Finishes a sign-in by a provider, as `finishFlow` does.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_STATE_INVALID, OIDC_REFUSED_UNAUTHORIZED, OIDC_PROVIDER_UNAVAILABLE,
 * OIDC_EMAIL_UNVERIFIED_FORBIDDEN, OIDC_USER_UNKNOWN_FORBIDDEN, OIDC_IDENTITY_CONFLICT, TENANT_FORBIDDEN,
 * ACCOUNT_LOCKED_UNAUTHORIZED, SECOND_FACTOR_REQUIRED_UNAUTHORIZED; of a tenant's provider also SIGN_IN_DOMAIN_FORBIDDEN,
 * SIGN_IN_SECRETS_UNAVAILABLE, TENANT_CAPACITY_REACHED
 */
export async function finishOpenIdSignIn(p: AccessPlatform, o: Callback): Promise<ProviderOutcome> {
  const configured = p.openIdProviders.get(o.provider);
  const row = configured || !isUuid(o.provider) ? null : await findTenantProvider(p.sql, o.provider);
  if (!configured && row?.kind !== "Oidc") throw unknownProvider(o.provider);
  const flow = await takeFlow(p, o);
  // The public URL that the provider knows. The request's own URL may differ behind a proxy.
  const callback = new URL(callbackUrl(p, flow.provider) + o.search);
  const binding = { state: o.state, nonce: flow.nonce, codeVerifier: flow.codeVerifier };
  if (row) {
    return await finishProviderSignIn(p, o, flow, async () => {
      const client = tenantClient(p, row);
      const identify = async (openId: OpenIdProvider) =>
        asserted(row, await openId.identify(callback, binding));
      return await callProvider(p, client, identify);
    });
  }
  if (!configured) throw unknownProvider(o.provider);
  return await finishFlow(p, o, flow, async (use) => {
    const identity = await callProvider(p, configured, (openId) => openId.identify(callback, binding));
    const { autoProvision, satisfiesSecondFactor } = configured.settings;
    const trace = { traceId: o.traceId, ip: o.ip };
    return await transact(p.sql, async (tx) => {
      const id = await resolveIdentity(p, tx, identity, { autoProvision, trace });
      return await use(tx, { id, amr: amrOf(satisfiesSecondFactor, identity.amr), provider: null });
    });
  });
}

/** The identity of an ID token at a tenant's provider. @throws OpenIdRefused */
function asserted(row: ProviderRow, { subject, amr, claims }: OpenIdIdentity) {
  const isEmailVerified = claims.email_verified !== false && claims.email_verified !== "false";
  const said = (name: string) => Object.hasOwn(claims, name) ? claims[name] : undefined;
  const identity = identityOf({ subject, amr, isEmailVerified }, said, claimNamesOf(row));
  if (identity) return identity;
  throw new OpenIdRefused("expected a subject of 1 to 1000 characters");
}

/**
 * Returns the id of the user of an identity. That is the user already linked to it, even if the email changed. Else it
 * is the active user with its verified email, who is now linked. Else it is a new user, if `autoProvision` is set.
 * @throws OIDC_EMAIL_UNVERIFIED_FORBIDDEN, OIDC_USER_UNKNOWN_FORBIDDEN, OIDC_IDENTITY_CONFLICT
 */
async function resolveIdentity(
  p: AccessPlatform,
  tx: Tx,
  identity: OpenIdIdentity,
  o: { autoProvision: boolean; trace: Trace },
): Promise<string> {
  const linked = await findLinkedUser(tx, identity);
  if (linked) {
    if (!linked.usable) throw unknownUser();
    return linked.id;
  }
  const { email } = identity;
  if (!email || !isMailAddress(email) || !identity.isEmailVerified) {
    throw problem(
      "OIDC_EMAIL_UNVERIFIED_FORBIDDEN",
      "The provider returned no verified email for this identity.",
    );
  }
  if (o.autoProvision) await createUser(tx, identity, email, o.trace);
  const [user] = await tx<{ id: string }[]>`
    select id from users where mail_key(email) = mail_key(${email}) and is_active and deleted_at is null for no key update`;
  if (!user) throw unknownUser();
  const { issuer, subject } = identity;
  const link = await tx`insert into user_identities (issuer, subject, user_id)
    values (${issuer}, ${subject}, ${user.id}) on conflict do nothing`;
  if (link.count > 0) {
    const actor = { userId: user.id, tenantId: null, ...o.trace };
    const after = { issuer, subject };
    await recordAudit(tx, actor, "user.link-identity", user.id, { after });
    await proveOwner(p, tx, { userId: user.id, keepsPassword: false, ...o.trace });
    return user.id;
  }
  if ((await findLinkedUser(tx, identity))?.id === user.id) return user.id; // a concurrent request linked it
  throw otherAccount();
}

async function findLinkedUser(
  tx: Tx,
  { issuer, subject }: OpenIdIdentity,
): Promise<{ id: string; usable: boolean } | undefined> {
  const [user] = await tx<{ id: string; usable: boolean }[]>`
    select u.id, u.is_active and u.deleted_at is null as usable
    from user_identities i join users u on u.id = i.user_id
    where i.issuer = ${issuer} and i.subject = ${subject}`;
  return user;
}

/** Creates a user with a verified email, without password or tenant. Does nothing if the email is taken. */
async function createUser(tx: Tx, identity: OpenIdIdentity, email: string, trace: Trace): Promise<void> {
  const id = newId();
  const [firstName, lastName] = [cutText(identity.firstName, 100), cutText(identity.lastName, 100)];
  const created = await tx`insert into users (id, email, first_name, last_name)
    values (${id}, ${email}, ${firstName}, ${lastName}) on conflict do nothing`;
  if (created.count === 0) return;
  const actor = { userId: id, tenantId: null, ...trace };
  const after = { email, firstName, lastName, issuer: identity.issuer };
  await recordAudit(tx, actor, "user.create", id, { after });
}

const unknownUser = (): Problem =>
  problem("OIDC_USER_UNKNOWN_FORBIDDEN", "No active user has the email of this identity.");

/** The usual names of claims (OpenID Connect Core, 5.1). */
const claimNamesOf = ({ claims }: Pick<ProviderRow, "claims">) => ({
  email: claims.email ?? "email",
  firstName: claims.firstName ?? "given_name",
  lastName: claims.lastName ?? "family_name",
  groups: claims.groups,
});

/** The client of a tenant's provider, which reaches no address that the tenant's callers may not reach. */
function tenantClient(
  { config, clock }: Pick<AccessPlatform, "config" | "clock">,
  row: ProviderRow,
): Pick<NamedProvider, "name" | "openId"> {
  const { issuer, clientId } = row.connection;
  if (issuer === null || clientId === null) {
    throw new Error(`the provider ${row.id} has no issuer or client id`);
  }
  const { email, groups } = claimNamesOf(row);
  const clientSecret = openClientSecret(config, row);
  const openId = openIdProvider({
    issuer,
    clientId,
    clientSecret,
    clientAuthentication: "supported",
    scopes: ["openid", "email", "profile"],
    optionalScopes: groups === null ? [] : [groups],
    claims: groups === null ? [email] : [email, groups],
    fetch: guardedFetch(config.OUTBOUND_ALLOW),
  }, clock);
  return { name: row.id, openId };
}

/**
 * Runs a call to a provider. Turns its failures into problems; their reason is only logged, and the cause of the problem.
 * @throws OIDC_REFUSED_UNAUTHORIZED, OIDC_PROVIDER_UNAVAILABLE
 */
async function callProvider<T>(
  p: Pick<Platform, "log">,
  provider: Pick<NamedProvider, "name" | "openId">,
  ask: (openId: OpenIdProvider) => Promise<T>,
): Promise<T> {
  try {
    return await ask(provider.openId);
  } catch (cause) {
    if (!(cause instanceof OpenIdRefused || cause instanceof OpenIdUnavailable)) throw cause;
    p.log.warn("a sign-in by an OpenID provider failed", { provider: provider.name, reason: cause.message });
    throw cause instanceof OpenIdRefused
      ? problem("OIDC_REFUSED_UNAUTHORIZED", `The provider ${provider.name} did not confirm this sign-in.`, {
        cause,
      })
      : problem(
        "OIDC_PROVIDER_UNAVAILABLE",
        `The provider ${provider.name} did not answer or gave an invalid answer.`,
        { cause },
      );
  }
}
