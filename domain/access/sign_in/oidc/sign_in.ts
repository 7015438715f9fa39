import { transact, type Tx } from "../../../../infra/postgres/postgres.ts";
import { Problem, problem } from "../../../problems/problem.ts";
import { hasFactor } from "../../../rights/second_factor.ts";
import { digest, newSecret } from "../../../shared/secrets.ts";
import type { AccessPlatform } from "../../platform.ts";
import { deviceLockEnd, requireUnlocked } from "../failed_sign_ins.ts";
import { knownDevice } from "../known_devices.ts";
import { type Amr, BY_PROVIDER_WITH_MFA } from "../sessions.ts";
import { type FirstStep, firstStep, type Origin, requireFinished, type SignedIn } from "../sign_in.ts";
import type { WantedTenant } from "../tenant_choice.ts";
import { callbackUrl, type ReturnedFlow, takeFlow } from "./flow.ts";
import { resolveIdentity, type Trace } from "./identity.ts";
import { callProvider, findProvider } from "./provider_call.ts";

const HANDOVER_SECONDS = 60;

/** The request of a browser that returns from a provider. */
export interface Callback extends Origin, Trace {
  provider: string;
  /** The unchanged query string, with its question mark. */
  search: string;
  state: string;
  /** Value of the cookie; empty if the browser sent none. */
  browserSecret: string;
}

/** The tokens, or the URL to redirect to, whose page exchanges the code for tokens. */
export type OpenIdOutcome = { signedIn: SignedIn } | { returnTo: string };

/**
 * Finishes a sign-in by a provider. If it has a `returnTo`, returns that URL with `#code=` (which can be exchanged once,
 * within a minute) or, after a failure, with `#error=` and the error code.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_STATE_INVALID, OIDC_REFUSED_UNAUTHORIZED, OIDC_PROVIDER_UNAVAILABLE,
 * OIDC_EMAIL_UNVERIFIED_FORBIDDEN, OIDC_USER_UNKNOWN_FORBIDDEN, OIDC_IDENTITY_CONFLICT, TENANT_FORBIDDEN,
 * ACCOUNT_LOCKED_UNAUTHORIZED, SECOND_FACTOR_REQUIRED_UNAUTHORIZED
 */
export async function finishOpenIdSignIn(
  p: AccessPlatform,
  o: Callback,
): Promise<OpenIdOutcome> {
  findProvider(p, o.provider);
  const flow = await takeFlow(p, o);
  const { returnTo } = flow;
  if (returnTo === null) {
    const step = await withUser(p, o, flow, (tx, user) => openFor(p, tx, user, flow, o));
    return { signedIn: requireFinished(step) };
  }
  try {
    const code = await withUser(p, o, flow, (tx, user) => createHandover(tx, user, flow));
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
    const [handover] = await tx<(WantedTenant & FederatedUser)[]>`
      delete from oidc_handovers where code_hash = ${digest(code)} and expires_at > now()
      returning user_id as id, tenant_id, is_global as global, amr`;
    if (!handover) {
      throw problem(
        "OIDC_HANDOVER_INVALID",
        `The code cannot be exchanged: it is unknown, was already used, or is older than ${HANDOVER_SECONDS} s.`,
      );
    }
    return await openFor(p, tx, handover, handover, origin);
  });
  return requireFinished(step);
}

/** A user whom a provider signed in. */
interface FederatedUser {
  id: string;
  amr: Amr[];
}

/** Gets the identity from the provider, then finds its user and runs `use` in one transaction. */
async function withUser<T>(
  p: AccessPlatform,
  o: Callback,
  flow: ReturnedFlow,
  use: (tx: Tx, user: FederatedUser) => Promise<T>,
): Promise<T> {
  const provider = findProvider(p, flow.provider);
  // The public URL that the provider knows. The request's own URL may differ behind a proxy.
  const callback = new URL(callbackUrl(p, provider.name) + o.search);
  const { nonce, codeVerifier } = flow;
  const binding = { state: o.state, nonce, codeVerifier };
  const identity = await callProvider(p, provider, (openId) => openId.identify(callback, binding));
  const { autoProvision, satisfiesSecondFactor } = provider.settings;
  const amr: Amr[] = satisfiesSecondFactor || identity.amr.includes("mfa") ? BY_PROVIDER_WITH_MFA : ["fed"];
  const trace = { traceId: o.traceId, ip: o.ip };
  return await transact(
    p.sql,
    async (tx) =>
      await use(tx, { id: await resolveIdentity(p, tx, identity, { autoProvision, trace }), amr }),
  );
}

/** Opens the session. Like at a sign-in by password, the lock of the account does not apply to a known device. */
async function openFor(
  p: AccessPlatform,
  tx: Tx,
  { id, amr }: FederatedUser,
  { tenantId, global }: WantedTenant,
  { ip, userAgent, deviceToken = null }: Origin,
): Promise<FirstStep> {
  const [user] = await tx<
    { id: string; hasFactor: boolean; deviceId: string | null; lockedForSeconds: number | null }[]
  >`
    with signed_in as (
      update users set last_login_at = now() where id = ${id} and is_active and deleted_at is null
      returning id, lockout_expires_at
    )
    select u.id, ${hasFactor(tx, tx`u.id`)} as has_factor, d.id as device_id,
      ceil(extract(epoch from
        case when d.id is null then u.lockout_expires_at else (${deviceLockEnd(tx, tx`d.id`)}) end
        - now()))::int as locked_for_seconds
    from signed_in u left join lateral (${knownDevice(tx, tx`u.id`, deviceToken)}) d on true`;
  if (!user) throw problem("OIDC_USER_UNKNOWN_FORBIDDEN", "The user of this identity is not active.");
  requireUnlocked(user);
  return await firstStep(p, tx, { ...user, amr }, { tenantId, global, ip, userAgent, deviceToken });
}

async function createHandover(tx: Tx, { id, amr }: FederatedUser, wanted: WantedTenant): Promise<string> {
  const code = newSecret();
  await tx`insert into oidc_handovers (code_hash, user_id, tenant_id, is_global, amr, expires_at)
    values (${digest(code)}, ${id}, ${wanted.tenantId}, ${wanted.global}, ${amr},
      now() + make_interval(secs => ${HANDOVER_SECONDS}))`;
  return code;
}

const withFragment = (url: string, values: Record<string, string>): string =>
  `${url}#${new URLSearchParams(values)}`;
