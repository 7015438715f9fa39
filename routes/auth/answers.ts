import { readProfile } from "../../domain/access/account/profile.ts";
import type { Origin, SignedIn } from "../../domain/access/sign_in/sign_in.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Answer, ok } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { SignInDto } from "./shapes.ts";

export const signInAnswers = {
  200: { description: "Tokens and the profile of the user", schema: SignInDto },
};

/** 200 with the tokens of a sign-in and the profile of the user. */
export async function signedInAnswer(
  db: Sql,
  { tokens, userId, tenantId, boundTo }: SignedIn,
): Promise<Answer> {
  const { profile } = await readProfile(db, userId, tenantId, boundTo);
  return ok({ ...tokens, ...profile });
}

/** The client address and user agent that a session stores, and the token that the device sent. */
export const originOf = (call: Call, deviceToken: string | null = null): Origin => ({
  ip: call.ip,
  userAgent: call.request.headers.get("user-agent")?.slice(0, 300) ?? null,
  deviceToken,
});
