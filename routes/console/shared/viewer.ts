import { userName } from "./access_queries.ts";
import { type Api, Refusal } from "./api.ts";
import type { Viewer } from "./page.ts";

const LIMITED = ["SECOND_FACTOR_REQUIRED", "PROVIDER_FACTOR_REQUIRED_FORBIDDEN"];

/** A viewer whose session lacks a required second factor has no permissions, and sees only how to add one. */
export async function readViewer(api: Api, userId: string): Promise<Viewer> {
  const me = await api.call("readMe", { query: { maxTenants: 2 } }).catch((refusal) => {
    if (refusal instanceof Refusal && LIMITED.includes(refusal.code ?? "")) return null;
    throw refusal;
  });
  if (!me) {
    return {
      userId,
      email: "",
      name: "",
      tenant: null,
      hasOtherTenants: false,
      isInPlatform: false,
      permissions: new Set(),
      isLimited: true,
    };
  }
  const { user, tenant, tenants, permissions } = me;
  return {
    userId: user.id,
    email: user.email,
    name: userName(user),
    tenant,
    hasOtherTenants: tenants.some(({ id }) => id !== tenant?.id),
    // The list may be cut, but the platform tenant is always first or second.
    isInPlatform: tenants.some(({ type }) => type === "Platform"),
    platformId: tenants.find(({ type }) => type === "Platform")?.id,
    permissions: new Set(permissions).difference(api.unserved),
    unserved: api.unserved,
  };
}

/** The unread count in the top bar. Null if the API refuses it: the page is shown anyway. */
export async function unreadCount(api: Api, { userId }: Viewer): Promise<number | null> {
  try {
    return await api.call("countUnreadUserNotifications", { query: { userId } });
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
