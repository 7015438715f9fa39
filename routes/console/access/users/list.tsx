import { buttonLink } from "../../components/forms.tsx";
import { choice, list, search, text, timeColumn } from "../../components/list.tsx";
import type { Column } from "../../components/table.tsx";
import { Badge, Time } from "../../components/values.tsx";
import { orNull, type Page } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { hasUserData, managesAllUsers, roleChoices, tenantNames } from "../../shared/access_queries.ts";
import { type AnyUser, nameOf, statusColumn, UserTabs } from "./model.tsx";
import { userActions } from "./row_actions.tsx";
import { userTexts } from "./texts.ts";

/** Users of the viewer's tenant, or of all tenants if the viewer manages all users. */
export async function usersPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const everywhere = managesAllUsers(v);
  const page: Page<AnyUser> = everywhere
    ? await v.api.list("listAllUsers", v, { tenantId: v.scope?.id })
    : await v.api.list("listUsers", v);
  const [names, roles] = await Promise.all([
    everywhere ? tenantNames(v, tenantsOf(page.items)) : new Map<string, string>(),
    roleNames(v),
  ]);
  return {
    title: t.users,
    actions: <Actions v={v} />,
    body: list(v, page, {
      path: "users",
      icon: "users",
      caption: t.users,
      empty: [t.empty, t.emptyText],
      top: <UserTabs v={v} current="users" />,
      filters: [
        search(t.search),
        choice("isActive", t.status, { true: t.active, false: t.inactive }),
        choice("isLockedOut", t.lockStatus, { true: t.locked, false: t.notLocked }),
        choice("hasSecondFactor", t.secondFactor, { true: t.withFactor, false: t.withoutFactor }),
        choice("isAdministrator", t.rights, { true: t.administrators, false: t.notAdministrators }),
        text("notSignedInForDays", t.notSignedInForDays, { type: "number", min: 1, max: 3650 }),
        text("roleName", t.role, { suggestions: roles, maxlength: 200 }),
        text("externalId", t.externalId, { maxlength: 200 }),
      ],
      bulk: userActions,
      columns: columns(v, names),
    }),
  };
}

/** The ways to add users. An invitation comes first: the person chooses the password. */
function Actions({ v }: { v: Visit }) {
  const t = userTexts[v.locale];
  const mayInvite = v.viewer.tenant !== null && may(v.viewer, "create:users");
  if (!mayInvite && !managesAllUsers(v)) return null;
  return (
    <>
      {mayInvite && buttonLink("users/bring-in", t.addExisting)}
      {mayInvite && hasUserData(v) && buttonLink("user-imports/new", t.importUsers)}
      {buttonLink("users/new", t.newUser, { icon: "plus", ...mayInvite ? {} : { tone: "primary" } })}
      {mayInvite && buttonLink("invitations/new", t.invite, { icon: "plus", tone: "primary" })}
    </>
  );
}

const tenantsOf = (users: AnyUser[]): string[] =>
  users.flatMap(({ tenants = [] }) => tenants.map(({ tenantId }) => tenantId));

/** Suggestions for the role filter: the role names of one tenant. */
async function roleNames(v: Visit): Promise<string[]> {
  const roles = v.scope && await orNull(roleChoices(v, v.scope.id));
  return (roles ?? []).map(({ name }) => name);
}

function columns(v: Visit, names: Map<string, string>): Column<AnyUser>[] {
  const t = userTexts[v.locale];
  return [
    {
      head: t.user,
      sort: "email",
      cell: (user) => (
        <>
          <a href={`users/${user.id}`}>{nameOf(user)}</a>{" "}
          {user.id === v.viewer.userId && <Badge tone="info">{t.isYou}</Badge>}
        </>
      ),
      csv: nameOf,
      below: [[t.email, (user) => (v.collect || nameOf(user) !== user.email) && user.email]],
    },
    statusColumn(v),
    managesAllUsers(v)
      ? { head: t.tenants, cell: ({ tenants = [] }) => <Tenants v={v} links={tenants} names={names} /> }
      : {
        head: t.roles,
        cell: ({ roles = [] }) =>
          roles.length > 0 ? roles.join(", ") : <span class="muted">{t.noRoles}</span>,
      },
    {
      head: t.lastSignIn,
      sort: "lastLoginAt",
      cell: ({ lastLoginAt }) =>
        lastLoginAt
          ? <Time v={v} at={lastLoginAt} />
          : <span class="muted">{commonTexts[v.locale].never}</span>,
      wideOnly: true,
    },
    timeColumn(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true }),
  ];
}

function Tenants(
  { v, links, names }: { v: Visit; links: NonNullable<AnyUser["tenants"]>; names: Map<string, string> },
) {
  const t = userTexts[v.locale];
  if (links.length === 0) return <span class="muted">{t.noTenants}</span>;
  const named = links.flatMap(({ tenantId }) => names.get(tenantId) ?? []).slice(0, 3);
  const unnamed = links.length - named.length;
  if (named.length === 0) return <>{links.length}</>;
  return <>{named.join(", ")}{unnamed > 0 && <span class="muted">{` +${unnamed}`}</span>}</>;
}
