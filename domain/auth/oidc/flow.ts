import { invalid, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../secrets.ts";
import type { WantedTenant } from "../tenant_choice.ts";
import { findProvider, type Providers } from "./providers.ts";
import { speakTo } from "./speak_to.ts";

export const FLOW_MINUTES = 10;

/** A sign-in that has been sent to the provider. */
export interface StartedFlow {
  /** Where the browser goes. */
  location: string;
  state: string;
  /** What the browser keeps as a cookie, so that nobody can have another browser finish this sign-in. */
  browserSecret: string;
}

/** A sign-in that came back: what it was started with. */
export interface ReturnedFlow extends WantedTenant {
  provider: string;
  nonce: string;
  codeVerifier: string;
  returnTo: string | null;
}

/** Where a provider sends the browser back to; what its client settings must name. */
export const callbackUrl = (p: Pick<Platform, "baseUrl">, provider: string): string =>
  `${p.baseUrl()}/api/v1/auth/oidc/${provider}/callback`;

/**
 * Begins a sign-in with a provider.
 * @param o.returnTo where the browser goes afterwards, a path of the service or a URL of an allowed origin; null: the
 * callback itself answers the tokens.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_PROVIDER_UNAVAILABLE, VALIDATION_ERROR (returnTo)
 */
export async function startOpenIdSignIn(
  p: Platform,
  providers: Providers,
  o: WantedTenant & { provider: string; returnTo: string | null },
): Promise<StartedFlow> {
  const provider = findProvider(providers, o.provider);
  const returnTo = o.returnTo === null ? null : requireAllowedReturn(p, o.returnTo);
  const [state, nonce, codeVerifier, browserSecret] = [newSecret(), newSecret(), newSecret(), newSecret()];
  const redirectUri = callbackUrl(p, provider.name);
  const location = await speakTo(
    p,
    provider,
    (openId) => openId.authorizationUrl({ state, nonce, codeVerifier, redirectUri }),
  );
  await p.sql`
    insert into oidc_flows (state_hash, browser_hash, provider, nonce, code_verifier, return_to, tenant_id, is_global,
      expires_at)
    values (${digest(state)}, ${
    digest(browserSecret)
  }, ${provider.name}, ${nonce}, ${codeVerifier}, ${returnTo},
      ${o.tenantId}, ${o.global}, now() + make_interval(mins => ${FLOW_MINUTES}))`;
  return { location: location.href, state, browserSecret };
}

/**
 * Takes a sign-in that came back out of the ledger, so that it counts once whatever becomes of it.
 * @throws OIDC_STATE_INVALID
 */
export async function takeFlow(
  p: Pick<Platform, "sql">,
  o: { provider: string; state: string; browserSecret: string },
): Promise<ReturnedFlow> {
  // In another browser it stays: whoever was lured there cannot spoil the sign-in of the one who began it.
  const [flow] = await p.sql<(Omit<ReturnedFlow, "global"> & { isGlobal: boolean })[]>`
    delete from oidc_flows where state_hash = ${digest(o.state)} and provider = ${o.provider}
      and browser_hash = ${digest(o.browserSecret)} and expires_at > now()
    returning provider, nonce, code_verifier, return_to, tenant_id, is_global`;
  if (!flow) {
    throw problem(
      "OIDC_STATE_INVALID",
      "The state is unknown, used, expired, or belongs to another browser.",
    );
  }
  const { isGlobal, ...rest } = flow;
  return { ...rest, global: isGlobal };
}

/** Only the service's own origin and the configured ones: an open redirect would hand sign-ins to anyone. */
function requireAllowedReturn(p: Pick<Platform, "config" | "baseUrl">, returnTo: string): string {
  const url = URL.parse(returnTo, `${p.baseUrl()}/`);
  const allowed = [new URL(p.baseUrl()).origin, ...p.config.OIDC_RETURN_ORIGINS ?? []];
  if (!url || !allowed.includes(url.origin) || url.username !== "" || url.password !== "") {
    throw invalid({ returnTo: [`expected a path of this service or a URL of ${allowed.join(", ")}`] });
  }
  url.hash = "";
  return url.href;
}
