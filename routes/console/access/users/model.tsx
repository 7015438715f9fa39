import type { z } from "zod";
import type { AdminUserEditDto, UserDto, UserTenantDto } from "../../../access/user_shapes.ts";
import { Badge, Time } from "../../components/values.tsx";
import type { Visit } from "../../shared/page.ts";
import { managesAllUsers, readVersioned, type Versioned } from "../access_queries.ts";
import { userTexts } from "./texts.ts";

export type TenantUser = z.output<typeof UserDto>;
export type AdminUser = z.output<typeof AdminUserEditDto>;
export type UserLink = z.output<typeof UserTenantDto>;

/** A user from `users` or `admin/users`. Fields that only one of the routes returns are optional. */
export type AnyUser = Omit<TenantUser, "roles" | "lastLoginAt"> & {
  roles?: string[];
  lastLoginAt?: string | null;
  tenants?: AdminUser["tenants"];
};

/** API path for users: of all tenants if the viewer manages all users, else of the viewer's tenant. */
export const usersPath = (v: Visit): string => managesAllUsers(v) ? "admin/users" : "users";

/** Reads the user whose id is in the path. */
export const readUser = async (v: Visit): Promise<Versioned<AnyUser>> =>
  await readVersioned<AnyUser>(v, `${usersPath(v)}/${v.params.id}`);

/** First and last name; the email if both are empty. */
export const nameOf = ({ firstName, lastName, email }: AnyUser): string =>
  `${firstName} ${lastName}`.trim() || email;

/** Active or inactive, and the end of a sign-in lock. */
export function UserStatus({ v, user }: { v: Visit; user: AnyUser }) {
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

/** The breadcrumb of a user's pages. */
export const userCrumbs = (v: Visit, user?: AnyUser): { href: string; label: string }[] => [
  { href: "users", label: userTexts[v.locale].users },
  ...user ? [{ href: `users/${user.id}`, label: nameOf(user) }] : [],
];
