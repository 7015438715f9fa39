import { type Json, keptHash, Plan, readJson } from "./plan.ts";

/**
 * Reads files of Auth0 in any order: exports of users and of password hashes, and lists of roles with their `users`, as the
 * Management API answers both.
 */
export async function readAuth0(files: string[]): Promise<Plan> {
  const plan = new Plan();
  const users = new Map<string, Json>();
  const rolesOf = new Map<string, string[]>();
  for (const file of files) {
    plan.each(`entry of ${file}`, await readJson(file), (entry) => {
      const { user_id, alt_id, _id, name } = entry;
      const id = user_id ?? (alt_id || _id ? `auth0|${alt_id ?? _id.$oid}` : null); // the export of hashes has no user_id
      if (id) return void users.set(id, { ...users.get(id), ...entry });
      plan.addRole(entry);
      plan.each(`user of role ${name}`, entry.users, ({ user_id }) => {
        rolesOf.set(user_id, [...rolesOf.get(user_id) ?? [], name]);
      });
    });
  }
  for (const [externalId, user] of users) {
    plan.users.push({
      externalId,
      email: user.email ?? user.identifiers?.find?.(({ type }: Json) => type === "email")?.value,
      ...{ firstName: user.given_name, lastName: user.family_name, phoneNumber: user.phone_number },
      isActive: user.blocked !== true,
      roles: rolesOf.get(externalId) ?? [],
      passwordHash: keptHash(user.passwordHash),
      metadata: { ...user.user_metadata, ...user.app_metadata },
    });
  }
  return plan;
}
