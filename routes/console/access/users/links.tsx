import { Fields, Form, formView } from "../../components/fields.tsx";
import { Card, Empty, Notice } from "../../components/notice.tsx";
import { tenantInput } from "../../components/tenant_input.tsx";
import { Badge } from "../../components/values.tsx";
import { done, formPage } from "../../shared/actions.ts";
import { orNull, Refusal } from "../../shared/api.ts";
import { field, type Visit } from "../../shared/page.ts";
import {
  chosenTenant,
  managesAllUsers,
  type RoleChoice,
  roleChoices,
  userName,
} from "../../shared/access_queries.ts";
import { RoleChecks, roleInputs, rolesIn } from "./form.tsx";
import { userCrumbs, type UserLink } from "./model.tsx";
import { userTexts } from "./texts.ts";
import { isUuid } from "../../../../domain/shared/ids.ts";

const permissions = ["manage:all-users"];

/** The form with all tenants of a user and the roles in each. It replaces all links and roles of the user. */
export const linksPage = formPage({
  path: "users/{id}/links",
  permissions,
  restarts: "always",
  async show(v, sent) {
    const t = userTexts[v.locale];
    const { params } = v;
    const [{ value: user, etag }, links] = await Promise.all([
      v.api.versioned("readUserAnywhere", { params }),
      v.api.call("listUserTenantsAnywhere", { params }),
    ]);
    const roles = await Promise.all(links.map((link) => rolesOf(v, link)));
    const f = new Fields(v, sent, null, {
      etag,
      default: links.find(({ isDefault }) => isDefault)?.tenantId,
      ...Object.fromEntries(links.flatMap(({ tenantId, roles, isActive }) => [
        [`roles-${tenantId}`, roles.map(({ id }) => id)],
        [`active-${tenantId}`, isActive],
      ])),
    });
    const tenants = links.map(({ tenantId, tenantName }) => ({ value: tenantId, label: tenantName }));
    return formView(f, {
      title: t.editLinks,
      crumbs: userCrumbs(v, user),
      stacked: true,
      inputs: [
        <Notice tone="info">{t.linksHint}</Notice>,
        links.map((link, at) => <LinkCard f={f} link={link} roles={roles[at] ?? []} />),
        links.length > 1 && <Card>{f.select("default", t.isDefault, tenants, { any: t.keepDefault })}</Card>,
        links.length === 0 && <Empty icon="tenants" title={t.noLinks}>{t.noLinksText}</Empty>,
      ],
    });
  },
  async send(v, form) {
    const chosen = field(form, "default");
    const tenants = form.getAll("tenantId").map(String)
      .filter((tenantId) => form.get(`remove-${tenantId}`) !== "true")
      .map((tenantId) => ({
        tenantId,
        roleIds: form.getAll(`roles-${tenantId}`).map(String),
        isActive: form.get(`active-${tenantId}`) === "true",
        isDefault: tenantId === chosen,
      }));
    const change = { params: v.params, body: { tenants }, ifMatch: field(form, "etag") };
    await v.api.call("updateUserAnywhere", change);
    return done(`users/${v.params.id}`, userTexts[v.locale].linksSaved);
  },
});

/** Roles to offer for a link: those of the tenant that the viewer may see, and those the user holds. */
async function rolesOf(v: Visit, { tenantId, roles }: UserLink): Promise<RoleChoice[]> {
  const known = await orNull(roleChoices(v, tenantId)) ?? [];
  const missing = roles.filter((role) => !known.some(({ id }) => id === role.id));
  return [...known, ...missing.map((role) => ({ ...role, description: null }))];
}

function LinkCard({ f, link, roles }: { f: Fields; link: UserLink; roles: RoleChoice[] }) {
  const t = userTexts[f.v.locale];
  const { tenantId, tenantName, isDefault, isTenantActive } = link;
  return (
    <Card
      title={tenantName}
      actions={[
        isDefault && <Badge tone="info">{t.defaultLink}</Badge>,
        !isTenantActive && <Badge tone="warn">{t.tenantInactive}</Badge>,
      ]}
    >
      <input type="hidden" name="tenantId" value={tenantId} />
      <RoleChecks f={f} legend={t.roles} roles={roles} name={`roles-${tenantId}`} />
      <div class="row wide">
        {f.check(`active-${tenantId}`, t.linkIsActive)}
        {f.check(`remove-${tenantId}`, t.removeLink)}
      </div>
    </Card>
  );
}

