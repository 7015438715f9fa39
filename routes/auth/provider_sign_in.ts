import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { redeemHandover } from "../../domain/access/sign_in/providers/finish.ts";
import { finishOpenIdSignIn, startOpenIdSignIn } from "../../domain/access/sign_in/oidc/sign_in.ts";
import { ok, text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean } from "../shared/validation.ts";
import { deviceToken, OpenIdProviderDto, originOf, signedInAnswer, signInAnswers } from "./shapes.ts";
import {
  finishAnswer,
  refusedAnswers,
  returnedBrowser,
  startAnswer,
  withRefusalPage,
} from "./provider_answers.ts";
import {
  acceptSamlAnswer,
  finishSamlSignIn,
  readServiceMetadata,
  startSamlSignIn,
} from "../../domain/access/sign_in/saml/sign_in.ts";

const endpoint = endpointsIn("Sign-in", "/auth");
const samlEndpoint = endpointsIn("Sign-in");

const FOLDER = "/api/v1/auth/oidc";
const provider = z.object({ provider: z.string().min(1).max(40) });
const started = {
  ...refusedAnswers,
  302: { description: "Redirect to the provider; a cookie binds the sign-in to this browser" },
};
/** The end of a sign-in, with the browser that began it. */
const finish = {
  query: z.object({ state: z.string().max(200).default("") }),
  answers: {
    ...refusedAnswers,
    200: { ...signInAnswers[200], alsoAs: ["text/html"] },
    303: {
      description: "Redirect to `returnTo`, with `#code=` for the exchange or `#error=` and an error code",
    },
  },
};
const finishProblems = [
  "OIDC_PROVIDER_NOT_FOUND",
  "OIDC_STATE_INVALID",
  "OIDC_REFUSED_UNAUTHORIZED",
  "OIDC_EMAIL_UNVERIFIED_FORBIDDEN",
  "OIDC_USER_UNKNOWN_FORBIDDEN",
  "OIDC_IDENTITY_CONFLICT",
  "SIGN_IN_DOMAIN_FORBIDDEN",
  "TENANT_CAPACITY_REACHED",
  "TENANT_FORBIDDEN",
] as const;

