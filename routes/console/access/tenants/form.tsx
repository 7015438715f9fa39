import {
  type Choice,
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
import { ifUnchanged, managesAllTenants, readVersioned, tenantChoices } from "../access_queries.ts";
import { submitForm } from "../actions.ts";
import { mayCreate, type Tenant, tenantCrumbs } from "./model.tsx";
import { tenantTexts } from "./texts.ts";

const FIELDS = ["name", "type", "parentTenantId", "maxUsers"];

interface Filled {
  name: string;
  type: string;
  parentTenantId: string;
  maxUsers: string;
}

const filledBy = (form: FormData): Filled => ({
  name: field(form, "name"),
  type: field(form, "type"),
  parentTenantId: field(form, "parentTenantId"),
  maxUsers: field(form, "maxUsers"),
});

/** The user limit as a number. Other text is sent unchanged: the API reports the error. */
const limit = (text: string): number | string | null =>
  text === "" ? null : /^\d{1,15}$/.test(text) ? Number(text) : text;

/** The form of a new tenant: any tenant, or a child of the viewer's group. */
export async function newTenantPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const t = tenantTexts[v.locale];
  const groups = await groupChoices(v);
  const filled = form ? filledBy(form) : {
    name: "",
    type: "Standard",
    parentTenantId: mayCreate(v) === "children"
      ? v.viewer.tenant?.id ?? ""
      : v.query.get("parentTenantId") ?? "",
    maxUsers: "",
  };
  return {
    title: t.newTenant,
    crumbs: tenantCrumbs(v),
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={FIELDS} />
        <form class="form" method="post" action="tenants/new">
          <CsrfField v={v} />
          <NameField v={v} filled={filled} refusal={refusal} />
          {mayCreate(v) === "anywhere" && (
            <SelectField
              label={t.type}
              name="type"
              value={filled.type}
              hint={t.typeHint}
              choices={(["Standard", "Group"] as const).map((value) => ({ value, label: t[value] }))}
            />
          )}
          <ParentField v={v} filled={filled} refusal={refusal} groups={groups} />
          <LimitField v={v} filled={filled} refusal={refusal} />
          <FormButtons v={v} label={commonTexts[v.locale].create} back="tenants" />
        </form>
      </Card>
    ),
  };
}

/** Creates the tenant. */
export async function createTenant(v: Visit, form: FormData): Promise<Outcome> {
  const { name, type, parentTenantId, maxUsers } = filledBy(form);
  return await submitForm(
    () =>
      v.api.send<{ id: string }>("POST", "tenants", {
        name,
        type: type || "Standard",
        parentTenantId: parentTenantId || null,
        maxUsers: limit(maxUsers),
      }),
    {
      done: ({ id }) => ({
        goTo: `tenants/${id}`,
        flash: { tone: "ok", text: tenantTexts[v.locale].wasCreated(name) },
      }),
      again: (refusal) => newTenantPage(v, refusal, form),
    },
  );
}

/** The form of an existing tenant. Only viewers who manage all tenants can change its group. */
export async function editTenantPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const { value: tenant, etag } = await readVersioned<Tenant>(v, `tenants/${v.params.id}`);
  const movable = tenant.type === "Standard" && managesAllTenants(v);
  const groups = movable ? await groupChoices(v) : [];
  const filled = form && refusal?.code !== "PRECONDITION_FAILED" ? filledBy(form) : {
    name: tenant.name,
    type: tenant.type,
    parentTenantId: tenant.parentTenantId ?? "",
    maxUsers: tenant.maxUsers === null ? "" : String(tenant.maxUsers),
  };
  return {
    title: tenantTexts[v.locale].edit,
    crumbs: tenantCrumbs(v, tenant),
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={FIELDS} />
        <form class="form" method="post" action={`tenants/${tenant.id}/edit`}>
          <CsrfField v={v} />
          <input type="hidden" name="etag" value={etag} />
          <NameField v={v} filled={filled} refusal={refusal} />
          {movable && <ParentField v={v} filled={filled} refusal={refusal} groups={groups} />}
          <LimitField v={v} filled={filled} refusal={refusal} />
          <FormButtons v={v} label={commonTexts[v.locale].save} back={`tenants/${tenant.id}`} />
        </form>
      </Card>
    ),
  };
}

/** Saves the tenant. A 412 means that someone else changed it first. */
export async function saveTenant(v: Visit, form: FormData): Promise<Outcome> {
  const { name, parentTenantId, maxUsers } = filledBy(form);
  const change = {
    name,
    maxUsers: limit(maxUsers),
    ...form.has("parentTenantId") ? { parentTenantId: parentTenantId || null } : {},
  };
  return await submitForm(
    () => v.api.send("PUT", `tenants/${v.params.id}`, change, ifUnchanged(field(form, "etag"))),
    {
      done: () => ({
        goTo: `tenants/${v.params.id}`,
        flash: { tone: "ok", text: tenantTexts[v.locale].saved },
      }),
      again: (refusal) => editTenantPage(v, refusal, form),
    },
  );
}

type FieldProps = { v: Visit; filled: Filled; refusal: Refusal | null };

const NameField = ({ v, filled, refusal }: FieldProps) => (
  <TextField
    label={tenantTexts[v.locale].name}
    name="name"
    value={filled.name}
    maxlength={200}
    errors={refusal?.fields.name}
    required
  />
);

const LimitField = ({ v, filled, refusal }: FieldProps) => (
  <TextField
    label={tenantTexts[v.locale].maxUsers}
    name="maxUsers"
    type="number"
    min={1}
    value={filled.maxUsers}
    hint={tenantTexts[v.locale].maxUsersHint}
    errors={refusal?.fields.maxUsers}
  />
);

/** Groups to choose from: all groups if the viewer manages all tenants, else the viewer's own. */
async function groupChoices(v: Visit): Promise<Choice[]> {
  const groups = managesAllTenants(v) ? await tenantChoices(v, { type: "Group" }) : [v.viewer.tenant];
  return groups.flatMap((group) => group ? { value: group.id, label: group.name } : []);
}

function ParentField({ v, filled, refusal, groups }: FieldProps & { groups: Choice[] }) {
  const t = tenantTexts[v.locale];
  const anywhere = managesAllTenants(v);
  return (
    <SelectField
      label={t.parent}
      name="parentTenantId"
      value={filled.parentTenantId}
      hint={anywhere ? t.parentHint : undefined}
      errors={refusal?.fields.parentTenantId}
      choices={groups}
      {...anywhere ? { any: t.noParent } : {}}
    />
  );
}
