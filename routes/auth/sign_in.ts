import { z } from "zod";
import { anyone, byPerson, forBound, forEnrolling, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { refresh, signIn, signOut, switchTenant } from "../../domain/access/sign_in/sign_in.ts";
import { noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid, withDefault } from "../../domain/shared/shapes.ts";
import { deviceToken, JsonWebKeySet, originOf, signedInAnswer, signInAnswers } from "./shapes.ts";

const endpoint = endpointsIn("Sign-in", "/auth");

const RefreshRequest = z.object({ refreshToken: z.string() }).meta({ id: "RefreshRequest" });

/** Sign-in, sign-out, token refresh, change of tenant. Every route is also served under `/auth`. */
export const signInRoutes = [
  endpoint("POST /api/v1/auth/login", {
    id: "signIn",
    service: "waits for others",
    summary: "Sign in with email and password",
    details:
      "A user with a second factor gets 401 SECOND_FACTOR_REQUIRED_UNAUTHORIZED. Its document also has `factorToken`, " +
      "`factors` (kinds that the user has) and `passkeyOptions`; POST /api/v1/auth/login/factor finishes the sign-in.",
    access: anyone,
    body: z.object({
      email: z.string().trim().min(1).max(320),
      password: z.string().min(1).max(1024),
      tenantId: uuid.nullish(),
      deviceToken,
      global: withDefault(z.boolean(), false),
    }).meta({ id: "SignInRequest" }),
    answers: signInAnswers,
    problems: [
      "CREDENTIALS_INVALID_UNAUTHORIZED",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "RATE_LIMITED",
      "SIGN_IN_BUSY_UNAVAILABLE",
      "TENANT_FORBIDDEN",
      "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
    ],
    run({ platform, db, body, call }) {
      const { tenantId = null } = body;
      const signingIn = signIn(platform, { ...body, tenantId, ...originOf(call, body.deviceToken) });
      return signedInAnswer(db, signingIn);
    },
  }),
  endpoint("POST /api/v1/auth/refresh", {
    id: "refresh",
    summary: "Exchange a refresh token for new tokens",
    access: anyone,
    content: { json: RefreshRequest },
    answers: signInAnswers,
    problems: ["TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_REVOKED", "SESSION_INVALIDATED"],
    async run({ platform, db, call }) {
      const { refreshToken } = await call.readJson(RefreshRequest, { anyText: true }); // any text is allowed; unknown tokens are refused
      return await signedInAnswer(db, refresh(platform, refreshToken));
    },
  }),
  endpoint("POST /api/v1/auth/switch-tenant", {
    id: "switchTenant",
    summary: "Get tokens for another tenant of the caller",
    access: byPerson(signedIn),
    body: z.object({ tenantId: uuid }).meta({ id: "SwitchTenantRequest" }),
    answers: signInAnswers,
    problems: ["TENANT_FORBIDDEN"],
    run: ({ platform, db, caller, body }) =>
      signedInAnswer(db, switchTenant(platform, caller, body.tenantId)),
  }),
  endpoint("POST /api/v1/auth/logout", {
    id: "signOut",
    summary: "End the caller's session",
    access: forBound(forSelf(forEnrolling(byPerson(signedIn)))),
    answers: { 204: { description: "The session has ended" } },
    run: ({ platform, caller }) => noContentAfter(signOut(platform, caller)),
  }),
] as const;

/** The public keys that verify access tokens. Caches keep them for a short time, so that a new key is soon used. */
export const keyRoutes = [
  endpoint("GET /.well-known/jwks.json", {
    id: "readKeys",
    summary:
      "Read the public keys of access and ID tokens; of each algorithm, the current signing key is first",
    access: anyone,
    service: "essential",
    anyOrigin: true,
    answers: { 200: { description: "A JSON Web Key Set", schema: JsonWebKeySet } },
    run: async ({ platform }) =>
      ok(await platform.tokens.publicKeys(), { "cache-control": "public, max-age=300" }),
  }),
] as const;
