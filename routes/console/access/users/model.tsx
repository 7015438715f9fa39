import type { z } from "zod";
import type { AdminUserEditDto, UserDto, UserTenantDto } from "../../../access/user_shapes.ts";
import { Badge, Time } from "../../components/values.tsx";
import type { Visit } from "../../shared/page.ts";
import { reachesUsers, readSeen, type Seen } from "../reading.ts";
import { userTexts } from "./texts.ts";

export type TenantUser = z.output<typeof UserDto>;
export type AdminUser = z.output<typeof AdminUserEditDto>;
export type UserLink = z.output<typeof UserTenantDto>;

/** A user as either family of routes answers; what only one of them tells is optional. */
export type AnyUser = Omit<TenantUser, "roles" | "lastLoginAt"> & {
  roles?: string[];
  lastLoginAt?: string | null;
  tenants?: AdminUser["tenants"];
};

/** Where the viewer's requests about users go: across tenants with reach over users, else in their own. */
export const usersPath = (v: Visit): string => reachesUsers(v) ? "admin/users" : "users";

/** Reads the user the page is about. */
export const readUser = async (v: Visit): Promise<Seen<AnyUser>> =>
  await readSeen<AnyUser>(v, `${usersPath(v)}/${v.params.id}`);

/** First and last name; the email where there are none. */
export const nameOf = ({ firstName, lastName, email }: AnyUser): string =>
  `${firstName} ${lastName}`.trim() || email;

/** Active or not, and locked until when. */
export function UserState({ v, user }: { v: Visit; user: AnyUser }) {
  const t = userTexts[v.locale];
  return (
    <span class="row">
      {user.isActive ? <Badge tone="ok">{t.active}</Badge> : <Badge tone="idle">{t.inactive}</Badge>}
      {user.isLockedOut && (
        <span class="row tight">
          <Badge tone="bad">{t.locked}</Badge>
          <Time v={v} at={user.lockoutExpiresAt} />
        </span>
      )}
    </span>
  );
}

/** The crumbs of a user's pages. */
export const userCrumbs = (v: Visit, user?: AnyUser): { href: string; label: string }[] => [
  { href: "users", label: userTexts[v.locale].users },
  ...user ? [{ href: `users/${user.id}`, label: nameOf(user) }] : [],
];
