import { CheckField, CsrfField, FormButtons, FormRefusal, SelectField } from "../../components/forms.tsx";
import { Card, Empty, Notice } from "../../components/notice.tsx";
import { Badge } from "../../components/values.tsx";
import { orNull, Refusal } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, type Outcome, type View, type Visit } from "../../shared/page.ts";
import {
  ifUnchanged,
  readVersioned,
  type RoleChoice,
  roleChoices,
  tenantChoices,
} from "../access_queries.ts";
import { submitForm } from "../actions.ts";
import { RoleChecks } from "./form.tsx";
import { type AdminUser, nameOf, userCrumbs, type UserLink } from "./model.tsx";
import { userTexts } from "./texts.ts";

/** The form with all tenants of a user and the roles in each. */
export async function linksPage(v: Visit, refusal: Refusal | null = null): Promise<View> {
  const t = userTexts[v.locale];
  const { value: user, etag } = await readVersioned<AdminUser>(v, `admin/users/${v.params.id}`);
  const links = await v.api.get<UserLink[]>(`admin/users/${user.id}/tenants`);
  const roles = await Promise.all(links.map((link) => rolesOf(v, link)));
  return {
    title: t.editLinks,
    crumbs: userCrumbs(v, user),
    body: (
      <form class="stack" method="post" action={`users/${user.id}/links`}>
        <FormRefusal refusal={refusal} known={[]} />
        <Notice tone="info">{t.linksHint}</Notice>
        <CsrfField v={v} />
        <input type="hidden" name="etag" value={etag} />
        {links.map((link, at) => <LinkFields v={v} link={link} roles={roles[at] ?? []} />)}
        {links.length > 1 && (
          <Card>
            <SelectField
              label={t.isDefault}
              name="default"
              any={t.keepDefault}
              value={links.find(({ isDefault }) => isDefault)?.tenantId}
              choices={links.map(({ tenantId, tenantName }) => ({ value: tenantId, label: tenantName }))}
            />
          </Card>
        )}
        {links.length === 0 && <Empty icon="tenants" title={t.noLinks}>{t.noLinksText}</Empty>}
        <FormButtons v={v} label={commonTexts[v.locale].save} back={`users/${user.id}`} />
      </form>
    ),
  };
}

/** Roles to offer for a link: those of the tenant that the viewer may see, and those the user holds. */
async function rolesOf(v: Visit, { tenantId, roles }: UserLink): Promise<RoleChoice[]> {
  const known = await orNull(roleChoices(v, tenantId)) ?? [];
  const missing = roles.filter((role) => !known.some(({ id }) => id === role.id));
  return [...known, ...missing.map((role) => ({ ...role, description: null }))];
}

function LinkFields({ v, link, roles }: { v: Visit; link: UserLink; roles: RoleChoice[] }) {
  const t = userTexts[v.locale];
  const { tenantId, tenantName, isActive, isDefault, isTenantActive } = link;
  return (
    <Card
      title={tenantName}
      actions={
        <>
          {isDefault && <Badge tone="info">{t.defaultLink}</Badge>}
          {!isTenantActive && <Badge tone="warn">{t.tenantInactive}</Badge>}
        </>
      }
    >
      <input type="hidden" name="tenantId" value={tenantId} />
      <RoleChecks
        legend={t.roles}
        roles={roles}
        held={link.roles.map(({ id }) => id)}
        name={`roles-${tenantId}`}
      />
      <div class="row wide">
        <CheckField
          label={t.linkIsActive}
          name={`active-${tenantId}`}
          checked={isActive}
        />
        <CheckField label={t.removeLink} name={`remove-${tenantId}`} />
      </div>
    </Card>
  );
}

/** Replaces all links and roles of the user. A 412 means that someone else changed the user first. */
export async function saveLinks(v: Visit, form: FormData): Promise<Outcome> {
  const chosen = field(form, "default");
  const tenants = form.getAll("tenantId").map(String)
    .filter((tenantId) => form.get(`remove-${tenantId}`) !== "true")
    .map((tenantId) => ({
      tenantId,
      roleIds: form.getAll(`roles-${tenantId}`).map(String),
      isActive: form.get(`active-${tenantId}`) === "true",
      isDefault: tenantId === chosen,
    }));
  return await submitForm(
    () => v.api.send("PUT", `admin/users/${v.params.id}`, { tenants }, ifUnchanged(field(form, "etag"))),
    {
      done: () => ({
        goTo: `users/${v.params.id}`,
        flash: { tone: "ok", text: userTexts[v.locale].linksSaved },
      }),
      again: (refusal) => linksPage(v, refusal),
    },
  );
}

/** The form that adds a tenant to a user: first the tenant, then its roles. */
export async function newLinkPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const t = userTexts[v.locale];
  const { value: user } = await readVersioned<AdminUser>(v, `admin/users/${v.params.id}`);
  const linked = new Set(user.tenants.map(({ tenantId }) => tenantId));
  const tenants = (await tenantChoices(v)).filter(({ id }) => !linked.has(id));
  const tenantId = form ? field(form, "tenantId") : v.query.get("tenantId") ?? "";
  const tenant = tenants.find(({ id }) => id === tenantId);
  const roles = tenant ? await roleChoices(v, tenant.id) : [];
  return {
    title: t.addLink,
    crumbs: userCrumbs(v, user),
    body: (
      <Card title={nameOf(user)}>
        <FormRefusal refusal={refusal} known={[]} />
        {tenants.length === 0
          ? <Empty icon="tenants" title={t.noMoreTenants} />
          : (
            <form class="form" method="get" action={`users/${user.id}/links/new`}>
              <SelectField
                label={t.tenant}
                name="tenantId"
                value={tenantId}
                choices={tenants.map(({ id, name }) => ({ value: id, label: name }))}
                required
              />
              <div>
                <button type="submit" class={`button${tenant ? "" : " primary"}`}>{t.showRoles}</button>
              </div>
            </form>
          )}
        {tenant && (
          <form class="form" method="post" action={`users/${user.id}/links/new`}>
            <CsrfField v={v} />
            <input type="hidden" name="tenantId" value={tenant.id} />
            <RoleChecks
              legend={t.rolesIn(tenant.name)}
              roles={roles}
              held={form?.getAll("roleIds").map(String) ?? []}
            />
            <CheckField label={t.makeDefault} name="isDefault" checked={form?.get("isDefault") === "true"} />
            <FormButtons v={v} label={t.addLink} back={`users/${user.id}`} />
          </form>
        )}
      </Card>
    ),
  };
}

/** Adds the link. The user's other links do not change. */
export async function addLink(v: Visit, form: FormData): Promise<Outcome> {
  const tenantId = field(form, "tenantId");
  return await submitForm(
    async () => {
      await v.api.send("POST", `admin/users/${v.params.id}/tenants`, {
        tenantId,
        roleIds: form.getAll("roleIds").map(String),
        isDefault: form.get("isDefault") === "true",
      });
      const links = await v.api.get<UserLink[]>(`admin/users/${v.params.id}/tenants`);
      return links.find((link) => link.tenantId === tenantId)?.tenantName ?? tenantId;
    },
    {
      done: (name) => ({
        goTo: `users/${v.params.id}`,
        flash: { tone: "ok", text: userTexts[v.locale].linkAdded(name) },
      }),
      again: (refusal) => newLinkPage(v, refusal, form),
    },
  );
}
