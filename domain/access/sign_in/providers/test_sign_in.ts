import { transact } from "../../../../infra/postgres/postgres.ts";
import { Problem } from "../../../problems/problem.ts";
import type { AccessPlatform } from "../../platform.ts";
import { chooseTenant } from "../tenant_choice.ts";
import { unknownProvider } from "./flow.ts";
import type { AssertedIdentity } from "./identity.ts";
import { findTenantProvider } from "./provider.ts";
import { resolveUser, type Trace } from "./resolve.ts";

/** The result of a test of a provider. */
export interface TestedSignIn {
  /** Null: the provider's answer was refused. */
  identity: AssertedIdentity | null;
  /** The user whom a sign-in would give a session; null: none. */
  user: TestedUser | null;
  /** Why a sign-in would be refused; null: it would not be. */
  refusal: Problem | null;
}

interface TestedUser {
  email: string;
  /** A sign-in would create the user, or link one of other tenants. */
  isAdded: boolean;
  roles: string[];
}

/** Carries the result out of a transaction that is rolled back. */
class Found extends Error {
  constructor(readonly user: Omit<TestedUser, "isAdded"> & { id: string }) {
    super();
  }
}

/** Does all that a sign-in would do, and rolls it back. */
export async function testSignIn(
  p: AccessPlatform,
  providerId: string,
  trace: Trace,
  identify: () => Promise<AssertedIdentity>,
): Promise<TestedSignIn> {
  let identity: AssertedIdentity | null = null;
  try {
    identity = await identify();
    const asserted = identity;
    await transact(p.sql, async (tx) => {
      const provider = await findTenantProvider(tx, providerId, tx`for share of p`);
      if (!provider) throw unknownProvider(providerId);
      const { tenantId } = provider;
      const id = await resolveUser(p, tx, provider, asserted, trace);
      await chooseTenant(tx, id, { tenantId, global: false }, provider);
      const [user] = await tx<{ email: string; roles: string[] }[]>`
        select u.email, array(select r.name from user_tenant_roles h join roles r on r.id = h.role_id
          where h.user_id = u.id and h.tenant_id = ${tenantId} order by r.name) as roles
        from users u where u.id = ${id}`;
      if (!user) throw new Error(`the user ${id} is missing after a test`);
      throw new Found({ ...user, id });
    });
    throw new Error("a test of a sign-in was not rolled back");
  } catch (end) {
    if (end instanceof Found) {
      const { id, ...user } = end.user;
      const links = await p
        .sql`select from user_tenants l join sign_in_providers p on p.tenant_id = l.tenant_id
        where l.user_id = ${id} and p.id = ${providerId}`;
      return { identity, user: { ...user, isAdded: links.length === 0 }, refusal: null };
    }
    if (end instanceof Problem) return { identity, user: null, refusal: end };
    throw end;
  }
}
