import { isDeepStrictEqual } from "node:util";
import { transact, type Tx } from "../../../../infra/postgres/postgres.ts";
import { Problem, problem } from "../../../problems/problem.ts";
import { digest, newSecret } from "../../../shared/secrets.ts";
import type { AccessPlatform, Trace } from "../../platform.ts";
import { deviceLockEnd, requireUnlocked } from "../failed_sign_ins.ts";
import { knownDevice } from "../known_devices.ts";
import {
  type Amr,
  BY_PROVIDER_WITH_MFA,
  chooseTenant,
  type SessionProvider,
  type WantedTenant,
} from "../sessions.ts";
import { type FirstStep, firstStep, type Origin, requireFinished, type SignedIn } from "../sign_in.ts";
import { type ReturnedFlow, unknownProvider } from "./flow.ts";
import { type AssertedIdentity, findTenantProvider, type ProviderRow } from "./provider.ts";
import { resolveUser } from "./resolve.ts";

const HANDOVER_SECONDS = 60;

/** The tokens, the URL to redirect to, whose page exchanges the code for tokens, or the result of a test. */
export type ProviderOutcome = { signedIn: SignedIn } | { returnTo: string } | { tested: TestedSignIn };

/** A user whom a provider signed in. */
interface FederatedUser {
  id: string;
  amr: Amr[];
  /** Null: a configured provider. */
  provider: SessionProvider | null;
}

/** The methods of a session that a provider opens. @param amr what the provider says */
export const amrOf = (satisfiesSecondFactor: boolean, amr: string[]): Amr[] =>
  satisfiesSecondFactor || amr.includes("mfa") ? BY_PROVIDER_WITH_MFA : ["fed"];

/**
 * Finishes a sign-in, or a test, by a tenant's provider.
 * @param flow the stored sign-in, which is used up
 * @param identify verifies the provider's answer
 * @throws what `identify` and `resolveUser` throw, OIDC_PROVIDER_NOT_FOUND (disabled since), TENANT_FORBIDDEN,
 * SECOND_FACTOR_REQUIRED_UNAUTHORIZED; with `returnTo`, it gets their code
 */
export async function finishProviderSignIn(
  p: AccessPlatform,
  o: Origin & Trace,
  flow: ReturnedFlow,
  identify: () => AssertedIdentity | Promise<AssertedIdentity>,
): Promise<ProviderOutcome> {
  const { providerId } = flow;
  if (providerId === null) throw unknownProvider(flow.provider);
  const trace = { traceId: o.traceId, ip: o.ip };
  if (flow.isTest) return { tested: await testSignIn(p, providerId, trace, identify) };
  return await finishFlow(p, o, flow, async (use) => {
    const identity = await identify();
    const result = await transact(p.sql, async (tx) => {
      const provider = await requireEnabled(tx, providerId);
      // another provider could assert the subjects of this one
      if (!isDeepStrictEqual(provider.connection, flow.connection)) throw unknownProvider(providerId);
      const id = await resolveUser(p, tx, provider, identity, trace);
      return await use(tx, { id, amr: amrOf(provider.satisfiesSecondFactor, identity.amr), provider });
    });
    // after the transaction: concurrent sign-ins share the lock of the provider's row
    await p.sql`update sign_in_providers set last_sign_in_at = now()
      where id = ${providerId} and (last_sign_in_at is null or last_sign_in_at < now() - interval '1 minute')`;
    return result;
  });
}

/** Locks a provider, so that its end waits for the session and then ends it. @throws OIDC_PROVIDER_NOT_FOUND */
async function requireEnabled(tx: Tx, id: string): Promise<ProviderRow> {
  const provider = await findTenantProvider(tx, id, tx`for share of p`);
  if (provider?.isEnabled) return provider;
  throw unknownProvider(id);
}

/** Finds the user of a returned sign-in and runs `use` in one transaction. */
type SignInBy = <T>(use: (tx: Tx, user: FederatedUser) => Promise<T>) => Promise<T>;

/**
 * Opens the session of a returned sign-in. If it has a `returnTo`, returns that URL with `#code=` (which can be exchanged once,
 * within a minute) or, after a failure, with `#error=` and the error code.
 */
export async function finishFlow(
  p: AccessPlatform,
  o: Origin,
  flow: ReturnedFlow,
  signInBy: SignInBy,
): Promise<Exclude<ProviderOutcome, { tested: unknown }>> {
  const { returnTo } = flow;
  if (returnTo === null) {
    const step = await signInBy((tx, user) => openFor(p, tx, user, flow, o));
    return { signedIn: requireFinished(step) };
  }
  try {
    const code = await signInBy((tx, user) => createHandover(tx, user, flow));
    return { returnTo: withFragment(returnTo, { code }) };
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    return { returnTo: withFragment(returnTo, { error: failure.code }) };
  }
}

/**
 * Exchanges the code of a finished sign-in for tokens.
 * @throws OIDC_HANDOVER_INVALID, OIDC_USER_UNKNOWN_FORBIDDEN, TENANT_FORBIDDEN, ACCOUNT_LOCKED_UNAUTHORIZED,
 * SECOND_FACTOR_REQUIRED_UNAUTHORIZED
 */
