import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import {
  acceptSamlAnswer,
  finishSamlSignIn,
  readServiceMetadata,
  startSamlSignIn,
} from "../../domain/access/sign_in/saml/sign_in.ts";
import { text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { signInAnswers } from "./answers.ts";
import {
  finishAnswer,
  refusedAnswers,
  returnedBrowser,
  startAnswer,
  withRefusalPage,
} from "./provider_answers.ts";

const endpoint = endpointsIn("Sign-in");

const FOLDER = "/api/v1/auth/saml";
const params = z.object({ provider: z.string().min(1).max(40) });
/** The limits of an answer apply to its text; a form holds it in base64 and with escapes. */
const MAX_FORM_BYTES = 512 * 1024;

/** Sign-in with a tenant's own SAML provider: start, the provider's answer, its end, and the service's metadata. */
export const samlRoutes = [
  endpoint(`GET ${FOLDER}/{provider}`, {
    id: "startSamlSignIn",
    summary: "Redirect the browser to a SAML provider",
    access: anyone,
    params,
    query: z.object({
      test: z.string().max(200).optional().meta({ description: "The ticket of a test of the provider" }),
      returnTo: z.string().max(2000).optional().meta({
        description: "As for an OpenID provider, with the exchange of the code there",
      }),
    }),
    answers: {
      ...refusedAnswers,
      302: { description: "Redirect to the provider; a cookie binds the sign-in to this browser" },
    },
    problems: ["OIDC_PROVIDER_NOT_FOUND", "OIDC_STATE_INVALID"],
    run: ({ platform, params, query: { returnTo = null, test = null }, call }) =>
      withRefusalPage(platform, call, params, async () => {
        const request = { ...params, returnTo, test, tenantId: null, global: false };
        return startAnswer(platform, FOLDER, await startSamlSignIn(platform, request));
      }),
  }),
  endpoint(`POST ${FOLDER}/{provider}/acs`, {
    id: "acceptSamlAnswer",
    summary: "The answer of a SAML provider (HTTP-POST binding)",
    details: "Only signed assertions that answer a sign-in that was started here are accepted.",
    access: anyone,
    params,
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
        const location = `${platform.baseUrl()}${FOLDER}/${params.provider}/finish?${new URLSearchParams({
          state,
        })}`;
        return { status: 303, headers: { location, "referrer-policy": "no-referrer" }, body: undefined };
      }),
  }),
  endpoint(`GET ${FOLDER}/{provider}/finish`, {
    id: "finishSamlSignIn",
    summary: "The end of a sign-in with a SAML provider",
    access: anyone,
    params,
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
      "SIGN_IN_DOMAIN_FORBIDDEN",
      "TENANT_CAPACITY_REACHED",
      "TENANT_FORBIDDEN",
      "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
    ],
    run: ({ platform, params, query: { state }, call }) =>
      withRefusalPage(platform, call, params, async () => {
        const browser = returnedBrowser(platform, call, state);
        const outcome = await finishSamlSignIn(platform, { ...params, ...browser });
        return await finishAnswer(platform, call, { folder: FOLDER, ...params, state, outcome });
      }),
  }),
  endpoint(`GET ${FOLDER}/{provider}/metadata`, {
    id: "readSamlMetadata",
    summary: "The service's SAML metadata for a provider, also one that is not enabled",
    access: anyone,
    params,
    answers: { 200: { description: "The metadata", contentType: "application/samlmetadata+xml" } },
    problems: ["OIDC_PROVIDER_NOT_FOUND"],
    run: async ({ platform, params }) =>
      text(await readServiceMetadata(platform, params.provider), "application/samlmetadata+xml"),
  }),
] as const;
