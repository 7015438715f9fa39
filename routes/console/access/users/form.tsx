import type { Child } from "hono/jsx";
import {
  CheckField,
  CsrfField,
  FormButtons,
  FormRefusal,
  SelectField,
  TextField,
} from "../../components/forms.tsx";
import { Card } from "../../components/notice.tsx";
import type { Refusal } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, type Outcome, type View, type Visit } from "../../shared/page.ts";
import {
  ifUnchanged,
  managesAllUsers,
  type RoleChoice,
  roleChoices,
  tenantChoices,
} from "../access_queries.ts";
import { submitForm } from "../actions.ts";
import { readUser, userCrumbs, usersPath } from "./model.tsx";
import { userTexts } from "./texts.ts";

const FIELDS = ["email", "password", "firstName", "lastName", "phoneNumber", "appIds"];

interface Filled {
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string;
  appIds: string;
  isActive: boolean;
}

const filledBy = (form: FormData): Filled => ({
  email: field(form, "email"),
  firstName: field(form, "firstName"),
  lastName: field(form, "lastName"),
  phoneNumber: field(form, "phoneNumber"),
  appIds: field(form, "appIds"),
  isActive: form.get("isActive") === "true",
});

const sent = ({ appIds, email: _, ...rest }: Filled) => ({
  ...rest,
  appIds: appIds.split(",").map((id) => id.trim()).filter((id) => id !== ""),
});

/** The form of a new user, with the roles of the chosen tenant. */
export async function newUserPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const t = userTexts[v.locale];
  const everywhere = managesAllUsers(v);
  const filled = form ? filledBy(form) : null;
  const tenants = everywhere ? await tenantChoices(v) : [];
  const tenantId = everywhere
    ? form?.get("tenantId")?.toString() ?? v.query.get("tenantId") ?? v.viewer.tenant?.id ?? ""
    : v.viewer.tenant?.id ?? "";
  const roles = tenantId ? await roleChoices(v, tenantId) : [];
  const tenant = tenants.find(({ id }) => id === tenantId)?.name ?? v.viewer.tenant?.name ?? "";
  return {
    title: t.newUser,
    crumbs: userCrumbs(v),
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={FIELDS} />
        {everywhere && (
          <form method="get" action="users/new" class="form">
            <SelectField
              label={t.tenant}
              name="tenantId"
              value={tenantId}
              any={t.noTenantChoice}
              hint={t.tenantHint}
              choices={tenants.map(({ id, name }) => ({ value: id, label: name }))}
            />
            <div>
              <button type="submit" class="button small">{t.showRoles}</button>
            </div>
          </form>
        )}
        <form class="form" method="post" action="users/new">
          <CsrfField v={v} />
          <input type="hidden" name="tenantId" value={tenantId} />
          <TextField
            label={t.email}
            name="email"
            type="email"
            value={filled?.email}
            errors={refusal?.fields.email}
            required
          />
          <TextField
            label={t.password}
            name="password"
            type="password"
            autocomplete="new-password"
            hint={t.passwordHint}
            errors={refusal?.fields.password}
            required
          />
          <PersonFields v={v} filled={filled} refusal={refusal} />
          {tenantId && roles.length > 0 && (
            <RoleChecks
              legend={t.rolesIn(tenant)}
              roles={roles}
              held={form?.getAll("roleIds").map(String) ?? []}
            />
          )}
          <FormButtons v={v} label={commonTexts[v.locale].create} back="users" />
        </form>
      </Card>
    ),
  };
}

/** Creates the user. */
export async function createUser(v: Visit, form: FormData): Promise<Outcome> {
  const filled = filledBy(form);
  const tenantId = field(form, "tenantId");
  const link = { tenantId, roleIds: form.getAll("roleIds").map(String), isDefault: true };
  return await submitForm(
    () =>
      v.api.send<{ id: string }>("POST", usersPath(v), {
        ...sent(filled),
        email: filled.email,
        password: String(form.get("password") ?? ""),
        tenants: tenantId ? [link] : [],
      }),
    {
      done: ({ id }) => ({
        goTo: `users/${id}`,
        flash: { tone: "ok", text: userTexts[v.locale].wasCreated(filled.email) },
      }),
      again: (refusal) => newUserPage(v, refusal, form),
    },
  );
}

/** The form of an existing user. */
export async function editUserPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const { value: user, etag } = await readUser(v);
  const filled = form && refusal?.code !== "PRECONDITION_FAILED"
    ? filledBy(form)
    : { ...user, phoneNumber: user.phoneNumber ?? "", appIds: user.appIds.join(", ") };
  return {
    title: userTexts[v.locale].edit,
    crumbs: userCrumbs(v, user),
    body: (
      <Card title={user.email}>
        <FormRefusal refusal={refusal} known={FIELDS} />
        <form class="form" method="post" action={`users/${user.id}/edit`}>
          <CsrfField v={v} />
          <input type="hidden" name="etag" value={etag} />
          <PersonFields v={v} filled={filled} refusal={refusal} />
          <FormButtons v={v} label={commonTexts[v.locale].save} back={`users/${user.id}`} />
        </form>
      </Card>
    ),
  };
}

/** Saves the user. A 412 means that someone else changed the user first. */
export async function saveUser(v: Visit, form: FormData): Promise<Outcome> {
  return await submitForm(
    () =>
      v.api.send(
        "PUT",
        `${usersPath(v)}/${v.params.id}`,
        sent(filledBy(form)),
        ifUnchanged(field(form, "etag")),
      ),
    {
      done: () => ({ goTo: `users/${v.params.id}`, flash: { tone: "ok", text: userTexts[v.locale].saved } }),
      again: (refusal) => editUserPage(v, refusal, form),
    },
  );
}

function PersonFields({ v, filled, refusal }: { v: Visit; filled: Filled | null; refusal: Refusal | null }) {
  const t = userTexts[v.locale];
  const errors = refusal?.fields ?? {};
  return (
    <>
      <div class="pair">
        <TextField
          label={t.firstName}
          name="firstName"
          value={filled?.firstName}
          maxlength={100}
          errors={errors.firstName}
        />
        <TextField
          label={t.lastName}
          name="lastName"
          value={filled?.lastName}
          maxlength={100}
          errors={errors.lastName}
        />
      </div>
      <TextField
        label={t.phone}
        name="phoneNumber"
        type="tel"
        value={filled?.phoneNumber}
        maxlength={40}
        errors={errors.phoneNumber}
      />
      <TextField
        label={t.apps}
        name="appIds"
        value={filled?.appIds}
        hint={t.appsHint}
        errors={errors.appIds}
      />
      <CheckField label={t.active} name="isActive" checked={filled?.isActive ?? true} hint={t.activeHint} />
    </>
  );
}

/** Checkboxes for roles. `name` must differ per tenant if a form has several. */
export function RoleChecks({ legend, roles, held, name = "roleIds" }: {
  legend: Child;
  roles: RoleChoice[];
  held: string[];
  name?: string;
}) {
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
            checked={held.includes(id)}
            hint={description}
          />
        ))}
      </div>
    </fieldset>
  );
}
