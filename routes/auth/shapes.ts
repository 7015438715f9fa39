import { z } from "zod";
import { Profile, readProfile } from "../../domain/access/account/profile.ts";
import { KEY_SORTS, MAX_OVERLAP_SECONDS } from "../../domain/access/keys/key_record.ts";
import { TokenPair } from "../../domain/access/sign_in/sessions.ts";
import type { Origin, SignedIn } from "../../domain/access/sign_in/sign_in.ts";
import { orNull } from "../../domain/shared/shapes.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Answer, ok } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { listQuery, queryInteger } from "../shared/validation.ts";

/** Sent back with a sign-in, so that the service knows the device. */
export const deviceToken = orNull(z.string().max(200)).describe(
  "`deviceToken` of this device's last sign-in; it goes on when others lock the account",
);

const SignInDto = Profile.extend({
  ...TokenPair.shape,
  deviceToken: z.string().optional().describe(
    "Secret of this device for 90 days, to send with its next sign-in; absent after a refresh or switch",
  ),
}).meta({ id: "SignInDto" });

export const OpenIdProviderDto = z.object({
  name: z.string().describe("As in the sign-in URL"),
  displayName: z.string(),
  signInUrl: z.url(),
}).meta({ id: "OpenIdProviderDto" });

/** The list of API keys or service accounts. */
export const keysQuery = z.object({
  ...listQuery(KEY_SORTS),
  unusedForDays: queryInteger(1, 3650).optional().describe("Neither used nor created in these days"),
  expiresWithinDays: queryInteger(1, 3650).optional().describe("Good now, and expired after these days"),
});

export const RotateKeyRequest = z.object({
  overlapSeconds: z.int().min(0).max(MAX_OVERLAP_SECONDS).default(0).describe(
    "How long the former secret stays good; a secret before it ends at once",
  ),
}).meta({ id: "RotateKeyRequest" });

export const JsonWebKeySet = z.object({
  keys: z.array(z.object({
    kty: z.string(),
    crv: z.string().optional(),
    x: z.string().optional(),
    n: z.string().optional(),
    e: z.string().optional(),
    kid: z.string(),
    alg: z.string(),
    use: z.string(),
  })),
}).meta({ id: "JsonWebKeySet" });

export const signInAnswers = {
  200: { description: "Tokens and the profile of the user", schema: SignInDto },
};

/** 200 with the tokens of a sign-in and the profile of the user. */
export async function signedInAnswer(db: Sql, signingIn: SignedIn | Promise<SignedIn>): Promise<Answer> {
  const { tokens, userId, tenantId, boundTo } = await signingIn;
  const { value: profile } = await readProfile(db, userId, tenantId, boundTo);
  return ok({ ...tokens, ...profile });
}

/** The client address and user agent that a session stores, and the token that the device sent. */
export const originOf = (call: Call, deviceToken: string | null = null): Origin => ({
  ip: call.ip,
  userAgent: call.request.headers.get("user-agent")?.slice(0, 300) ?? null,
  deviceToken,
});
