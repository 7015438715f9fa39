import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents, type NewEvent } from "../events/emit.ts";
import type { Assignment } from "./link_targets.ts";

/** Wakes workers for the events, where it can: CLI scripts cannot. */
interface Waking {
  wakeUps?: WakeUps;
}

interface UserFields {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  isActive: boolean;
}

const dataOf = ({ id, email, firstName, lastName, isActive }: UserFields) => ({
  ...{ userId: id, email, firstName, lastName, isActive },
});

/** Tells the tenants a new user is linked to. */
export async function tellUserCreated(
  p: Waking,
  tx: Tx,
  user: UserFields,
  links: Assignment[],
): Promise<void> {
  const data = dataOf(user);
  await emitEvents(p, tx, links.map(({ tenantId }) => ({ type: "user.created", tenantId, data })));
}

/** Tells every tenant of a user that `changed` of their fields are others now. */
export async function tellUserUpdated(
  p: Waking,
  tx: Tx,
  user: UserFields,
  changed: string[],
): Promise<void> {
  const data = { ...dataOf(user), changed };
  await emitToTenantsOf(p, tx, user.id, (tenantId) => ({ type: "user.updated", tenantId, data }));
}

/** Tells every tenant of a user that they are deleted. */
export async function tellUserDeleted(
  p: Waking,
  tx: Tx,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const data = { userId: id, email };
  await emitToTenantsOf(p, tx, id, (tenantId) => ({ type: "user.deleted", tenantId, data }));
}

/** Tells tenants that a user has come to them, and others that the user has left. */
export async function tellLinksChanged(
  p: Waking,
  tx: Tx,
  userId: string,
  { before, after }: { before: Pick<Assignment, "tenantId">[]; after: Assignment[] },
): Promise<void> {
  const has = (links: Pick<Assignment, "tenantId">[], tenantId: string) =>
    links.some((link) => link.tenantId === tenantId);
  await emitEvents(p, tx, [
    ...after.filter(({ tenantId }) => !has(before, tenantId)).map((
      { tenantId, isActive, roleIds },
    ): NewEvent => ({ type: "user.linked", tenantId, data: { userId, isActive, roleIds } })),
    ...before.filter(({ tenantId }) => !has(after, tenantId)).map((
      { tenantId },
    ): NewEvent => ({ type: "user.unlinked", tenantId, data: { userId } })),
  ]);
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
