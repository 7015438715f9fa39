import { type Json, keptHash, Plan } from "./plan.ts";

/**
 * Reads files of Auth0 in any order: exports of users and of password hashes (one object a line), and lists of roles with
 * their `users`, as the Management API answers both.
 */
export async function readAuth0(files: string[]): Promise<Plan> {
  const plan = new Plan();
  const users = new Map<string, Json>();
  const rolesOf = new Map<string, string[]>();
  for (const file of files) {
    const text = (await Deno.readTextFile(file)).trim();
    const isList = text.startsWith("[");
    for (const { name, description, users = [] } of isList ? JSON.parse(text) : []) {
      plan.roles.push({ name, description });
      for (const { user_id } of users) rolesOf.set(user_id, [...rolesOf.get(user_id) ?? [], name]);
    }
    for (const line of isList ? [] : text.split("\n").filter((line) => line.trim() !== "")) {
      const user: Json = JSON.parse(line);
      const id = user.user_id ?? `auth0|${user.alt_id ?? user._id.$oid}`; // the export of hashes has no user_id
      users.set(id, { ...users.get(id), ...user });
    }
  }
  for (const [externalId, user] of users) {
    plan.users.push({
      externalId,
      email: user.email ?? user.identifiers?.find(({ type }: Json) => type === "email")?.value,
      ...{ firstName: user.given_name, lastName: user.family_name, phoneNumber: user.phone_number },
      isActive: user.blocked !== true,
      roles: rolesOf.get(externalId) ?? [],
      passwordHash: keptHash(user.passwordHash),
      metadata: { ...user.user_metadata, ...user.app_metadata },
    });
  }
  return plan;
}
