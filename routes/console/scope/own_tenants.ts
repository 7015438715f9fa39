import type { Api } from "../shared/api.ts";
import type { Row } from "../shared/operations.ts";

/** Tenants that the viewer may switch to, at most 50, the default one first: all, by a part of their name, or by ids. */
export const ownTenants = async (
  api: Api,
  query: { search?: string; ids?: string[]; pageSize?: number },
): Promise<Row<"findOwnTenants">[]> => (await api.call("findOwnTenants", { query })).items;

/** The tenant with this id, if the viewer may switch to it. */
export async function ownTenant(api: Api, id: string): Promise<Row<"findOwnTenants"> | null> {
  const [tenant] = await ownTenants(api, { ids: [id] });
  return tenant ?? null;
}
