import { CsrfField, FormButtons, FormRefusal, TextField } from "../../components/forms.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import type { Refusal } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, may, type Outcome, type View, type Visit } from "../../shared/page.ts";
import { ifUnchanged, readVersioned } from "../access_queries.ts";
import { submitForm } from "../actions.ts";
import { type Category, readCatalog, readGrants, type Role, roleCrumbs } from "./model.tsx";
import { roleTexts } from "./texts.ts";

const FIELDS = ["name", "description"];

interface Filled {
  name: string;
  description: string;
  permissionIds: string[];
}

const filledBy = (form: FormData): Filled => ({
  name: field(form, "name"),
  description: field(form, "description"),
  permissionIds: form.getAll("permissionIds").map(String),
});

/** The form of a new role. */
export async function newRolePage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const filled = form ? filledBy(form) : { name: "", description: "", permissionIds: [] };
  return {
    title: roleTexts[v.locale].newRoleIn(v.viewer.tenant?.name ?? ""),
    crumbs: roleCrumbs(v),
    body: (
      <RoleForm
        v={v}
        action="roles/new"
        back="roles"
        submitLabel={commonTexts[v.locale].create}
        filled={filled}
        held={[]}
        catalog={await readCatalog(v)}
        refusal={refusal}
      />
    ),
  };
}

/** Creates the role. */
export async function createRole(v: Visit, form: FormData): Promise<Outcome> {
  const filled = filledBy(form);
  return await submitForm(() => v.api.send<{ id: string; tenantName: string }>("POST", "roles", filled), {
    done: ({ id, tenantName }) => ({
      goTo: `roles/${id}`,
      flash: { tone: "ok", text: roleTexts[v.locale].wasCreated(filled.name, tenantName) },
    }),
    again: (refusal) => newRolePage(v, refusal, form),
  });
}

/** The form of an existing role. For a built-in role, a notice that it cannot be changed. */
export async function editRolePage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const t = roleTexts[v.locale];
  const { value: role, etag } = await readVersioned<Role>(v, `roles/${v.params.id}`);
  const [grants, catalog] = await Promise.all([readGrants(v, role.id), readCatalog(v)]);
  const held = grants.map(({ id }) => id);
  const filled = form && refusal?.code !== "PRECONDITION_FAILED"
    ? filledBy(form)
    : { name: role.name, description: role.description ?? "", permissionIds: held };
  return {
    title: t.edit,
    crumbs: roleCrumbs(v, role),
    body: role.isSystemRole ? <Notice tone="info">{t.builtinNote}</Notice> : (
      <RoleForm
        v={v}
        action={`roles/${role.id}/edit`}
        back={`roles/${role.id}`}
        submitLabel={commonTexts[v.locale].save}
        filled={filled}
        held={held}
        catalog={catalog}
        refusal={refusal}
        etag={etag}
      />
    ),
  };
}

/** Saves the role. A 412 means that someone else changed it first. */
export async function saveRole(v: Visit, form: FormData): Promise<Outcome> {
  return await submitForm(
    () => v.api.send("PUT", `roles/${v.params.id}`, filledBy(form), ifUnchanged(field(form, "etag"))),
    {
      done: () => ({ goTo: `roles/${v.params.id}`, flash: { tone: "ok", text: roleTexts[v.locale].saved } }),
      again: (refusal) => editRolePage(v, refusal, form),
    },
  );
}

function RoleForm({ v, action, back, submitLabel, filled, held, catalog, refusal, etag = "" }: {
  v: Visit;
  action: string;
  back: string;
  submitLabel: string;
  filled: Filled;
  /** Permissions the role already has. They stay selectable even if the viewer does not hold them. */
  held: string[];
  catalog: Category[];
  refusal: Refusal | null;
  etag?: string;
}) {
  const t = roleTexts[v.locale];
  return (
    <form class="stack" method="post" action={action}>
      <FormRefusal refusal={refusal} known={FIELDS} />
      <CsrfField v={v} />
      <input type="hidden" name="etag" value={etag} />
      <Card>
        <div class="form">
          <TextField
            label={t.name}
            name="name"
            value={filled.name}
            maxlength={100}
            errors={refusal?.fields.name}
            required
          />
          <TextField
            label={t.description}
            name="description"
            value={filled.description}
            maxlength={500}
            errors={refusal?.fields.description}
          />
        </div>
      </Card>
      <Card title={t.permissions}>
        <p class="hint">{t.permissionsHint}</p>
        <div class="grid-3">
          {catalog.map((category) => (
            <fieldset class="permission-set">
              <legend>{category.category}</legend>
              {category.permissions.map((permission) => (
                <PermissionCheck
                  v={v}
                  permission={permission}
                  ticked={filled.permissionIds.includes(permission.id)}
                  isHeld={held.includes(permission.id)}
                />
              ))}
            </fieldset>
          ))}
        </div>
      </Card>
      <FormButtons v={v} label={submitLabel} back={back} />
    </form>
  );
}

function PermissionCheck({ v, permission, ticked, isHeld }: {
  v: Visit;
  permission: Category["permissions"][number];
  ticked: boolean;
  isHeld: boolean;
}) {
  const { id, code, description } = permission;
  const mayGive = isHeld || v.viewer.permissions.has(code) || may(v.viewer, "admin:system");
  return (
    <div class="field check">
      <input
        id={`p-${id}`}
        type="checkbox"
        name="permissionIds"
        value={id}
        checked={ticked}
        disabled={!mayGive}
        aria-describedby={`p-${id}-hint`}
      />
      <label for={`p-${id}`}>
        <code>{code}</code>
      </label>
      <div class="hint" id={`p-${id}-hint`}>
        {description} {!mayGive && roleTexts[v.locale].notYours}
      </div>
    </div>
  );
}
