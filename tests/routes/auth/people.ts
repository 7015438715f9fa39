import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { hashPassword } from "../../../infra/passwords.ts";
import { connectPostgres, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { createDatabaseForLongLocks } from "../../support/cluster.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { accepted, outcome } from "../../support/outcomes.ts";
import { setupShared, type TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

export const PASSWORD = "correct horse battery";
const hashed = hashPassword(PASSWORD);

/** A user who can sign in with a password. */
export interface Person {
  id: string;
  email: string;
  /** Tenant of the default link; empty if there is none. */
  tenantId: string;
}

/**
 * Creates a user with a password and, unless `links` says otherwise, an Admin link to a new tenant.
 * @param o.isProved true: the owner has used a link that was mailed to the email
 */
export async function person(
  t: TestService,
  o: {
    email?: string;
    passwordHash?: string | null;
    isActive?: boolean;
    links?: string[];
    role?: string;
    isProved?: boolean;
  } = {},
): Promise<Person> {
  const id = newId();
  const { email = `${id}@example.test`, passwordHash = await hashed, isActive = true, role = "Admin" } = o;
  const links = o.links ?? [await t.tenant()];
  await transact(t.steward.platform.sql, async (tx) => {
    await tx`insert into users (id, email, password_hash, first_name, last_name, is_active, email_verified_at)
      values (${id}, ${email}, ${passwordHash}, 'Some', 'Body', ${isActive}, ${
      o.isProved ? new Date() : null
    })`;
    for (const [index, tenant_id] of links.entries()) {
      await tx`insert into user_tenants ${tx({ user_id: id, tenant_id, is_default: index === 0 })}`;
      await tx`insert into user_tenant_roles (user_id, tenant_id, role_id)
        select ${id}, tenant_id, id from roles where tenant_id = ${tenant_id} and name = ${role}`;
    }
  });
  return { id, email, tenantId: links[0] ?? "" };
}

export const signIn = (t: TestService, email: string, password = PASSWORD, more = {}): Promise<HttpAnswer> =>
  t.nobody.post("/api/v1/auth/login", { email, password, ...more });

/** A caller with the access token of a sign-in answer. */
export const bearer = (t: TestService, { body }: HttpAnswer): HttpClient => withToken(t, body.accessToken);

export const withToken = (t: TestService, token: string): HttpClient =>
  t.nobody.with({ authorization: `Bearer ${token}` });

/** A user who signed in with the password: `me` sends requests with the access token. */
export async function signedIn(t: TestService, o: Parameters<typeof person>[1] = {}) {
  const user = await person(t, o);
  const tokens = await accepted(signIn(t, user.email));
  return { ...user, tokens, me: withToken(t, tokens.accessToken) };
}

/** Asks for new tokens. */
export const refresh = (t: TestService, { refreshToken }: { refreshToken: string }): Promise<HttpAnswer> =>
  t.nobody.post("/api/v1/auth/refresh", { refreshToken });

/** Fails sign-ins of a user who is not locked. */
export async function failSignIns(t: TestService, email: string, times: number, more = {}): Promise<void> {
  for (let n = 0; n < times; n++) {
    assert.equal(await outcome(signIn(t, email, "wrong", more)), "401 CREDENTIALS_INVALID_UNAUTHORIZED");
  }
}

let database: Promise<string> | undefined;

/** A clock that stands still in the middle of a time step of codes, so that no test depends on when it runs. */
const start = new Date(Math.floor(Date.now() / 30_000) * 30_000 + 15_000);
export const clock = { now: () => start };

/**
 * A service with this clock, for tests that fail sign-ins, use codes of an app, or `racing`. Test files share it; each test
 * starts without failed sign-ins.
 */
export async function setupSignIns(): Promise<TestService> {
  const DATABASE_URL = await (database ??= createDatabaseForLongLocks());
  const settings = { TRUSTED_PROXIES: "1", DATABASE_URL, DATABASE_POOL: "6" };
  return withoutFailures(await setupShared(settings, { clock }));
}

/** A service for files that change the texts of its mails, or the roles of all its tenants. They share it. */
export const setupChanged = (): Promise<TestService> =>
  setupShared({ RESET_URL: "https://app.example.test/reset#token={token}" });

/** Each test of this file starts without failed sign-ins. */
export function withoutFailures(t: TestService): TestService {
  Deno.test.beforeEach(() => forgetFailures(t));
  return t;
}

/**
 * Sends requests that change a user. None can end before all of them wait for the user's row, so each has passed the
 * checks before. They then go on in their order.
 */
export const racing = (
  t: TestService,
  userId: string,
  ...requests: (() => Promise<HttpAnswer>)[]
): Promise<string[]> =>
  racingFor(t, (tx) => tx`select from users where id = ${userId} for update`, ...requests);

/**
 * Sends requests of which none can end before all of them wait for what `lock` locks. They then go on in their order. The
 * lock is held by another connection than those of the service.
 */
export async function racingFor(
  t: TestService,
  lock: (tx: Tx) => Promise<unknown>,
  ...requests: (() => Promise<HttpAnswer>)[]
): Promise<string[]> {
  const holder = connectPostgres(t.steward.platform.config.DATABASE_URL ?? "", { max: 1 });
  const { answers } = await transact(holder, async (tx) => {
    await lock(tx);
    const answers: Promise<string>[] = [];
    for (const send of requests) {
      answers.push(outcome(send()));
      await until(() => countLockWaits(tx), (waiting) => waiting >= answers.length, { what: "a lock wait" });
    }
    return { answers };
  }).finally(() => holder.end());
  return await Promise.all(answers);
}

/** Deletes failed sign-ins, so that a test starts below every limit. */
export const forgetFailures = async (t: TestService): Promise<void> => {
  await t.steward.platform.sql`delete from failed_sign_ins`;
};