/** The form that adds a tenant to a user: first the tenant, then its roles. The user's other links do not change. */
export const newLinkPage = formPage({
  path: "users/{id}/links/new",
  permissions,
  async show(v, sent) {
    const t = userTexts[v.locale];
    const user = await v.api.call("readUserAnywhere", { params: v.params });
    const asked = sent?.form?.get("tenantId")?.toString() ?? v.query.get("tenantId") ?? "";
    const { tenant: meant, input } = await tenantInput(v, asked, { label: t.tenant, required: true });
    const isLinked = user.tenants.some(({ tenantId }) => tenantId === meant?.id);
    const tenant = isLinked ? null : meant;
    const f = new Fields(v, sent, "addUserTenant");
    const roles = await roleInputs(f, tenant);
    const back = `users/${user.id}`;
    return {
      title: t.addLink,
      crumbs: userCrumbs(v, user),
      body: (
        <Card title={userName(user)}>
          {isLinked && <Notice tone="info">{t.isLinked}</Notice>}
          <form class="form" method="get" action={`${back}/links/new`}>
            {input}
            <div>
              <button type="submit" class={`button${tenant ? "" : " primary"}`}>{t.showRoles}</button>
            </div>
          </form>
          {tenant && (
            <Form fields={f} action={`${back}/links/new`} submit={t.addLink} back={back}>
              <input type="hidden" name="tenantId" value={tenant.id} />
              {roles}
              {f.check("isDefault", t.makeDefault)}
            </Form>
          )}
        </Card>
      ),
    };
  },
  async send(v, form) {
    const { params } = v;
    const tenantId = field(form, "tenantId");
    const isDefault = form.get("isDefault") === "true";
    await v.api.call("addUserTenant", { params, body: { tenantId, roleIds: rolesIn(form), isDefault } });
    const links = await v.api.call("listUserTenantsAnywhere", { params });
    const name = links.find((link) => link.tenantId === tenantId)?.tenantName ?? tenantId;
    return done(`users/${params.id}`, userTexts[v.locale].linkAdded(name));
  },
});

/** The form with a user's roles in the viewer's tenant. */
export const ownRolesPage = formPage({
  path: "users/{id}/roles",
  permissions: ["update:users"],
  restarts: "always",
  async show(v, sent) {
    const t = userTexts[v.locale];
    const { tenant } = v.viewer;
    const { value: user, etag } = await v.api.versioned("readUser", { params: v.params });
    const links = await v.api.call("listUserTenants", { params: { userId: user.id } });
    const held = links.find(({ tenantId }) => tenantId === tenant?.id)?.roles.map(({ id }) => id) ?? [];
    const f = new Fields(v, sent, "setUserRoles", { roleIds: held, etag });
    return formView(f, {
      title: t.editRoles,
      crumbs: userCrumbs(v, user),
      cardTitle: user.email,
      inputs: [await roleInputs(f, tenant), <p class="hint">{t.linksHint}</p>],
    });
  },
  async send(v, form) {
    await v.api.call("setUserRoles", {
      params: { userId: v.params.id },
      body: { roleIds: rolesIn(form) },
      ifMatch: field(form, "etag"),
    });
    return done(`users/${v.params.id}`, userTexts[v.locale].rolesSaved);
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
    const tenant = chosenTenant(v);
    const f = new Fields(v, sent, "inviteUser");
    return formView(f, {
      title: t.addExisting,
      submit: t.addExisting,
      inputs: [
        f.text("email", t.email, {
          hint: managesAllUsers(v) ? t.addExistingHint : t.addByInvitation,
          required: true,
        }),
        await roleInputs(f, tenant),
      ],
    });
  },
  async send(v, form) {
    const t = userTexts[v.locale];
    const email = field(form, "email");
    const roleIds = rolesIn(form);
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
