import { Badge, Time } from "../../components/values.tsx";
import type { Row } from "../../shared/operations.ts";
import type { Visit } from "../../shared/page.ts";
import { managesAllUsers } from "../access_queries.ts";
import { userTexts } from "./texts.ts";

export type AdminUser = Row<"listAllUsers">;
export type UserLink = Row<"listUserTenants">;

/** A user of the viewer's tenant or of all tenants. Fields that only one of the lists has are optional. */
export type AnyUser =
  & Omit<Row<"listUsers">, "roles" | "externalId">
  & Partial<Pick<Row<"listUsers">, "roles" | "externalId"> & Pick<AdminUser, "tenants">>;

/** Reads the user whose id is in the path: of all tenants if the viewer manages all users, else of the viewer's tenant. */
export const readUser = async (v: Visit): Promise<{ value: AnyUser; etag: string }> =>
  await v.api.versioned(managesAllUsers(v) ? "readUserAnywhere" : "readUser", { params: v.params });

/** First and last name; the email if both are empty. */
export const nameOf = (
  { firstName, lastName, email }: Pick<AnyUser, "firstName" | "lastName" | "email">,
): string => `${firstName} ${lastName}`.trim() || email;

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
