import { type Json, keptHash, Plan, readJson } from "./plan.ts";

/** Roles and clients that Keycloak makes for itself. */
const OWN_ROLES = /^(default-roles-.*|offline_access|uma_authorization)$/;
const OWN_CLIENTS =
  /^(account|account-console|admin-cli|broker|realm-management|.*-realm|security-admin-console)$/;

/** Reads exports of a realm: its one file, or the file of the realm and those of its users. */
export async function readKeycloak(files: string[]): Promise<Plan> {
  const plan = new Plan();
  for (const file of files) {
    plan.each(`realm of ${file}`, await readJson(file), ({ roles = {}, users }) => {
      plan.each(`role of ${file}`, roles.realm, (role) => OWN_ROLES.test(role.name) || plan.addRole(role));
      for (const name of ofClients(roles.client, ({ name }) => name)) plan.addRole({ name });
      plan.each(`user of ${file}`, users, (user) => addUser(plan, user));
    });
  }
  return plan;
}

function addUser(plan: Plan, user: Json): void {
  const { id: externalId, username, email = username, firstName, lastName, attributes: metadata } = user;
  if (user.serviceAccountClientId) {
    return void plan.refused.push(`${username}: a service account; create one here`);
  }
  const realmRoles = (user.realmRoles ?? []).filter((name: string) => !OWN_ROLES.test(name));
  const credential = user.credentials?.find(({ type, secretData }: Json) =>
    type === "password" && secretData
  );
  plan.users.push({
    ...{ externalId, email, firstName, lastName, metadata, isActive: user.enabled !== false },
    roles: [...realmRoles, ...ofClients(user.clientRoles, String)],
    passwordHash: keptHash(credential && hashOf(credential)),
  });
}

/** Roles of clients are named `client: role`, because two clients may have roles of one name. */
const ofClients = (byClient: Record<string, Json[]> = {}, nameOf: (role: Json) => string): string[] =>
  Object.entries(byClient).filter(([client]) => !OWN_CLIENTS.test(client))
    .flatMap(([client, roles]) => roles.map((role) => `${client}: ${nameOf(role)}`));

/** The PHC string of a credential. */
function hashOf({ secretData, credentialData }: Json): string {
  const { value, salt } = JSON.parse(secretData);
  const { algorithm, hashIterations: rounds, additionalParameters: more } = JSON.parse(credentialData);
  const saltAndHash = `${salt}$${value}`.replaceAll("=", "");
  if (algorithm !== "argon2") return `$${algorithm}$i=${rounds}$${saltAndHash}`;
  const prefix = `$argon2${more.type ?? "id"}$v=${more.version?.[0] === "1.0" ? 16 : 19}`;
  return `${prefix}$m=${more.memory},t=${rounds},p=${more.parallelism}$${saltAndHash}`;
}
