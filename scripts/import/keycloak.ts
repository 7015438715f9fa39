import { keptHash, Plan } from "./plan.ts";

// deno-lint-ignore no-explicit-any -- a file of another system
type Json = any;
/** Roles and clients that Keycloak makes for itself. */
const OWN =
  /^(default-roles-.*|offline_access|uma_authorization|account(-console)?|admin-cli|broker|(realm|.*-realm)|realm-management|security-admin-console)$/;

/** Reads exports of a realm: its one file, or the file of the realm and those of its users. */
export async function readKeycloak(files: string[]): Promise<Plan> {
  const plan = new Plan();
  for (const file of files) {
    const { roles = {}, users = [] }: Json = JSON.parse(await Deno.readTextFile(file));
    const namesOfClients = namesByClient(roles.client, ({ name }) => name);
    for (const name of namesOfClients) plan.roles.push({ name });
    for (const { name, description } of roles.realm ?? []) {
      if (!OWN.test(name)) plan.roles.push({ name, description });
    }
    for (const user of users) {
      const { id: externalId, username, email = username, firstName, lastName, attributes: metadata } = user;
      const credential = user.credentials?.find(({ type, secretData }: Json) =>
        type === "password" && secretData
      );
      if (user.serviceAccountClientId) plan.refused.push(`${username}: a service account; create one here`);
      else {
        plan.users.push({
          ...{ externalId, email, firstName, lastName, metadata, isActive: user.enabled !== false },
          roles: [
            ...(user.realmRoles ?? []).filter((name: string) => !OWN.test(name)),
            ...namesByClient(user.clientRoles, String),
          ],
          passwordHash: keptHash(credential && hashOf(credential)),
        });
      }
    }
  }
  return plan;
}

/** Roles of clients are named `client: role`, because two clients may have roles of one name. */
const namesByClient = (byClient: Record<string, Json[]> = {}, nameOf: (role: Json) => string): string[] =>
  Object.entries(byClient).filter(([client]) => !OWN.test(client)).flatMap(([client, roles]) =>
    roles.map((role) => `${client}: ${nameOf(role)}`)
  );

/** The PHC string of a credential. */
function hashOf({ secretData, credentialData }: Record<string, string>): string {
  const { value, salt } = JSON.parse(secretData ?? "{}");
  const { algorithm, hashIterations, additionalParameters: more } = JSON.parse(credentialData ?? "{}");
  const parts = `${salt}$${value}`.replaceAll("=", "");
  if (algorithm !== "argon2") return `$${algorithm}$i=${hashIterations}$${parts}`;
  const version = more.version?.[0] === "1.0" ? 16 : 19;
  return `$argon2${
    more.type?.[0] ?? "id"
  }$v=${version}$m=${more.memory},t=${hashIterations},p=${more.parallelism}$${parts}`;
}
