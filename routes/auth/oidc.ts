import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { FLOW_MINUTES, startOpenIdSignIn } from "../../domain/access/sign_in/oidc/flow.ts";
import { finishOpenIdSignIn, redeemHandover } from "../../domain/access/sign_in/oidc/sign_in.ts";
import { DEVICE_DAYS } from "../../domain/access/sign_in/known_devices.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { type Answer, ok } from "../shared/answer.ts";
import { readCookie, setCookie } from "../shared/cookies.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean } from "../shared/validation.ts";
import { originOf, signedInAnswer, signInAnswers } from "./answers.ts";
import { deviceToken, OpenIdProviderDto } from "./shapes.ts";

const endpoint = endpointsIn("Sign-in");

const provider = z.object({ provider: z.string().min(1).max(40) });

/** Sign-in with an OpenID provider: list of providers, start, callback, and exchange of the code for tokens. */
export const oidcRoutes = [
  endpoint("GET /api/v1/auth/oidc", {
    alsoAt: ["/auth/oidc"],
    id: "listOpenIdProviders",
    summary: "List the OpenID providers",
    access: anyone,
    answers: { 200: { description: "The configured providers", schema: z.array(OpenIdProviderDto) } },
    problems: [],
    run: ({ platform }) =>
      ok([...platform.openIdProviders.values()].map(({ name, settings }) => ({
        name,
        displayName: settings.displayName ?? name,
        signInUrl: `${platform.baseUrl()}/api/v1/auth/oidc/${name}`,
      }))),
  }),
  endpoint("GET /api/v1/auth/oidc/{provider}", {
    alsoAt: ["/auth/oidc/{provider}"],
    id: "startOpenIdSignIn",
    service: "waits for others",
    summary: "Redirect the browser to an OpenID provider",
    access: anyone,
    params: provider,
    query: z.object({
      returnTo: z.string().max(2000).optional().meta({
        description:
          "Where the browser is redirected after the sign-in, with `#code=` or `#error=`: a path of the service, or " +
          "a URL of an origin in OIDC_RETURN_ORIGINS. Absent: the callback answers the tokens.",
      }),
      tenantId: uuid.optional(),
      global: queryBoolean.default(false),
    }),
    answers: {
      302: { description: "Redirect to the provider; a cookie binds the sign-in to this browser" },
    },
    problems: ["OIDC_PROVIDER_NOT_FOUND", "OIDC_PROVIDER_UNAVAILABLE"],
    async run({ platform, params, query }) {
      const flow = await startOpenIdSignIn(platform, {
        provider: params.provider,
        returnTo: query.returnTo ?? null,
        tenantId: query.tenantId ?? null,
        global: query.global,
      });
      return redirect(
        302,
        flow.location,
        cookie(platform, flow.state, flow.browserSecret, FLOW_MINUTES * 60),
      );
    },
  }),
  endpoint("GET /api/v1/auth/oidc/{provider}/callback", {
    alsoAt: ["/auth/oidc/{provider}/callback"],
    id: "finishOpenIdSignIn",
    service: "waits for others",
    summary: "The callback of an OpenID provider",
    access: anyone,
    params: provider,
    query: z.object({ state: z.string().max(200).default("") }),
    answers: {
      ...signInAnswers,
      303: {
        description: "Redirect to `returnTo`, with `#code=` for the exchange or `#error=` and an error code",
      },
    },
    problems: [
      "OIDC_PROVIDER_NOT_FOUND",
      "OIDC_STATE_INVALID",
      "OIDC_REFUSED_UNAUTHORIZED",
      "OIDC_EMAIL_UNVERIFIED_FORBIDDEN",
      "OIDC_USER_UNKNOWN_FORBIDDEN",
      "OIDC_IDENTITY_CONFLICT",
      "OIDC_PROVIDER_UNAVAILABLE",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "TENANT_FORBIDDEN",
      "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
    ],
    async run({ platform, db, params, query: { state }, call }) {
      const { headers } = call.request;
      const read = (name: string) => readCookie(new URL(platform.baseUrl()), headers, name);
      const outcome = await finishOpenIdSignIn(platform, {
        provider: params.provider,
        search: call.url.search,
        state,
        browserSecret: read(cookieName(state)) ?? "",
        traceId: call.traceId,
        ...originOf(call, read(DEVICE)?.slice(0, 200)),
      });
      const spent = cookie(platform, state, "", 0);
      if ("returnTo" in outcome) return redirect(303, outcome.returnTo, spent);
      const answer = await signedInAnswer(db, outcome.signedIn);
      const { deviceToken } = outcome.signedIn.tokens;
      return {
        ...answer,
        setCookies: [spent, ...deviceToken ? [deviceCookie(platform, deviceToken)] : []],
      };
    },
  }),
  endpoint("POST /api/v1/auth/oidc/exchange", {
    alsoAt: ["/auth/oidc/exchange"],
    id: "exchangeOpenIdCode",
    summary: "Exchange the `#code=` of an OpenID sign-in for tokens; it is valid once, for a minute",
    access: anyone,
    body: z.object({ code: z.string().min(1).max(200), deviceToken }).meta({ id: "ExchangeRequest" }),
    answers: signInAnswers,
    problems: [
      "OIDC_HANDOVER_INVALID",
      "OIDC_USER_UNKNOWN_FORBIDDEN",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "TENANT_FORBIDDEN",
      "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
    ],
    run: async ({ platform, db, body, call }) =>
      await signedInAnswer(
        db,
        await redeemHandover(platform, body.code, originOf(call, body.deviceToken)),
      ),
  }),
] as const;

const redirect = (status: 302 | 303, location: string, setCookie: string): Answer => ({
  status,
  headers: { location, "set-cookie": setCookie, "referrer-policy": "no-referrer" },
  body: undefined,
});

/** One cookie for each sign-in, so that several tabs can sign in at the same time. */
const cookieName = (state: string): string => `steward_oidc_${state.replaceAll(/[^\w-]/g, "").slice(0, 16)}`;

/** Cookie with the `deviceToken` of the last sign-in whose callback answered the tokens. */
const DEVICE = "steward_oidc_device";

const deviceCookie = (platform: Pick<ServicePlatform, "baseUrl">, value: string): string =>
  callbackCookie(platform, { name: DEVICE, value, maxAgeSeconds: DEVICE_DAYS * 24 * 60 * 60 });

const cookie = (
  platform: Pick<ServicePlatform, "baseUrl">,
  state: string,
  value: string,
  maxAgeSeconds: number,
): string => callbackCookie(platform, { name: cookieName(state), value, maxAgeSeconds });

/** SameSite=Lax, because the callback is a navigation from the provider's site. */
const callbackCookie = (
  platform: Pick<ServicePlatform, "baseUrl">,
  o: { name: string; value: string; maxAgeSeconds: number },
): string => setCookie(new URL(platform.baseUrl()), { ...o, path: "/api/v1/auth/oidc", sameSite: "Lax" });
