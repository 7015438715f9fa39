import type { Child } from "hono/jsx";
import { Fields, formView } from "../../components/fields.tsx";
import { CheckField } from "../../components/forms.tsx";
import { tenantInput } from "../../components/tenant_input.tsx";
import { done, formPage } from "../../shared/actions.ts";
import { field, fieldsIn } from "../../shared/page.ts";
import { managesAllUsers, type RoleChoice, roleChoices } from "../../shared/access_queries.ts";
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
    const roles = tenant ? await roleChoices(v, tenant.id) : [];
    const f = new Fields(v, sent, everywhere ? "createUserAnywhere" : "createUser", { isActive: true });
    return formView(f, {
      title: t.newUser,
      crumbs: userCrumbs(v),
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
        tenant && roles.length > 0 && <RoleChecks f={f} legend={t.rolesIn(tenant.name)} roles={roles} />,
      ],
    });
  },
  async send(v, form) {
    const tenantId = field(form, "tenantId");
    const link = { tenantId, roleIds: form.getAll("roleIds").map(String), isDefault: true };
    const { id, email } = await v.api.call(managesAllUsers(v) ? "createUserAnywhere" : "createUser", {
      body: {
        ...profileOf(form),
        email: field(form, "email"),
        password: String(form.get("password") ?? ""),
        tenants: tenantId ? [link] : [],
      },
    });
    return done(`users/${id}`, userTexts[v.locale].wasCreated(email));
  },
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
  async send(v, form) {
    const { params } = v;
    const body = profileOf(form);
    const ifMatch = field(form, "etag");
    if (managesAllUsers(v)) await v.api.call("updateUserAnywhere", { params, body, ifMatch });
    else {
      const externalId = field(form, "externalId") || null;
      await v.api.call("updateUser", { params, body: { ...body, externalId }, ifMatch });
    }
    return done(`users/${v.params.id}`, userTexts[v.locale].saved);
  },
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
