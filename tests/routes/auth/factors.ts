import { Secret, TOTP } from "otpauth";
import { TestAuthenticator } from "../../support/authenticator.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import type { TestService } from "../../support/setup.ts";
import { clock, PASSWORD, type Person, type person, signedIn, signIn } from "./people.ts";

/** An authenticator app. */
export class TestApp {
  readonly #totp: TOTP;
  /** @param now default: the clock of `setupSignIns`; a service without it needs the real time */
  constructor(secret: string, private readonly now = () => clock.now().getTime()) {
    this.#totp = new TOTP({ secret: Secret.fromBase32(secret) });
  }

  /** The code of the current time step, or of one `steps` later. */
  code(steps = 0): string {
    return this.#totp.generate({ timestamp: this.now() + steps * 30_000 });
  }
}

/** A signed-in user with an authenticator app. */
export interface AppUser extends Person {
  app: TestApp;
  factorId: string;
  recoveryCodes: string[];
  client: HttpClient;
}

/**
 * Adds an authenticator app to the caller. Its code of the previous time step (`step`) is used up then. With the real
 * time, use step 0: the code of the previous one may be too old when the request arrives.
 */
export async function addApp(
  client: HttpClient,
  { now, step = -1 }: { now?: () => number; step?: number } = {},
): Promise<Pick<AppUser, "app" | "factorId" | "recoveryCodes"> & { usedCode: string }> {
  const path = "/api/v1/auth/factors/totp";
  const { secret, factorId } = await accepted(client.post(path), 200);
  const app = new TestApp(secret, now);
  const usedCode = app.code(step);
  const confirmed = await accepted(client.post(`${path}/confirm`, { factorId, code: usedCode }), 200);
  return { app, factorId, recoveryCodes: confirmed.recoveryCodes, usedCode };
}

/** A new user who signed in and added an authenticator app. */
export async function appUser(t: TestService, o: Parameters<typeof person>[1] = {}): Promise<AppUser> {
  const { me: client, ...user } = await signedIn(t, o);
  return { ...user, client, ...await addApp(client) };
}

/** Adds a passkey to the caller. */
export async function addPasskey(
  client: HttpClient,
  authenticator = new TestAuthenticator(siteOf(client)),
): Promise<{ authenticator: TestAuthenticator; added: HttpAnswer }> {
  const passkey = authenticator.create(
    await accepted(client.post("/api/v1/auth/factors/passkey/options"), 200),
  );
  const added = await client.post("/api/v1/auth/factors/passkey/verify", { name: "My key", passkey });
  return { authenticator, added };
}

/** The origin of the passkeys of a service on a loopback address. */
export const siteOf = ({ baseUrl }: { baseUrl: string }): string => baseUrl.replace("127.0.0.1", "localhost");

/** The factor token of a new sign-in. */
export async function half(t: TestService, user: Pick<Person, "email">, more = {}): Promise<string> {
  const answer = await signIn(t, user.email, PASSWORD, more);
  await refused("401 SECOND_FACTOR_REQUIRED_UNAUTHORIZED", answer);
  return answer.body.factorToken;
}

export const finish = (t: TestService, factorToken: string, proof: object): Promise<HttpAnswer> =>
  t.nobody.post("/api/v1/auth/login/factor", { factorToken, ...proof });

/** Makes the sign-ins of a user older, so that sensitive acts need a step-up. */
export async function ageSignIns(t: TestService, userId: string, minutes = 16): Promise<void> {
  const { sql } = t.steward.platform;
  await sql`update sessions set authenticated_at = now() - make_interval(mins => ${minutes}) where user_id = ${userId}`;
  for (const { platform } of t.instances) platform.rights.invalidate([userId]);
}
