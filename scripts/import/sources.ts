import type { Sql } from "../../infra/postgres/postgres.ts";
import { jobTypeName, type Json, keptHash, Plan, readJson } from "./plan.ts";

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

const CHANNELS = ["email", "sms", "push", "in_app", "chat"];

/** Reads workflows as the API of Novu answers them: a list, `{data: list}` or one; of version 1 or 2. */
export async function readNovu(files: string[]): Promise<Plan> {
  const plan = new Plan();
  const answers = (await Promise.all(files.map(readJson))).flat();
  const workflows = answers.flatMap((answer) => answer?.data?.workflows ?? answer?.data ?? answer);
  plan.each("workflow", workflows, ({ name, workflowId, triggers, steps }) => {
    plan.each(`step of ${name}`, steps, ({ template = {}, type: channel = template.type, ...step }) => {
      if (!CHANNELS.includes(channel)) return; // such as delay
      const { subject = "", content, body = content } = step.controls?.values ?? step.controlValues ??
        template;
      const id = workflowId ?? triggers?.[0]?.identifier;
      const slug = channel === "email" ? id : `${id}-${channel.replace("_", "-")}`;
      const isText = typeof body === "string" && !body.startsWith('{"type":"doc"');
      const isTwice = plan.templates.some((each) => each.slug === slug);
      if (!isText) plan.refused.push(`${slug}: it has blocks of the editor; expected HTML or text`);
      else if (/\{%|\{\{[^}]*\|/.test(subject + body)) {
        plan.refused.push(`${slug}: it has tags or filters of Liquid`);
      } else if (isTwice) plan.refused.push(`${slug}: a second step of its channel`);
      else {
        const bodyName = channel === "email" ? "htmlBodyTemplate" : "textBodyTemplate";
        plan.templates.push({
          slug,
          name,
          subjectTemplate: withoutPayload(subject),
          [bodyName]: withoutPayload(body),
        });
      }
    });
  });
  return plan;
}

/** Version 2 names the caller's data `payload`. */
const withoutPayload = (text: string): string => text.replaceAll(/\{\{\s*payload\./g, "{{");

/** Reads the waiting jobs of graphile-worker (0.14 and later, whose view `jobs` lacks the payload). */
export async function readGraphileWorker(q: Sql): Promise<Plan> {
  const plan = new Plan();
  type Row = {
    id: string;
    db: string;
    task: string;
    payload: string;
    priority: number;
    runAt: Date;
    left: number;
    isLocked: boolean;
  };
  const rows = await q<Row[]>`
    select j.id::text, t.identifier as task, j.payload::text, j.priority, j.run_at, j.max_attempts - j.attempts as "left", current_database() as db,
      j.locked_at is not null as is_locked
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id order by j.id`;
  plan.each<Row>("job", rows, ({ id, db, task, payload, priority, runAt, left, isLocked }) => {
    if (isLocked) plan.refused.push(`job ${id} (${task}): it runs; stop the workers first`);
    else if (!Number.isFinite(+runAt)) plan.refused.push(`job ${id} (${task}): its run_at is not a time`);
    else if (left < 1) plan.refused.push(`job ${id} (${task}): it has used up its attempts`);
    else {
      const job = {
        uniqueKey: `graphile-worker:${db}:${id}`,
        jobTypeName: jobTypeName(task),
        serializedArgs: payload,
      };
      const urgency = priority < 0 ? "High" : priority > 0 ? "Low" : "Normal";
      plan.jobs.push({ ...job, scheduledAt: runAt, maxRetries: Math.min(25, left - 1), priority: urgency });
    }
  });
  return plan;
}

/** Reads the waiting jobs of Hangfire.PostgreSql. */
export async function readHangfire(q: Sql): Promise<Plan> {
  const plan = new Plan();
  type Row = { id: string; db: string; state: string; call: string; args: string; dueAt: Date };
  const rows = await q<Row[]>`
    select j.id::text, current_database() as db, j.statename as state, j.invocationdata::text as call, j.arguments::text as args,
      coalesce(to_timestamp(s.score), j.createdat) as due_at
    from hangfire.job j left join hangfire.set s on s.key = 'schedule' and s.value = j.id::text
    where j.statename not in ('Succeeded', 'Deleted') order by j.id`;
  plan.each<Row>("job", rows, ({ id, db, state, call, args, dueAt }) => {
    const { Type, t = Type, Method, m = Method, Arguments, a = Arguments ?? args } = JSON.parse(call); // 1.7 has short names
    const name = `${t.split(",")[0]}.${m}`;
    const texts: (string | null)[] = typeof a === "string" ? JSON.parse(a) : a; // each is JSON, and its numbers stay exact
    const serializedArgs = `{"arguments":[${texts.map((text) => text ?? "null").join(",")}]}`;
    const job = {
      uniqueKey: `hangfire:${db}:${id}`,
      jobTypeName: jobTypeName(name),
      serializedArgs,
      scheduledAt: dueAt,
    };
    if (state === "Enqueued" || state === "Scheduled") plan.jobs.push(job);
    else plan.refused.push(`job ${id} (${name}): its state is ${state}; expected Enqueued or Scheduled`);
  });
  return plan;
}
