import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { emitEvents, type NewEvent } from "../../events/emit.ts";
import type { Assignment } from "./link_targets.ts";
import type { AdminUser } from "./user_details.ts";

/** Wakes workers for the events; absent in CLI scripts, whose events workers find by polling. */
interface Waking {
  wakeUps?: WakeUps;
}

type UserFields = Pick<AdminUser, "id" | "email" | "firstName" | "lastName" | "isActive">;

const dataOf = ({ id, email, firstName, lastName, isActive }: UserFields) => ({
  userId: id,
  email,
  firstName,
  lastName,
  isActive,
});

/** Emits `user.created` to each tenant the new user is linked to. */
export async function emitUserCreated(
  p: Waking,
  tx: Tx,
  user: UserFields,
  links: Assignment[],
): Promise<void> {
  const data = dataOf(user);
  await emitEvents(p, tx, links.map(({ tenantId }) => ({ type: "user.created", tenantId, data })));
}

/** Emits `user.updated` to each tenant of the user; `changed` names the changed fields. */
export async function emitUserUpdated(p: Waking, tx: Tx, user: UserFields, changed: string[]): Promise<void> {
  const data = { ...dataOf(user), changed };
  await emitToTenantsOf(p, tx, user.id, (tenantId) => ({ type: "user.updated", tenantId, data }));
}

/** Emits `user.deleted` to each tenant of the user. */
export async function emitUserDeleted(
  p: Waking,
  tx: Tx,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const data = { userId: id, email };
  await emitToTenantsOf(p, tx, id, (tenantId) => ({ type: "user.deleted", tenantId, data }));
}

/** Emits `user.linked` to tenants the user was added to, and `user.unlinked` to tenants the user was removed from. */
export async function emitLinksChanged(
  p: Waking,
  tx: Tx,
  userId: string,
  { before, after }: { before: Pick<Assignment, "tenantId">[]; after: Assignment[] },
): Promise<void> {
  const has = (links: Pick<Assignment, "tenantId">[], tenantId: string) =>
    links.some((link) => link.tenantId === tenantId);
  const added = after.filter(({ tenantId }) => !has(before, tenantId));
  const removed = before.filter(({ tenantId }) => !has(after, tenantId));
  const linked = ({ tenantId, isActive, roleIds }: Assignment): NewEvent => {
    return { type: "user.linked", tenantId, data: { userId, isActive, roleIds } };
  };
  const unlinked = removed.map(({ tenantId }): NewEvent => {
    return { type: "user.unlinked", tenantId, data: { userId } };
  });
  await emitEvents(p, tx, [...added.map(linked), ...unlinked]);
}

async function emitToTenantsOf(
  p: Waking,
  tx: Tx,
  userId: string,
  event: (tenantId: string) => NewEvent,
): Promise<void> {
  const links = await tx<{ tenantId: string }[]>`
    select l.tenant_id from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null
    where l.user_id = ${userId}`;
  await emitEvents(p, tx, links.map(({ tenantId }) => event(tenantId)));
}
