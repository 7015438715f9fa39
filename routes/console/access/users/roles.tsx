import { isUuid } from "../../../../domain/shared/ids.ts";
import { Fields, formView } from "../../components/fields.tsx";
import { done, formPage, inverse } from "../../shared/actions.ts";
import { Refusal } from "../../shared/api.ts";
import { field, may, type Visit } from "../../shared/page.ts";
import { managesAllUsers, roleChoices } from "../../shared/access_queries.ts";
import { RoleChecks } from "./form.tsx";
import { userCrumbs } from "./model.tsx";
import { userTexts } from "./texts.ts";

/** The form with a user's roles in the viewer's tenant. */
export const ownRolesPage = formPage({
  path: "users/{id}/roles",
  permissions: ["update:users"],
  restarts: "always",
  async show(v, sent) {
    const t = userTexts[v.locale];
    const { tenant } = v.viewer;
    const { value: user, etag } = await v.api.versioned("readUser", { params: v.params });
    const [links, roles] = await Promise.all([
      v.api.call("listUserTenants", { params: { userId: user.id } }),
      roleChoices(v, tenant?.id ?? ""),
    ]);
    const held = links.find(({ tenantId }) => tenantId === tenant?.id)?.roles.map(({ id }) => id) ?? [];
    const f = new Fields(v, sent, "setUserRoles", { roleIds: held, etag });
    return formView(f, {
      title: t.editRoles,
      crumbs: userCrumbs(v, user),
      cardTitle: user.email,
      inputs: [
        <RoleChecks f={f} legend={t.rolesIn(tenant?.name ?? "")} roles={roles} />,
        <p class="hint">{t.linksHint}</p>,
      ],
    });
  },
  async send(v, form) {
    const params = { userId: v.params.id };
    const former = (await v.api.call("listUserRoles", { params })).map(({ id }) => id);
    await v.api.call("setUserRoles", {
      params,
      body: { roleIds: form.getAll("roleIds").map(String) },
      ifMatch: field(form, "etag"),
    });
    const { etag } = await v.api.versioned("listUserRoles", { params });
    const undo = inverse("setUserRoles", { params, body: { roleIds: former }, ifMatch: etag });
    return done(`users/${v.params.id}`, userTexts[v.locale].rolesSaved, { undo });
  },
});

/**
 * The form that adds a person with an account to the viewer's tenant, by email. Who manages all users adds the person at
 * once. Others invite: nobody learns from it who has an account in another tenant, and the person agrees. An id also works.
 */
export const addExistingUserPage = formPage({
  path: "users/bring-in",
  permissions: ["create:users"],
  async show(v, sent) {
    const t = userTexts[v.locale];
    const { tenant } = v.viewer;
    if (!tenant) throw new Refusal({ status: 404, detail: "The viewer is in no tenant." });
    const roles = may(v.viewer, "read:roles") ? await roleChoices(v, tenant.id) : [];
    const f = new Fields(v, sent, "inviteUser");
    return formView(f, {
      title: t.addExisting,
      crumbs: userCrumbs(v),
      submit: t.addExisting,
      inputs: [
        f.text("email", t.email, {
          hint: managesAllUsers(v) ? t.addExistingHint : t.addByInvitation,
          required: true,
        }),
        <RoleChecks f={f} legend={t.rolesIn(tenant.name)} roles={roles} />,
      ],
    });
  },
  async send(v, form) {
    const t = userTexts[v.locale];
    const email = field(form, "email");
    const roleIds = form.getAll("roleIds").map(String);
    if (!managesAllUsers(v) && !isUuid(email)) {
      await v.api.call("inviteUser", { body: { email, firstName: "", lastName: "", roleIds } });
      return done("invitations", t.invitedExisting(email));
    }
    const userId = isUuid(email) ? email : await findByEmail(v, email);
    if (userId === null) {
      throw new Refusal({ status: 404, detail: t.noSuchUser, errors: { email: [t.noSuchUser] } }, v.locale);
    }
    await v.api.call("addTenantUser", { params: { id: v.viewer.tenant?.id }, body: { userId, roleIds } });
    return done(`users/${userId}`, t.existingAdded);
  },
});

async function findByEmail(v: Visit, email: string): Promise<string | null> {
  const { items } = await v.api.call("listAllUsers", { query: { search: email, pageSize: 100 } });
  return items.find((user) => user.email.toLowerCase() === email.toLowerCase())?.id ?? null;
}
