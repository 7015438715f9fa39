import { HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";

export const PATH = "/api/v1/service-accounts";
export const USERS = "/api/v1/users";
export const MANAGE = "manage:service-accounts";

export const inTenant = (tenant: string | null) => ({ "x-tenant-id": tenant ?? "" });

interface MadeAccount {
  id: string;
  clientId: string;
  secret: string;
  start: string;
}

/** Creates a service account that reads users in the tenant of its maker, unless `more` says otherwise. */
export const makeAccount = (by: Actor, more: Record<string, unknown> = {}): Promise<MadeAccount> =>
  accepted(
    by.post(PATH, { name: "Sync", permissions: ["read:users"], tenants: [by.tenantId], ...more }),
    201,
  );

/** A caller with a key or with the secret of a service account. */
export const program = ({ url }: { url: string }, secret: string) => new HttpClient(url, secret);