/** Sign-in with an OpenID provider: list of providers, start, callback, and exchange of the code for tokens. */
export const oidcRoutes = [
  endpoint("GET /api/v1/auth/oidc", {
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
    id: "startOpenIdSignIn",
    service: "waits for others",
    summary: "Redirect the browser to an OpenID provider",
    access: anyone,
    params: provider,
    query: z.object({
      test: z.string().max(200).optional().describe("The ticket of a test of a tenant's provider"),
      returnTo: z.string().max(2000).optional().describe(
        "Where the browser is redirected after the sign-in, with `#code=` or `#error=`: a path of the service, or " +
          "a URL of an origin in OIDC_RETURN_ORIGINS. Absent: the callback answers the tokens.",
      ),
      tenantId: uuid.optional(),
      global: queryBoolean.default(false),
    }),
    answers: started,
    problems: [
      "OIDC_PROVIDER_NOT_FOUND",
      "OIDC_STATE_INVALID",
      "OIDC_PROVIDER_UNAVAILABLE",
      "SIGN_IN_SECRETS_UNAVAILABLE",
    ],
    run({ platform, params, query, call }) {
      const { returnTo = null, tenantId = null, test = null, global } = query;
      return withRefusalPage(platform, call, { ...params, isTest: test !== null }, async () => {
        const request = { ...params, returnTo, tenantId, test, global };
        return startAnswer(platform, FOLDER, await startOpenIdSignIn(platform, request));
      });
    },
  }),
  endpoint("GET /api/v1/auth/oidc/{provider}/callback", {
    id: "finishOpenIdSignIn",
    service: "waits for others",
    summary: "The callback of an OpenID provider",
    access: anyone,
    params: provider,
    ...finish,
    problems: [
      ...finishProblems,
      "OIDC_PROVIDER_UNAVAILABLE",
      "SIGN_IN_SECRETS_UNAVAILABLE",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
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
    run: ({ platform, db, body, call }) =>
      signedInAnswer(db, redeemHandover(platform, body.code, originOf(call, body.deviceToken))),
  }),
] as const;

const SAML_FOLDER = "/api/v1/auth/saml";
/** The limits of an answer apply to its text; a form holds it in base64 and with escapes. */
const MAX_FORM_BYTES = 512 * 1024;

/** Sign-in with a tenant's own SAML provider: start, the provider's answer, its end, and the service's metadata. */
export const samlRoutes = [
  samlEndpoint(`GET ${SAML_FOLDER}/{provider}`, {
    id: "startSamlSignIn",
    summary: "Redirect the browser to a SAML provider",
    access: anyone,
    params: provider,
    query: z.object({
      test: z.string().max(200).optional().describe("The ticket of a test of the provider"),
      returnTo: z.string().max(2000).optional().describe(
        "As for an OpenID provider, with the exchange of the code there",
      ),
    }),
    answers: started,
    problems: ["OIDC_PROVIDER_NOT_FOUND", "OIDC_STATE_INVALID"],
    run: ({ platform, params, query: { returnTo = null, test = null }, call }) =>
      withRefusalPage(platform, call, params, async () => {
        const request = { ...params, returnTo, test, tenantId: null, global: false };
        return startAnswer(platform, SAML_FOLDER, await startSamlSignIn(platform, request));
      }),
  }),
  samlEndpoint(`POST ${SAML_FOLDER}/{provider}/acs`, {
    id: "acceptSamlAnswer",
    summary: "The answer of a SAML provider (HTTP-POST binding)",
    details: "Only signed assertions that answer a sign-in that was started here are accepted.",
    access: anyone,
    params: provider,
    content: { form: z.object({ SAMLResponse: z.string(), RelayState: z.string().optional() }) },
    bodyLimit: MAX_FORM_BYTES,
    answers: {
      ...refusedAnswers,
      303: { description: "Redirect to the end of the sign-in, which gets its cookie" },
    },
    problems: ["OIDC_PROVIDER_NOT_FOUND", "OIDC_STATE_INVALID", "OIDC_REFUSED_UNAUTHORIZED"],
    run: ({ platform, params, call }) =>
      withRefusalPage(platform, call, params, async () => {
        const answer = (await call.readForm()).get("SAMLResponse") ?? "";
        const state = await acceptSamlAnswer(platform, params.provider, answer);
        const query = new URLSearchParams({ state });
        const location = `${platform.baseUrl()}${SAML_FOLDER}/${params.provider}/finish?${query}`;
        return { status: 303, headers: { location, "referrer-policy": "no-referrer" }, body: undefined };
      }),
  }),
  samlEndpoint(`GET ${SAML_FOLDER}/{provider}/finish`, {
    id: "finishSamlSignIn",
    summary: "The end of a sign-in with a SAML provider",
    access: anyone,
    params: provider,
    ...finish,
    problems: [...finishProblems, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED"],
    run: ({ platform, params, query: { state }, call }) =>
      withRefusalPage(platform, call, params, async () => {
        const browser = returnedBrowser(platform, call, state);
        const outcome = await finishSamlSignIn(platform, { ...params, ...browser });
        return await finishAnswer(platform, call, { folder: SAML_FOLDER, ...params, state, outcome });
      }),
  }),
  samlEndpoint(`GET ${SAML_FOLDER}/{provider}/metadata`, {
    id: "readSamlMetadata",
    summary: "The service's SAML metadata for a provider, also one that is not enabled",
    access: anyone,
    params: provider,
    answers: { 200: { description: "The metadata", contentType: "application/samlmetadata+xml" } },
    problems: ["OIDC_PROVIDER_NOT_FOUND"],
    run: async ({ platform, params }) =>
      text(await readServiceMetadata(platform, params.provider), "application/samlmetadata+xml"),
  }),
] as const;
