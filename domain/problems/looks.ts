import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of looks and senders of tenants. */
export const LOOKS_PROBLEMS = {
  TENANT_LOGO_NOT_FOUND: entry(
    404,
    "Logo not found",
    "The tenant has no logo.",
    "Upload one with PUT /api/v1/tenant-looks/logo.",
    "There is no logo. Upload one first.",
    "Não há logótipo. Carregue um primeiro.",
  ),
} satisfies Record<string, CatalogueEntry>;
