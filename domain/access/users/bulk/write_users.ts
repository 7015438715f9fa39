import type { Tx } from "../../../../infra/postgres/postgres.ts";
import { type AuditEntry, recordAudits } from "../../../audit/audit.ts";
import { emitEvents, type NewEvent } from "../../../events/emit.ts";
import { usersAccessChanged } from "../../access_changes.ts";
import type { UserPlatform } from "../user_details.ts";
import type { Importer } from "./find_existing.ts";
import type { PlannedUser } from "./decide.ts";

/**
 * Writes planned users, each kind of row in one statement. Emails that a concurrent transaction has taken are left
 * out.
 * @returns the numbers of the rows that were left out
 */
export async function writeUsers(
  p: UserPlatform,
  tx: Tx,
  importer: Importer,
  planned: PlannedUser[],
): Promise<Set<number>> {
  const created = await insertUsers(tx, planned.filter(({ created }) => created !== null));
  const isWritten = ({ created: made, userId }: PlannedUser) => made === null || created.has(userId);
  const users = planned.filter(isWritten);
  await updateUsers(tx, users.filter(({ created }) => created === null));
  await insertLinks(tx, users.filter(({ isNewLink }) => isNewLink));
  await updateLinks(tx, users.filter(({ isNewLink }) => !isNewLink));
  await changeRoles(tx, users);
  const changedRights = users.filter((user) => user.created === null && hasOtherRights(user));
  const changes = changedRights.map(({ userId, tenantId, before }) => {
    return { userId, tenantIds: [tenantId], everywhere: before.isActive !== undefined };
  });
  await usersAccessChanged(p, tx, changes);
  const { userId, apiKeyId, actedBy, traceId, tenantId, ip = null } = importer;
  const actor = { userId, apiKeyId, actedBy, traceId, tenantId, ip };
  await Promise.all([ // the database writes the audit rows while the events are prepared
    recordAudits(tx, actor, users.map((user) => auditEntry(importer, user))),
    emitEvents(p, tx, users.flatMap(eventsOf)),
  ]);
  return new Set(planned.filter((user) => !isWritten(user)).map(({ row }) => row));
}

const hasOtherRights = ({ isNewLink, given, taken, before }: PlannedUser): boolean =>
  isNewLink || given.length + taken.length > 0 || before.isActive !== undefined;

const asJson = (rows: unknown[]): string => JSON.stringify(rows);

async function insertUsers(tx: Tx, users: PlannedUser[]): Promise<Set<string>> {
  if (users.length === 0) return new Set();
  const rows = users.map(({ userId, email, profile, created }) => ({
    id: userId,
    email,
    ...profile,
    passwordHash: created?.passwordHash ?? null,
  }));
  const inserted = await tx<{ id: string }[]>`
    insert into users (id, email, password_hash, first_name, last_name, phone_number, is_active, metadata)
    select id, email, "passwordHash", "firstName", "lastName", "phoneNumber", "isActive", metadata
    from json_to_recordset(${asJson(rows)}::text::json) as x (id uuid, email text, "passwordHash" text,
      "firstName" text, "lastName" text, "phoneNumber" text, "isActive" boolean, metadata jsonb)
    on conflict (mail_key(email)) do nothing returning id`;
  return new Set(inserted.map(({ id }) => id));
}

async function updateUsers(tx: Tx, users: PlannedUser[]): Promise<void> {
  if (users.length === 0) return;
  const rows = users.map(({ userId, profile }) => ({ id: userId, ...profile }));
  await tx`
    update users u set first_name = x."firstName", last_name = x."lastName", phone_number = x."phoneNumber",
      is_active = x."isActive", metadata = x.metadata, version = version + 1, updated_at = now()
    from json_to_recordset(${asJson(rows)}::text::json) as x (id uuid, "firstName" text, "lastName" text,
      "phoneNumber" text, "isActive" boolean, metadata jsonb)
    where u.id = x.id`;
}

