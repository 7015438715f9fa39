import type { Sql } from "../../../infra/postgres/postgres.ts";
import { findUsersInTenant, fullName } from "../../rights/user_lookup.ts";

/**
 * The claims about a user that the scopes `profile` and `email` allow (OpenID Connect Core, 5.4). `email_verified` is true
 * once a link that was mailed to the address was used: an invitation, a change of the email or a password reset.
 */
export async function userClaims(
  q: Sql,
  userId: string,
  scopes: readonly string[],
): Promise<Record<string, string | boolean>> {
  const shows = { profile: scopes.includes("profile"), email: scopes.includes("email") };
  if (!shows.profile && !shows.email) return {};
  const [user] = await findUsersInTenant(q, null, [userId]);
  if (!user) return {};
  const { firstName, lastName, email, isEmailVerified } = user;
  const name = fullName(user);
  return {
    ...shows.profile && name ? { name } : {},
    ...shows.profile && firstName ? { given_name: firstName } : {},
    ...shows.profile && lastName ? { family_name: lastName } : {},
    ...shows.email ? { email, email_verified: isEmailVerified } : {},
  };
}
