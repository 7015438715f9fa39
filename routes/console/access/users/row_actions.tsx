import { rolesAfterMove } from "../../../../domain/access/roles/role_preview.ts";
import { SelectField } from "../../components/forms.tsx";
import { namedChoices } from "../../components/list.tsx";
import { counted, defineTexts } from "../../shared/languages.ts";
import { may, type Visit } from "../../shared/page.ts";
import { rowActions } from "../../shared/row_actions.ts";
import { managesAllUsers, roleChoices } from "../../shared/access_queries.ts";
import { type AnyUser, setActive } from "./model.tsx";
import { RoleEffect } from "./role_effect.tsx";

const texts = defineTexts({
  activate: ["Activate", "Ativar"],
  activateMany: counted(
    ["user: activate?", "users: activate them?"],
    ["usuário: ativar?", "usuários: ativar?"],
  ),
  unlock: ["Unlock", "Desbloquear"],
  unlockMany: counted(
    ["user: unlock?", "users: unlock them?"],
    ["usuário: desbloquear?", "usuários: desbloquear?"],
  ),
  addRole: ["Add a role", "Adicionar papel"],
  addRoleMany: counted(
    ["user: add a role?", "users: add a role?"],
    ["usuário: adicionar um papel?", "usuários: adicionar um papel?"],
  ),
  moveRole: ["Move to another role", "Mover para outro papel"],
  moveMany: counted(
    ["user: move to another role?", "users: move to another role?"],
    ["usuário: mover para outro papel?", "usuários: mover para outro papel?"],
  ),
  role: (tenant: string) => [`Role in ${tenant}`, `Papel em ${tenant}`],
  newRole: (tenant: string) => [`New role in ${tenant}`, `Novo papel em ${tenant}`],
  insteadOf: ["Instead of", "Em vez de"],
  allRoles: ["All their roles", "Todos os papéis"],
  deactivate: ["Deactivate", "Desativar"],
  deactivateMany: counted(
    ["user: deactivate? All sessions end.", "users: deactivate them? All their sessions end."],
    [
      "usuário: desativar? Todas as sessões terminam.",
      "usuários: desativar? Todas as sessões deles terminam.",
    ],
  ),
});

const CHANGE = ["update:users", "manage:all-users"];

/** The actions on many users. */
export const userActions = rowActions<AnyUser>({
  activate: {
    label: (v) => texts[v.locale].activate,
    question: (v, count) => texts[v.locale].activateMany(count),
    permissions: CHANGE,
    fits: ({ isActive }) => !isActive,
    run: (v, id) => setActive(v, id, true),
  },
  unlock: {
    label: (v) => texts[v.locale].unlock,
    question: (v, count) => texts[v.locale].unlockMany(count),
    permissions: CHANGE,
    fits: ({ isLockedOut }) => isLockedOut,
    run: (v, id) => v.api.act(managesAllUsers(v) ? "unlockUser" : "unlockTenantUser", { params: { id } }),
  },
  role: {
    label: (v) => texts[v.locale].addRole,
    question: (v, count) => texts[v.locale].addRoleMany(count),
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
    label: (v) => texts[v.locale].moveRole,
    question: (v, count) => texts[v.locale].moveMany(count),
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
    label: (v) => texts[v.locale].deactivate,
    question: (v, count) => texts[v.locale].deactivateMany(count),
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

const ownRoles = async (v: Visit) => namedChoices(await roleChoices(v, v.viewer.tenant?.id ?? ""));

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
