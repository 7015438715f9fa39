import { CsrfField, FormButtons, FormRefusal, TextField } from "../../components/forms.tsx";
import { Card } from "../../components/notice.tsx";
import type { Refusal } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, may, type Outcome, type View, type Visit } from "../../shared/page.ts";
import { ifUnchanged, readVersioned, roleChoices } from "../access_queries.ts";
import { submitForm } from "../actions.ts";
import { RoleChecks } from "./form.tsx";
import { type TenantUser, userCrumbs, type UserLink } from "./model.tsx";
import { userTexts } from "./texts.ts";

/** The form with a user's roles in the viewer's tenant. */
export async function ownRolesPage(v: Visit, refusal: Refusal | null = null): Promise<View> {
  const t = userTexts[v.locale];
  const tenant = v.viewer.tenant;
  const { value: user, etag } = await readVersioned<TenantUser>(v, `users/${v.params.id}`);
  const [links, roles] = await Promise.all([
    v.api.get<UserLink[]>(`users/${user.id}/tenants`),
    roleChoices(v, tenant?.id ?? ""),
  ]);
  const held = links.find(({ tenantId }) => tenantId === tenant?.id)?.roles.map(({ id }) => id) ?? [];
  return {
    title: t.editRoles,
    crumbs: userCrumbs(v, user),
    body: (
      <Card title={user.email}>
        <FormRefusal refusal={refusal} known={[]} />
        <form class="form" method="post" action={`users/${user.id}/roles`}>
          <CsrfField v={v} />
          <input type="hidden" name="etag" value={etag} />
          <RoleChecks legend={t.rolesIn(tenant?.name ?? "")} roles={roles} held={held} />
          <p class="hint">{t.linksHint}</p>
          <FormButtons v={v} label={commonTexts[v.locale].save} back={`users/${user.id}`} />
        </form>
      </Card>
    ),
  };
}

/** Replaces the roles. A 412 means that someone else changed the user first. */
export async function saveOwnRoles(v: Visit, form: FormData): Promise<Outcome> {
  const roleIds = form.getAll("roleIds").map(String);
  return await submitForm(
    () => v.api.send("PUT", `users/${v.params.id}/roles`, { roleIds }, ifUnchanged(field(form, "etag"))),
    {
      done: () => ({
        goTo: `users/${v.params.id}`,
        flash: { tone: "ok", text: userTexts[v.locale].rolesSaved },
      }),
      again: (refusal) => ownRolesPage(v, refusal),
    },
  );
}

/** The form that adds a user of another tenant to the viewer's tenant. */
export async function addExistingUserPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const t = userTexts[v.locale];
  const roles = may(v.viewer, "read:roles") ? await roleChoices(v, v.viewer.tenant?.id ?? "") : [];
  return {
    title: t.addExisting,
    crumbs: userCrumbs(v),
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={["userId"]} />
        <form class="form" method="post" action="users/bring-in">
          <CsrfField v={v} />
          <TextField
            label={t.userId}
            name="userId"
            value={form && field(form, "userId")}
            hint={t.addExistingHint}
            errors={refusal?.fields.userId}
            required
          />
          <RoleChecks
            legend={t.rolesIn(v.viewer.tenant?.name ?? "")}
            roles={roles}
            held={form?.getAll("roleIds").map(String) ?? []}
          />
          <FormButtons v={v} label={t.addExisting} back="users" />
        </form>
      </Card>
    ),
  };
}

/** Adds the user to the tenant. */
export async function addExistingUser(v: Visit, form: FormData): Promise<Outcome> {
  const userId = field(form, "userId");
  const roleIds = form.getAll("roleIds").map(String);
  return await submitForm(
    () => v.api.send("POST", `tenants/${v.viewer.tenant?.id}/users`, { userId, roleIds }),
    {
      done: () => ({
        goTo: `users/${userId}`,
        flash: { tone: "ok", text: userTexts[v.locale].existingAdded },
      }),
      again: (refusal) => addExistingUserPage(v, refusal, form),
    },
  );
}
