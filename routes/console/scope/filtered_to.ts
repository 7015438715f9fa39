import { isUuid } from "../../../domain/shared/ids.ts";
import { type Api, orNull } from "../shared/api.ts";
import { may, type Viewer } from "../shared/page.ts";
import { ownTenant } from "./own_tenants.ts";

/** The tenant that the parameter `tenantId` of a page's address filters by; null if the viewer may not see its name. */
export async function filteredTo(
  api: Api,
  viewer: Viewer,
  query: URLSearchParams,
): Promise<{ id: string; name: string } | null> {
  const id = query.get("tenantId")?.toLowerCase();
  if (!id || !isUuid(id)) return null;
  if (id === viewer.tenant?.id) return viewer.tenant;
  if (!may(viewer, "manage:all-tenants")) return await ownTenant(api, id);
  const page = await orNull(api.call("lookUpAllTenants", { query: { ids: [id] } }));
  return page?.items[0] ?? null;
}
