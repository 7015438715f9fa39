import { SelectField } from "../../components/forms.tsx";
import { namedChoices } from "../../components/list.tsx";
import { counted, defineTexts } from "../../shared/languages.ts";
import { may, type Visit } from "../../shared/page.ts";
import { rowActions } from "../../shared/row_actions.ts";
import { managesAllUsers, roleChoices } from "../../shared/access_queries.ts";
import { type AnyUser, setActive } from "./model.tsx";

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
  addRole: ["Add a role", "Adicionar função"],
  addRoleMany: counted(
    ["user: add a role?", "users: add a role?"],
    ["usuário: adicionar uma função?", "usuários: adicionar uma função?"],
  ),
  role: ["Role", "Função"],
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
    // Roles belong to a tenant, so users of all tenants have no common roles.
    isOffered: (v) =>
      !managesAllUsers(v) && v.viewer.tenant !== null && may(v.viewer, "update:users") &&
      may(v.viewer, "read:roles"),
    fields: async (v) => {
      const roles = await roleChoices(v, v.viewer.tenant?.id ?? "");
      const choices = namedChoices(roles);
      return <SelectField label={texts[v.locale].role} name="roleId" choices={choices} required />;
    },
    run: (v, userId, { roleId = "" }) => addRole(v, userId, roleId),
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

/** Adds a role to those of the user. Refused if the user's roles change meanwhile. */
async function addRole(v: Visit, userId: string, roleId: string): Promise<void> {
  const params = { userId };
  const { value: roles, etag } = await v.api.versioned("listUserRoles", { params });
  const held = roles.map(({ id }) => id);
  if (held.includes(roleId)) return;
  await v.api.call("setUserRoles", { params, body: { roleIds: [...held, roleId] }, ifMatch: etag });
}
