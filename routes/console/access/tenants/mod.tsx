import { Fields, formView } from "../../components/fields.tsx";
import type { Choice } from "../../components/forms.tsx";
import { labelled } from "../../components/list.tsx";
import { managesAllTenants, tenantChoices } from "../../shared/access_queries.ts";
import { done, formPage, sendTo } from "../../shared/actions.ts";
import { type ConsolePage, field, type Visit } from "../../shared/page.ts";
import { mayCreate, tenantPage, tenantsPage } from "./list.tsx";
import { crumbsTo } from "../../shared/scope.ts";
import { tenantTexts } from "./texts.ts";
import { usagePage } from "./usage.tsx";

/** The user limit as a number. Other text is sent unchanged: the API reports the error. */
const limitOf = (form: FormData): number | string | null => {
  const text = field(form, "maxUsers");
  return text === "" ? null : /^\d{1,15}$/.test(text) ? Number(text) : text;
};

/** The members that the forms of a new and of an existing tenant share. */
const bodyOf = (form: FormData) => ({
  name: field(form, "name"),
  maxUsers: limitOf(form),
  requireSecondFactor: field(form, "requireSecondFactor") === "true",
  actAs: field(form, "actAs"),
});

/** The form of a new tenant: any tenant, or a child of the viewer's group. */
const newTenantPage = formPage({
  path: "tenants/new",
  permissions: ["create:tenants", "manage:child-tenants"],
  async show(v, sent) {
    const t = tenantTexts[v.locale];
    const f = new Fields(v, sent, "createTenant", {
      type: "Standard",
      parentTenantId: mayCreate(v) === "children" ? v.viewer.tenant?.id : v.query.get("parentTenantId"),
    });
    const types = labelled(["Standard", "Group"], t);
    return formView(f, {
      title: t.newTenant,
      submit: t.create,
      inputs: [
        f.text("name", t.name),
        mayCreate(v) === "anywhere" && f.select("type", t.type, types, { hint: t.typeHint }),
        parentInput(f, await groupChoices(v)),
        limitInput(f),
        securityInputs(f),
      ],
    });
  },
  send: sendTo(
    "createTenant",
    (form) => ({
      ...bodyOf(form),
      type: field(form, "type") || "Standard",
      parentTenantId: field(form, "parentTenantId") || null,
    }),
    (v, { id, name }) => done(`tenants/${id}`, tenantTexts[v.locale].wasCreated(name)),
  ),
});

/** The form of an existing tenant. Only viewers who manage all tenants can change its group. */
const editTenantPage = formPage({
  path: "tenants/{id}/edit",
  permissions: ["update:tenants", "manage:child-tenants"],
  restarts: true,
  async show(v, sent) {
    const t = tenantTexts[v.locale];
    const { value: tenant, etag } = await v.api.versioned("readTenant", { params: v.params });
    const isMovable = tenant.type === "Standard" && managesAllTenants(v);
    const f = new Fields(v, sent, "createTenant", { ...tenant, etag });
    return formView(f, {
      title: t.edit,
      crumbs: crumbsTo(v, { href: `tenants/${tenant.id}`, label: tenant.name }),
      inputs: [
        f.text("name", t.name),
        isMovable && parentInput(f, await groupChoices(v)),
        limitInput(f),
        securityInputs(f),
      ],
    });
  },
  send: sendTo(
    "updateTenant",
    (form) => ({
      ...bodyOf(form),
      ...form.has("parentTenantId") && { parentTenantId: field(form, "parentTenantId") || null },
    }),
    (v, { id }) => done(`tenants/${id}`, tenantTexts[v.locale].saved),
  ),
});

function limitInput(f: Fields) {
  const t = tenantTexts[f.v.locale];
  return f.text("maxUsers", t.maxUsers, { type: "number", min: 1, hint: t.maxUsersHint });
}

function securityInputs(f: Fields) {
  const t = tenantTexts[f.v.locale];
  return [
    f.check("requireSecondFactor", t.requireSecondFactor, t.requireSecondFactorHint),
    f.select("actAs", t.actAs, labelled(["allowed", "consent", "forbidden"], t)),
  ];
}

/** Groups to choose from: all groups if the viewer manages all tenants, else the viewer's own. */
async function groupChoices(v: Visit): Promise<Choice[]> {
  const groups = managesAllTenants(v) ? await tenantChoices(v, { type: "Group" }) : [v.viewer.tenant];
  return groups.flatMap((group) => group ? { value: group.id, label: group.name } : []);
}

function parentInput(f: Fields, groups: Choice[]) {
  const t = tenantTexts[f.v.locale];
  const more = managesAllTenants(f.v) ? { hint: t.parentHint, any: t.none } : {};
  return f.select("parentTenantId", t.parent, groups, more);
}

const READ = ["read:tenants", "read:group-tenants"];

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `tenants/{id}/${verb}`,
  permissions: ["update:tenants", "manage:child-tenants"],
  post: sendTo(
    "updateTenant",
    () => ({ isActive: verb === "activate" }),
    (v, { id, name }) => done(`tenants/${id}`, tenantTexts[v.locale][`${verb}d` as const](name)),
  ),
});

export const tenantsPages: ConsolePage[] = [
  { path: "tenants", permissions: READ, get: tenantsPage },
  { path: "tenants/usage", permissions: ["read:tenants"], get: usagePage },
  newTenantPage,
  { path: "tenants/{id}", permissions: READ, get: tenantPage },
  editTenantPage,
  activation("activate"),
  activation("deactivate"),
  {
    path: "tenants/{id}/delete",
    permissions: ["delete:tenants", "manage:child-tenants"],
    async post(v) {
      const { name } = await v.api.act("readTenant", v);
      await v.api.act("deleteTenant", v);
      return done("tenants", tenantTexts[v.locale].wasDeleted(name));
    },
  },
];
