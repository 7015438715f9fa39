import { type Api, orNull } from "../shared/api.ts";
import { may, type Viewer } from "../shared/page.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The tenant that the parameter `tenantId` of a page's address filters by; null if the viewer may not see its name. */
export async function filteredTo(
  api: Api,
  viewer: Viewer,
  query: URLSearchParams,
): Promise<{ id: string; name: string } | null> {
  const id = query.get("tenantId")?.toLowerCase();
  if (!id || !UUID.test(id)) return null;
  const own = viewer.tenants.find((tenant) => tenant.id === id);
  if (own || !may(viewer, "manage:all-tenants")) return own ?? null;
  const page = await orNull(api.call("lookUpAllTenants", { query: { ids: [id] } }));
  return page?.items[0] ?? null;
}
