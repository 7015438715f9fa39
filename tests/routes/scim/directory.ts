import { HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";

export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const MESSAGES = "urn:ietf:params:scim:api:messages:2.0";

/** A directory with the token of a service account of one tenant, which names no tenant in its requests. */
export class Directory extends HttpClient {
  constructor(url: string, token: string, readonly admin: Actor, readonly tenantId: string) {
    super(url, token, { "content-type": "application/scim+json" });
  }

  patch = (path: string, ...Operations: unknown[]) =>
    this.send("PATCH", `/scim/v2${path}`, { schemas: [`${MESSAGES}:PatchOp`], Operations });
  bulk = (Operations: unknown[], more: object = {}) =>
    this.post("/scim/v2/Bulk", { schemas: [`${MESSAGES}:BulkRequest`], Operations, ...more });
  find = (what: string, filter: string, more = "") =>
    this.get(`/scim/v2/${what}?filter=${encodeURIComponent(filter)}${more}`);
  search = (path: string, body: object) =>
    this.post(`/scim/v2${path}/.search`, { schemas: [`${MESSAGES}:SearchRequest`], ...body });
  user = (userName: string, more: object = {}) =>
    accepted(this.post("/scim/v2/Users", { schemas: [USER], userName, ...more }), 201);
  group = (displayName: string, more: object = {}) =>
    accepted(this.post("/scim/v2/Groups", { schemas: [GROUP], displayName, ...more }), 201);
}

/** @param o.permissions of the token, besides `provision:users` */
export async function directory(
  t: TestService,
  o: { permissions?: string[]; tenantId?: string } = {},
): Promise<Directory> {
  const permissions = ["provision:users", ...o.permissions ?? []];
  const admin = await t.actor({
    permissions: ["manage:service-accounts", "read:roles", "update:roles", "create:users", ...permissions],
    ...o.tenantId ? { tenantId: o.tenantId } : {},
  });
  const tenantId = admin.tenantId ?? "";
  const account = { name: "Directory", permissions, tenants: [tenantId] };
  const { secret } = await accepted(admin.post("/api/v1/service-accounts", account), 201);
  return new Directory(t.url, secret, admin, tenantId);
}

/** Status and keyword of a refusal. */
export const refusal = (
  { status, body }: { status: number; body: { scimType?: string; code?: string } },
): string => `${status} ${body.scimType ?? body.code}`;