/** A new user's link is the default one; an existing user keeps theirs. */
async function insertLinks(tx: Tx, users: PlannedUser[]): Promise<void> {
  if (users.length === 0) return;
  const rows = users.map(({ userId, tenantId, created, externalId }) => ({
    userId,
    tenantId,
    isDefault: created !== null,
    externalId,
  }));
  await tx`
    insert into user_tenants (user_id, tenant_id, is_default, external_id)
    select "userId", "tenantId", "isDefault", "externalId"
    from json_to_recordset(${asJson(rows)}::text::json)
      as x ("userId" uuid, "tenantId" uuid, "isDefault" boolean, "externalId" text)`;
}

async function updateLinks(tx: Tx, users: PlannedUser[]): Promise<void> {
  const rows = users.flatMap(({ userId, tenantId, externalId, formerExternalId }) =>
    externalId === undefined || externalId === formerExternalId ? [] : [{ userId, tenantId, externalId }]
  );
  if (rows.length === 0) return;
  await tx`
    update user_tenants l set external_id = x."externalId"
    from json_to_recordset(${asJson(rows)}::text::json)
      as x ("userId" uuid, "tenantId" uuid, "externalId" text)
    where l.user_id = x."userId" and l.tenant_id = x."tenantId"`;
}

async function changeRoles(tx: Tx, users: PlannedUser[]): Promise<void> {
  const pairs = (key: "given" | "taken") =>
    users.flatMap((user) =>
      user[key].map((roleId) => ({ userId: user.userId, tenantId: user.tenantId, roleId }))
    );
  const [taken, given] = [pairs("taken"), pairs("given")];
  if (taken.length > 0) {
    await tx`
      delete from user_tenant_roles r
      using json_to_recordset(${asJson(taken)}::text::json)
        as x ("userId" uuid, "tenantId" uuid, "roleId" uuid)
      where r.user_id = x."userId" and r.tenant_id = x."tenantId" and r.role_id = x."roleId"`;
  }
  if (given.length > 0) {
    await tx`
      insert into user_tenant_roles (user_id, tenant_id, role_id)
      select "userId", "tenantId", "roleId"
      from json_to_recordset(${asJson(given)}::text::json)
        as x ("userId" uuid, "tenantId" uuid, "roleId" uuid)
      on conflict do nothing`;
  }
}

/** Returns the audit row that a single change would write. It never contains the password's hash. */
function auditEntry(importer: Importer, user: PlannedUser): AuditEntry {
  const { userId, tenantId, email, created, profile, before, externalId, formerExternalId, given, taken } =
    user;
  const target = { targetType: "user", targetId: userId, tenantId: importer.tenantId };
  const link = { tenantId, externalId, roleIds: given };
  if (created) {
    return { ...target, action: "user.create", after: { email, ...profile, tenants: [link] } };
  }
  const changed = Object.keys(before) as (keyof typeof before)[];
  const after = Object.fromEntries(changed.map((name) => [name, profile[name]]));
  if (user.isNewLink) return { ...target, action: "user.link", before, after: { ...after, ...link } };
  const renamed = externalId !== undefined && externalId !== formerExternalId;
  return {
    ...target,
    action: "user.update",
    before: { ...before, ...renamed ? { externalId: formerExternalId } : {}, rolesTaken: taken },
    after: { ...after, ...renamed ? { externalId } : {}, rolesGiven: given },
  };
}

function eventsOf(user: PlannedUser): NewEvent[] {
  const { userId, tenantId, email, profile: { firstName, lastName, isActive }, before, given } = user;
  const data = { userId, email, firstName, lastName, isActive };
  if (user.created) return [{ type: "user.created", tenantId, data }];
  const changed = Object.keys(before);
  const events: NewEvent[] = [];
  if (user.isNewLink) {
    events.push({ type: "user.linked", tenantId, data: { userId, isActive: true, roleIds: given } });
  }
  if (changed.length > 0) {
    const updated = { type: "user.updated", data: { ...data, changed } } as const;
    events.push(...user.tenantIds.map((tenantId) => ({ ...updated, tenantId })));
  }
  return events;
}
