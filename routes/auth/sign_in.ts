import { z } from "zod";
import { anyone, signedIn } from "../../domain/access/checks.ts";
import { readProfile } from "../../domain/auth/profile.ts";
import { refresh, type SignedIn, signIn, signOut, switchTenant } from "../../domain/auth/sign_in.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { noContent, ok } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { uuid } from "../shared/validation.ts";
import { ProfileDto, SignInDto } from "./shapes.ts";

const tokens = { 200: { description: "Tokens and who they are for", schema: SignInDto } };

/** Signing in and out, refreshing, switching tenant, the own profile. Every route is served under `/auth` too. */
export function signInRoutes(p: Platform): Endpoint[] {
  const answer = async ({ tokens, userId, tenantId }: SignedIn) =>
    ok({ ...tokens, ...await readProfile(p.sql, userId, tenantId) });
  return [
    endpoint({
      method: "post",
      path: "/api/v1/auth/login",
      alsoAt: ["/auth/login"],
      area: "Sign-in",
      id: "signIn",
      summary: "Sign in by email and password",
      access: anyone,
      body: z.object({
        email: z.string().min(1).max(320),
        password: z.string().min(1).max(1024),
        tenantId: uuid.nullish(),
        global: z.boolean().default(false),
      }).meta({ id: "SignInRequest" }),
      answers: tokens,
      problems: ["CREDENTIALS_INVALID_UNAUTHORIZED", "ACCOUNT_LOCKED_UNAUTHORIZED", "TENANT_FORBIDDEN"],
      run: async ({ body, call }) =>
        await answer(
          await signIn(p, {
            ...body,
            email: body.email.trim(),
            tenantId: body.tenantId ?? null,
            ip: call.ip,
            userAgent: call.request.headers.get("user-agent")?.slice(0, 300) ?? null,
          }),
        ),
    }),
    endpoint({
      method: "post",
      path: "/api/v1/auth/refresh",
      alsoAt: ["/auth/refresh"],
      area: "Sign-in",
      id: "refresh",
      summary: "Exchange a refresh token for new tokens",
      access: anyone,
      body: z.object({ refreshToken: z.string().min(1).max(200) }).meta({ id: "RefreshRequest" }),
      answers: tokens,
      problems: ["TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_REVOKED", "SESSION_INVALIDATED"],
      run: async ({ body }) => await answer(await refresh(p, body.refreshToken)),
    }),
    endpoint({
      method: "post",
      path: "/api/v1/auth/switch-tenant",
      alsoAt: ["/auth/switch-tenant"],
      area: "Sign-in",
      id: "switchTenant",
      summary: "Get tokens for another tenant of the caller",
      access: signedIn,
      body: z.object({ tenantId: uuid }).meta({ id: "SwitchTenantRequest" }),
      answers: tokens,
      problems: ["TENANT_FORBIDDEN"],
      run: async ({ caller, body }) => await answer(await switchTenant(p, caller, body.tenantId)),
    }),
    endpoint({
      method: "post",
      path: "/api/v1/auth/logout",
      alsoAt: ["/auth/logout"],
      area: "Sign-in",
      id: "signOut",
      summary: "End the caller's session",
      access: signedIn,
      answers: { 204: { description: "The session has ended" } },
      problems: [],
      async run({ caller }) {
        await signOut(p, caller);
        return noContent();
      },
    }),
    endpoint({
      method: "get",
      path: "/api/v1/auth/me",
      alsoAt: ["/auth/me"],
      area: "Sign-in",
      id: "readMe",
      summary: "The caller's own profile, roles and permissions",
      access: signedIn,
      answers: { 200: { description: "The caller", schema: ProfileDto } },
      problems: [],
      run: async ({ caller }) => ok(await readProfile(p.sql, caller.userId, caller.tenantId)),
    }),
  ];
}
