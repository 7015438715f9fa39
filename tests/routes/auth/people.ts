import { newId } from "../../../domain/shared/ids.ts";
import { hashPassword } from "../../../infra/passwords.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import type { TestService } from "../../support/setup.ts";

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
  const email = o.email ?? `${id}@example.test`;
  const passwordHash = o.passwordHash === undefined ? await hashed : o.passwordHash;
  const links = o.links ?? [await t.tenant()];
  await transact(t.steward.platform.sql, async (tx) => {
    await tx`insert into users (id, email, password_hash, first_name, last_name, is_active, email_verified_at)
      values (${id}, ${email}, ${passwordHash}, 'Some', 'Body', ${o.isActive ?? true},
        ${o.isProved ? new Date() : null})`;
    for (const [index, tenantId] of links.entries()) {
      await tx`insert into user_tenants (user_id, tenant_id, is_default) values (${id}, ${tenantId}, ${
        index === 0
      })`;
      await tx`insert into user_tenant_roles (user_id, tenant_id, role_id)
        select ${id}, ${tenantId}, id from roles where tenant_id = ${tenantId} and name = ${
        o.role ?? "Admin"
      }`;
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

/** Deletes failed sign-ins, so that a test starts below every limit. */
export const forgetFailures = async (t: TestService): Promise<void> => {
  await t.steward.platform.sql`delete from failed_sign_ins`;
};