export async function redeemHandover(p: AccessPlatform, code: string, origin: Origin): Promise<SignedIn> {
  const step = await transact(p.sql, async (tx) => {
    const [handover] = await tx<
      (WantedTenant & Omit<FederatedUser, "provider"> & { providerId: string | null })[]
    >`
      delete from oidc_handovers where code_hash = ${digest(code)} and expires_at > now()
      returning user_id as id, tenant_id, is_global as global, amr, provider_id`;
    if (!handover) {
      throw problem(
        "OIDC_HANDOVER_INVALID",
        `The code cannot be exchanged: it is unknown, was already used, or is older than ${HANDOVER_SECONDS} s.`,
      );
    }
    const { providerId } = handover;
    const provider = providerId === null ? null : await requireEnabled(tx, providerId);
    return await openFor(p, tx, { ...handover, provider }, handover, origin);
  });
  return requireFinished(step);
}

/**
 * Opens the session. At a configured provider, the lock of the account applies except to a known device, like at a sign-in by
 * password. At a tenant's own one it does not: such a session never helps to guess the password, and the lock is no
 * means for strangers to keep a company's people out.
 */
async function openFor(
  p: AccessPlatform,
  tx: Tx,
  { id, amr, provider }: FederatedUser,
  { tenantId, global }: WantedTenant,
  { ip, userAgent, deviceToken = null }: Origin,
): Promise<FirstStep> {
  const [user] = await tx<
    { id: string; deviceId: string | null; lockedForSeconds: number | null }[]
  >`
    with signed_in as (
      update users set last_login_at = now() where id = ${id} and is_active and deleted_at is null
      returning id, lockout_expires_at
    )
    select u.id, d.id as device_id,
      ceil(extract(epoch from
        case when d.id is null then u.lockout_expires_at else (${deviceLockEnd(tx, tx`d.id`)}) end
        - now()))::int as locked_for_seconds
    from signed_in u left join lateral (${knownDevice(tx, tx`u.id`, deviceToken)}) d on true`;
  if (!user) throw problem("OIDC_USER_UNKNOWN_FORBIDDEN", "The user of this identity is not active.");
  if (provider === null) {
    requireUnlocked(user);
    return await firstStep(p, tx, { ...user, amr }, { tenantId, global, ip, userAgent, deviceToken });
  }
  const bound = { id: provider.id, tenantId: provider.tenantId };
  const wanted = { tenantId: bound.tenantId, global: false, ip, userAgent };
  return await firstStep(p, tx, { ...user, amr, provider: bound }, wanted);
}

async function createHandover(
  tx: Tx,
  { id, amr, provider }: FederatedUser,
  wanted: WantedTenant,
): Promise<string> {
  const code = newSecret();
  await tx`insert into oidc_handovers (code_hash, user_id, tenant_id, is_global, amr, provider_id, expires_at)
    values (${digest(code)}, ${id}, ${wanted.tenantId}, ${wanted.global}, ${amr}, ${provider?.id ?? null},
      now() + make_interval(secs => ${HANDOVER_SECONDS}))`;
  return code;
}

const withFragment = (url: string, values: Record<string, string>): string =>
  `${url}#${new URLSearchParams(values)}`;

/** The result of a test of a provider. */
export interface TestedSignIn {
  /** Null: the provider's answer was refused. */
  identity: AssertedIdentity | null;
  /** The user whom a sign-in would give a session; null: none. */
  user: TestedUser | null;
  /** Why a sign-in would be refused; null: it would not be. */
  refusal: Problem | null;
}

interface TestedUser {
  email: string;
  /** A sign-in would create the user, or link one of other tenants. */
  isAdded: boolean;
  roles: string[];
}

/** Carries the result out of a transaction that is rolled back. */
class Found extends Error {
  constructor(readonly user: Omit<TestedUser, "isAdded"> & { id: string }) {
    super();
  }
}

/** Does all that a sign-in would do, and rolls it back. */
async function testSignIn(
  p: AccessPlatform,
  providerId: string,
  trace: Trace,
  identify: () => AssertedIdentity | Promise<AssertedIdentity>,
): Promise<TestedSignIn> {
  let identity: AssertedIdentity | null = null;
  try {
    identity = await identify();
    const asserted = identity;
    await transact(p.sql, async (tx) => {
      const provider = await findTenantProvider(tx, providerId, tx`for share of p`);
      if (!provider) throw unknownProvider(providerId);
      const { tenantId } = provider;
      const id = await resolveUser(p, tx, provider, asserted, trace);
      await chooseTenant(tx, id, { tenantId, global: false }, provider);
      const [user] = await tx<{ email: string; roles: string[] }[]>`
        select u.email, array(select r.name from user_tenant_roles h join roles r on r.id = h.role_id
          where h.user_id = u.id and h.tenant_id = ${tenantId} order by r.name) as roles
        from users u where u.id = ${id}`;
      if (!user) throw new Error(`the user ${id} is missing after a test`);
      throw new Found({ ...user, id });
    });
    throw new Error("a test of a sign-in was not rolled back");
  } catch (end) {
    if (end instanceof Found) {
      const { id, ...user } = end.user;
      const links = await p
        .sql`select from user_tenants l join sign_in_providers p on p.tenant_id = l.tenant_id
        where l.user_id = ${id} and p.id = ${providerId}`;
      return { identity, user: { ...user, isAdded: links.length === 0 }, refusal: null };
    }
    if (end instanceof Problem) return { identity, user: null, refusal: end };
    throw end;
  }
}
