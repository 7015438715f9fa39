import { done } from "../../shared/actions.ts";
import type { ConsolePage } from "../../shared/page.ts";
import { editTenantPage, newTenantPage } from "./form.tsx";
import { tenantPage, tenantsPage } from "./list.tsx";
import { tenantTexts } from "./texts.ts";
import { usagePage } from "./usage.tsx";

const READ = ["read:tenants", "read:group-tenants"];

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `tenants/{id}/${verb}`,
  permissions: ["update:tenants", "manage:child-tenants"],
  async post(v) {
    const isActive = verb === "activate";
    const { params } = v;
    const { name } = await v.api.call("updateTenant", { params, body: { isActive } });
    return done(`tenants/${params.id}`, tenantTexts[v.locale][isActive ? "activated" : "deactivated"](name));
  },
});

/** Pages of the tenants the viewer can access. */
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
