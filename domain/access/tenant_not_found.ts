import { problem } from "../problems/problem.ts";

/** The error for an unknown or deleted tenant. */
export const tenantNotFound = (id: string) =>
  problem("TENANT_NOT_FOUND", `There is no tenant ${id}; the id may be wrong or the tenant deleted.`);
