import { invalid, problem } from "../../../problems/problem.ts";
import { digest, newSecret } from "../../../shared/secrets.ts";
import type { AccessPlatform } from "../../platform.ts";
import type { WantedTenant } from "../tenant_choice.ts";
import { callProvider, findProvider } from "./provider_call.ts";

export const FLOW_MINUTES = 10;

/** A started sign-in. */
export interface StartedFlow {
  /** URL of the provider to redirect the browser to. */
  location: string;
  state: string;
  /** Cookie value that binds the sign-in to this browser, so that no other browser can finish it. */
  browserSecret: string;
}

/** A sign-in that returned from the provider, with the values it was started with. */
export interface ReturnedFlow extends WantedTenant {
  provider: string;
  nonce: string;
  codeVerifier: string;
  returnTo: string | null;
}

/** Redirect URI of a provider; must be registered there. */
export const callbackUrl = (p: Pick<AccessPlatform, "baseUrl">, provider: string): string =>
  `${p.baseUrl()}/api/v1/auth/oidc/${provider}/callback`;

/**
 * Starts a sign-in by a provider.
 * @param o.returnTo where to redirect the browser afterwards: a path of the service or a URL of an allowed origin. Null:
 * the callback itself returns the tokens.
 * @throws OIDC_PROVIDER_NOT_FOUND, OIDC_PROVIDER_UNAVAILABLE, VALIDATION_ERROR (returnTo)
 */
export async function startOpenIdSignIn(
  p: AccessPlatform,
  o: WantedTenant & { provider: string; returnTo: string | null },
): Promise<StartedFlow> {
  const provider = findProvider(p, o.provider);
  const returnTo = o.returnTo === null ? null : requireAllowedReturn(p, o.returnTo);
  const [state, nonce, codeVerifier, browserSecret] = [newSecret(), newSecret(), newSecret(), newSecret()];
  const redirectUri = callbackUrl(p, provider.name);
  const location = await callProvider(
    p,
    provider,
    (openId) => openId.authorizationUrl({ state, nonce, codeVerifier, redirectUri }),
  );
  await p.sql`
    insert into oidc_flows (state_hash, browser_hash, provider, nonce, code_verifier, return_to, tenant_id, is_global,
      expires_at)
    values (${digest(state)}, ${digest(browserSecret)}, ${provider.name}, ${nonce}, ${codeVerifier},
      ${returnTo},
      ${o.tenantId}, ${o.global}, now() + make_interval(mins => ${FLOW_MINUTES}))`;
  return { location: location.href, state, browserSecret };
}

/**
 * Deletes and returns the stored sign-in of `state`, so that it can be used only once, even if it then fails.
 * @throws OIDC_STATE_INVALID
 */
export async function takeFlow(
  p: Pick<AccessPlatform, "sql">,
  o: { provider: string; state: string; browserSecret: string },
): Promise<ReturnedFlow> {
  // A request from another browser does not delete it, so an attacker cannot break someone's sign-in.
  const [flow] = await p.sql<ReturnedFlow[]>`
    delete from oidc_flows where state_hash = ${digest(o.state)} and provider = ${o.provider}
      and browser_hash = ${digest(o.browserSecret)} and expires_at > now()
    returning provider, nonce, code_verifier, return_to, tenant_id, is_global as global`;
  if (flow) return flow;
  throw problem(
    "OIDC_STATE_INVALID",
    "The sign-in cannot be finished: its state is unknown, was already used, has expired, or belongs to another browser.",
  );
}

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
