import type { Column } from "../../components/table.tsx";
import { pageTabs } from "../../components/tabs.tsx";
import { ActiveBadge, Badge, clockTime } from "../../components/values.tsx";
import type { Row } from "../../shared/operations.ts";
import { type Crumb, may, type Visit } from "../../shared/page.ts";
import { crumbsTo } from "../../shared/scope.ts";
import { hasUserData, managesAllUsers, userName } from "../../shared/access_queries.ts";
import { delegationTexts, userTexts } from "./texts.ts";

export type UserLink = Row<"listUserTenants">;

/** A user of the viewer's tenant or of all tenants. Fields that only one of the lists has are optional. */
export type AnyUser =
  & Omit<Row<"listUsers">, "roles" | "externalId">
  & Partial<Pick<Row<"listUsers">, "roles" | "externalId"> & Pick<Row<"listAllUsers">, "tenants">>;

/** Reads a user, by default that of the path: of all tenants if the viewer manages all users, else of the viewer's tenant. */
export const readUser = async (v: Visit, id = v.params.id): Promise<{ value: AnyUser; etag: string }> =>
  await v.api.versioned(managesAllUsers(v) ? "readUserAnywhere" : "readUser", { params: { id } });

/** Active or inactive, and the end of a sign-in lock. */
export function statusColumn(v: Visit): Column<AnyUser> {
  const t = userTexts[v.locale];
  return {
    head: t.status,
    cell: ({ isActive }) => <ActiveBadge v={v} isActive={isActive} />,
    below: [[
      t.locked,
      ({ isLockedOut, lockoutExpiresAt }) =>
        isLockedOut && (
          <Badge tone="bad">
            {lockoutExpiresAt ? t.lockedUntil(clockTime(v, lockoutExpiresAt)) : t.locked}
          </Badge>
        ),
    ]],
  };
}

/** The breadcrumb link to the users, for pages whose path has another beginning. */
export const usersCrumb = ({ locale }: Visit): Crumb => ({ href: "users", label: userTexts[locale].users });

/** The breadcrumb of the pages of a user below the first. */
export const userCrumbs = (v: Visit, user: AnyUser): Crumb[] =>
  crumbsTo(v, { href: `users/${user.id}`, label: userName(user) });

/** Links between users, invitations and imports; nothing if the viewer sees only users. */
export function UserTabs(
  { v, current }: { v: Visit; current: "users" | "invitations" | "user-imports" | "delegations" },
) {
  const t = userTexts[v.locale];
  const isIn = v.viewer.tenant !== null;
  const others: Parameters<typeof pageTabs>[2] = [
    isIn && may(v.viewer, "read:users") && ["invitations", t.invitations],
    isIn && hasUserData(v) && may(v.viewer, "create:users") && ["user-imports", t.imports],
    isIn && may(v.viewer, "act-as:users") && ["delegations", delegationTexts[v.locale].title],
  ];
  return others.some(Boolean) ? pageTabs(t.users, current, [["users", t.users], ...others]) : null;
}
