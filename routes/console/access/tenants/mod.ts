import type { ConsolePage } from "../../shared/page.ts";
import { runAction } from "../actions.ts";
import { tenantPage } from "./detail.tsx";
import { createTenant, editTenantPage, newTenantPage, saveTenant } from "./form.tsx";
import { tenantsPage } from "./list.tsx";
import type { Tenant } from "./model.tsx";
import { tenantTexts } from "./texts.ts";

const READ = ["read:tenants", "read:group-tenants"];
const onTenants = (verb: string) => [`${verb}:tenants`, "manage:child-tenants"];

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `tenants/{id}/${verb}`,
  permissions: onTenants("update"),
  async post(v) {
    const at = `tenants/${v.params.id}`;
    const { name } = await v.api.get<Tenant>(at);
    const isActive = verb === "activate";
    const done = tenantTexts[v.locale][isActive ? "activated" : "deactivated"](name);
    return await runAction({ back: at, done }, () => v.api.send("PUT", at, { isActive }));
  },
});

/** Pages of the tenants the viewer can access. */
export const tenantsPages: ConsolePage[] = [
  { path: "tenants", permissions: READ, get: tenantsPage },
  { path: "tenants/new", permissions: onTenants("create"), get: (v) => newTenantPage(v), post: createTenant },
  { path: "tenants/{id}", permissions: READ, get: tenantPage },
  {
    path: "tenants/{id}/edit",
    permissions: onTenants("update"),
    get: (v) => editTenantPage(v),
    post: saveTenant,
  },
  activation("activate"),
  activation("deactivate"),
  {
    path: "tenants/{id}/delete",
    permissions: onTenants("delete"),
    async post(v) {
      const at = `tenants/${v.params.id}`;
      const { name } = await v.api.get<Tenant>(at);
      const done = tenantTexts[v.locale].wasDeleted(name);
      return await runAction({ back: at, done, goTo: "tenants" }, () => v.api.send("DELETE", at));
    },
  },
];
