import { rolesAfterMove } from "../../../../domain/access/roles/role_preview.ts";
import { buttonLink, SelectField } from "../../components/forms.tsx";
import { choice, list, namedChoices, search, text, timeColumn } from "../../components/list.tsx";
import { Badge, Time } from "../../components/values.tsx";
import {
  hasUserData,
  managesAllUsers,
  roleChoices,
  tenantNames,
  userName,
} from "../../shared/access_queries.ts";
import { orNull, type Page } from "../../shared/api.ts";
import { counted, defineTexts } from "../../shared/languages.ts";
import { may, rowActions, type View, type Visit } from "../../shared/page.ts";
import { type AnyUser, statusColumn, UserTabs } from "./model.tsx";
import { RoleEffect } from "./role_effect.tsx";
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
      columns: [
        {
          head: t.user,
          sort: "email",
          cell: (user) => (
            <>
              <a href={`users/${user.id}`}>{userName(user)}</a>{" "}
              {user.id === v.viewer.userId && <Badge tone="info">{t.isYou}</Badge>}
            </>
          ),
          csv: userName,
          below: [[t.email, (user) => (v.collect || userName(user) !== user.email) && user.email]],
        },
        statusColumn(v),
        everywhere ? { head: t.tenants, cell: ({ tenants = [] }) => tenantsCell(v, tenants, names) } : {
          head: t.roles,
          cell: ({ roles = [] }) =>
            roles.length > 0 ? roles.join(", ") : <span class="muted">{t.noRoles}</span>,
        },
        {
          head: t.lastSignIn,
          sort: "lastLoginAt",
          cell: ({ lastLoginAt }) =>
            lastLoginAt ? <Time v={v} at={lastLoginAt} /> : <span class="muted">{t.never}</span>,
          wideOnly: true,
        },
        timeColumn(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true }),
      ],
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

function tenantsCell(v: Visit, links: NonNullable<AnyUser["tenants"]>, names: Map<string, string>) {
  const t = userTexts[v.locale];
  if (links.length === 0) return <span class="muted">{t.noTenants}</span>;
  const named = links.flatMap(({ tenantId }) => names.get(tenantId) ?? []).slice(0, 3);
  const unnamed = links.length - named.length;
  if (named.length === 0) return <>{links.length}</>;
  return <>{named.join(", ")}{unnamed > 0 && <span class="muted">{` +${unnamed}`}</span>}</>;
}

const texts = defineTexts({
  role: (tenant: string) => [`Role in ${tenant}`, `Papel em ${tenant}`],
  newRole: (tenant: string) => [`New role in ${tenant}`, `Novo papel em ${tenant}`],
  insteadOf: ["Instead of", "Em vez de"],
  allRoles: ["All their roles", "Todos os papéis"],
});

/** Activates or deactivates a user, through the API route that the viewer may use. */
const setActive = (v: Visit, id: string, isActive: boolean): Promise<unknown> =>
  v.api.call(managesAllUsers(v) ? "updateUserAnywhere" : "updateUser", {
    params: { id },
    body: { isActive },
  });

const CHANGE = ["update:users", "manage:all-users"];

export const userActions = rowActions<AnyUser>({
  activate: {
    label: ["Activate", "Ativar"],
    question: counted(
      ["user: activate?", "users: activate them?"],
      ["usuário: ativar?", "usuários: ativar?"],
    ),
    permissions: CHANGE,
    fits: ({ isActive }) => !isActive,
    run: (v, id) => setActive(v, id, true),
  },
  unlock: {
    label: ["Unlock", "Desbloquear"],
    question: counted(
      ["user: unlock?", "users: unlock them?"],
      ["usuário: desbloquear?", "usuários: desbloquear?"],
    ),
    permissions: CHANGE,
    fits: ({ isLockedOut }) => isLockedOut,
    run: (v, id) => v.api.act(managesAllUsers(v) ? "unlockUser" : "unlockTenantUser", { params: { id } }),
  },
  role: {
    label: ["Add a role", "Adicionar papel"],
    question: counted(
      ["user: add a role?", "users: add a role?"],
      ["usuário: adicionar um papel?", "usuários: adicionar um papel?"],
    ),
    isOffered: mayGiveRoles,
    fits: isInTenant,
    fields: async (v) => (
      <SelectField
        label={texts[v.locale].role(v.viewer.tenant?.name ?? "")}
        name="roleId"
        choices={await ownRoles(v)}
        required
      />
    ),
    run: (v, userId, { roleId = "" }) =>
      changeRoles(v, userId, (held) => held.includes(roleId) ? held : [...held, roleId]),
  },
  move: {
    label: ["Move to another role", "Mover para outro papel"],
    question: counted(
      ["user: move to another role?", "users: move to another role?"],
      ["usuário: mover para outro papel?", "usuários: mover para outro papel?"],
    ),
    isOffered: mayGiveRoles,
    fits: (user, v) => isInTenant(user, v) && user.id !== v.viewer.userId,
    fields: async (v) => {
      const t = texts[v.locale];
      const choices = await ownRoles(v);
      return (
        <div class="pair">
          <SelectField label={t.insteadOf} name="fromRoleId" any={t.allRoles} choices={choices} />
          <SelectField
            label={t.newRole(v.viewer.tenant?.name ?? "")}
            name="roleId"
            choices={choices}
            required
            autofocus
          />
        </div>
      );
    },
    review: async (v, userIds, { roleId = "", fromRoleId }) => {
      const body = { userIds, fromRoleId: fromRoleId || null };
      const preview = await v.api.call("previewMove", { params: { id: roleId }, body });
      return <RoleEffect v={v} preview={preview} />;
    },
    run: (v, userId, { roleId = "", fromRoleId }) =>
      changeRoles(
        v,
        userId,
        (held) =>
          fromRoleId && !held.includes(fromRoleId) ? held : rolesAfterMove(held, roleId, fromRoleId || null),
      ),
  },
  deactivate: {
    label: ["Deactivate", "Desativar"],
    question: counted(
      ["user: deactivate? All sessions end.", "users: deactivate them? All their sessions end."],
      [
        "usuário: desativar? Todas as sessões terminam.",
        "usuários: desativar? Todas as sessões deles terminam.",
      ],
    ),
    tone: "danger",
    permissions: CHANGE,
    fits: ({ isActive, id }, v) => isActive && id !== v.viewer.userId,
    run: (v, id) => setActive(v, id, false),
  },
});

/** Roles belong to a tenant, so they are given in the viewer's, if the list is of it. */
function mayGiveRoles({ viewer, scope }: Visit): boolean {
  return scope !== null && scope.id === viewer.tenant?.id && may(viewer, "update:users") &&
    may(viewer, "read:roles");
}

/** The list of all tenants names the tenants of its users. */
function isInTenant({ tenants }: AnyUser, { viewer }: Visit): boolean {
  return tenants?.some(({ tenantId }) => tenantId === viewer.tenant?.id) ?? true;
}

const ownRoles = async (v: Visit) => namedChoices(await roleChoices(v));

/** Changes the roles of a user in the viewer's tenant. Refused if they change meanwhile. */
async function changeRoles(
  v: Visit,
  userId: string,
  change: (held: string[]) => string[],
): Promise<void> {
  const params = { userId };
  const { value: roles, etag } = await v.api.versioned("listUserRoles", { params });
  const held = roles.map(({ id }) => id);
  const roleIds = change(held);
  if (new Set(held).symmetricDifference(new Set(roleIds)).size === 0) return;
  await v.api.call("setUserRoles", { params, body: { roleIds }, ifMatch: etag });
}
