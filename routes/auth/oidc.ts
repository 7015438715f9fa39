import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { redeemHandover } from "../../domain/access/sign_in/providers/finish.ts";
import { finishOpenIdSignIn, startOpenIdSignIn } from "../../domain/access/sign_in/oidc/sign_in.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean } from "../shared/validation.ts";
import { originOf, signedInAnswer, signInAnswers } from "./answers.ts";
import {
  finishAnswer,
  refusedAnswers,
  returnedBrowser,
  startAnswer,
  withRefusalPage,
} from "./provider_answers.ts";
import { deviceToken, OpenIdProviderDto } from "./shapes.ts";

const endpoint = endpointsIn("Sign-in");

const FOLDER = "/api/v1/auth/oidc";
const provider = z.object({ provider: z.string().min(1).max(40) });

/** Sign-in with an OpenID provider: list of providers, start, callback, and exchange of the code for tokens. */
export const oidcRoutes = [
  endpoint("GET /api/v1/auth/oidc", {
    alsoAt: ["/auth/oidc"],
    id: "listOpenIdProviders",
    summary: "List the OpenID providers",
    access: anyone,
    answers: { 200: { description: "The configured providers", schema: z.array(OpenIdProviderDto) } },
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
      test: z.string().max(200).optional().meta({
        description: "The ticket of a test of a tenant's provider",
      }),
      returnTo: z.string().max(2000).optional().meta({
        description:
          "Where the browser is redirected after the sign-in, with `#code=` or `#error=`: a path of the service, or " +
          "a URL of an origin in OIDC_RETURN_ORIGINS. Absent: the callback answers the tokens.",
      }),
      tenantId: uuid.optional(),
      global: queryBoolean.default(false),
    }),
    answers: {
      ...refusedAnswers,
      302: { description: "Redirect to the provider; a cookie binds the sign-in to this browser" },
    },
    problems: [
      "OIDC_PROVIDER_NOT_FOUND",
      "OIDC_STATE_INVALID",
      "OIDC_PROVIDER_UNAVAILABLE",
      "SIGN_IN_SECRETS_UNAVAILABLE",
    ],
    run({ platform, params, query, call }) {
      const { returnTo = null, tenantId = null, test = null, global } = query;
      const request = { ...params, returnTo, tenantId, test, global };
      return withRefusalPage(
        platform,
        call,
        { ...params, isTest: test !== null },
        async () => startAnswer(platform, FOLDER, await startOpenIdSignIn(platform, request)),
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
      ...refusedAnswers,
      200: { ...signInAnswers[200], alsoAs: ["text/html"] },
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
      "SIGN_IN_DOMAIN_FORBIDDEN",
      "SIGN_IN_SECRETS_UNAVAILABLE",
      "TENANT_CAPACITY_REACHED",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "TENANT_FORBIDDEN",
      "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
      "PROVIDER_FACTOR_REQUIRED_FORBIDDEN",
    ],
    run: ({ platform, params, query: { state }, call }) =>
      withRefusalPage(platform, call, params, async () => {
        const browser = returnedBrowser(platform, call, state);
        const callback = { ...params, ...browser, search: call.url.search };
        const outcome = await finishOpenIdSignIn(platform, callback);
        return await finishAnswer(platform, call, { folder: FOLDER, ...params, state, outcome });
      }),
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
      "OIDC_PROVIDER_NOT_FOUND",
      "OIDC_USER_UNKNOWN_FORBIDDEN",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "TENANT_FORBIDDEN",
      "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
      "PROVIDER_FACTOR_REQUIRED_FORBIDDEN",
    ],
    run: async ({ platform, db, body, call }) =>
      await signedInAnswer(
        db,
        await redeemHandover(platform, body.code, originOf(call, body.deviceToken)),
      ),
  }),
] as const;
