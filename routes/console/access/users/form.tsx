import type { Child } from "hono/jsx";
import { Fields, formView } from "../../components/fields.tsx";
import { CheckField } from "../../components/forms.tsx";
import { tenantInput } from "../../components/tenant_input.tsx";
import { done, formPage, sendTo, showing } from "../../shared/actions.ts";
import { field, fieldsIn } from "../../shared/page.ts";
import { byScope, managesAllUsers, type RoleChoice, roleChoices } from "../../shared/access_queries.ts";
import { readUser, userCrumbs } from "./model.tsx";
import { userTexts } from "./texts.ts";

const profileOf = (form: FormData) => ({
  ...fieldsIn(form, "firstName", "lastName", "phoneNumber"),
  isActive: form.get("isActive") === "true",
  appIds: field(form, "appIds").split(",").map((id) => id.trim()).filter((id) => id !== ""),
});

/** The form of a new user, with the roles of the chosen tenant. */
export const newUserPage = formPage({
  path: "users/new",
  permissions: ["create:users", "manage:all-users"],
  async show(v, sent) {
    const t = userTexts[v.locale];
    const everywhere = managesAllUsers(v);
    const own = v.viewer.tenant?.id;
    const asked = sent?.form?.get("tenantId")?.toString() ?? v.query.get("tenantId");
    const { tenant, input } = everywhere
      ? await tenantInput(v, asked ?? own ?? "", { label: t.tenant, hint: t.tenantHint })
      : { tenant: v.viewer.tenant, input: null };
    const tenantId = tenant?.id ?? asked ?? "";
    const f = new Fields(v, sent, everywhere ? "createUserAnywhere" : "createUser", { isActive: true });
    return formView(f, {
      title: t.newUser,
      submit: t.create,
      action: "users/new",
      above: everywhere && (
        <form method="get" action="users/new" class="form">
          {input}
          <div>
            <button type="submit" class="button small">{t.showRoles}</button>
          </div>
        </form>
      ),
      inputs: [
        <input type="hidden" name="tenantId" value={tenantId} />,
        f.text("email", t.email, { type: "email", required: true }),
        f.text("password", t.password, {
          type: "password",
          autocomplete: "new-password",
          hint: t.passwordHint,
        }),
        profileInputs(f),
        await roleInputs(f, tenant),
      ],
    });
  },
  send: sendTo(
    byScope("createUserAnywhere", "createUser"),
    (form) => {
      const tenantId = field(form, "tenantId");
      return {
        ...profileOf(form),
        email: field(form, "email"),
        password: String(form.get("password") ?? ""),
        tenants: tenantId ? [{ tenantId, roleIds: rolesIn(form), isDefault: true }] : [],
      };
    },
    (v, { id, email }) => done(`users/${id}`, userTexts[v.locale].wasCreated(email)),
  ),
});

export const editUserPage = formPage({
  path: "users/{id}/edit",
  permissions: ["update:users", "manage:all-users"],
  restarts: true,
  async show(v, sent) {
    const { value: user, etag } = await readUser(v);
    const f = new Fields(v, sent, "updateUser", { ...user, appIds: user.appIds.join(", "), etag });
    return formView(f, {
      title: userTexts[v.locale].edit,
      crumbs: userCrumbs(v, user),
      cardTitle: user.email,
      inputs: [
        profileInputs(f),
        user.externalId !== undefined && f.text("externalId", userTexts[v.locale].externalId),
      ],
    });
  },
  send: sendTo(
    byScope("updateUserAnywhere", "updateUser"),
    (form) => ({
      ...profileOf(form),
      ...form.has("externalId") && { externalId: field(form, "externalId") || null },
    }),
    showing("users/{id}", userTexts, "saved"),
  ),
});

function profileInputs(f: Fields) {
  const t = userTexts[f.v.locale];
  return [
    <div class="pair">
      {f.text("firstName", t.firstName)}
      {f.text("lastName", t.lastName)}
    </div>,
    f.text("phoneNumber", t.phone, { type: "tel" }),
    f.text("appIds", t.apps, { hint: t.appsHint }),
    f.check("isActive", t.active, t.activeHint),
  ];
}

/** The ids of the roles that were ticked. */
export const rolesIn = (form: FormData): string[] => form.getAll("roleIds").map(String);

/** Checkboxes for the roles of a tenant that the viewer may see; nothing if there are none. */
export async function roleInputs(f: Fields, tenant: { id: string; name: string } | null) {
  const roles = tenant ? await roleChoices(f.v, tenant.id) : [];
  return tenant && roles.length > 0 &&
    <RoleChecks f={f} legend={userTexts[f.v.locale].rolesIn(tenant.name)} roles={roles} />;
}

/** Checkboxes for roles. `name` must differ per tenant if a form has several. */
export function RoleChecks({ f, legend, roles, name = "roleIds" }: {
  f: Fields;
  legend: Child;
  roles: RoleChoice[];
  name?: string;
}) {
  const ticked = f.ticked(name);
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="choice-grid">
        {roles.map(({ id, name: label, description }) => (
          <CheckField
            label={label}
            name={name}
            value={id}
            id={`${name}-${id}`}
            checked={ticked.has(id)}
            hint={description}
          />
        ))}
      </div>
    </fieldset>
  );
}
