import { z } from "zod";
import { mailDomain } from "../../../../infra/mail/mail_address.ts";
import type { Platform } from "../../../shared/platform.ts";
import { PROVIDER_KINDS, serviceUrls, type SignInProvider } from "./provider.ts";

const MAX_PROVIDERS = 50;

/** How people of a tenant, or with an email, can sign in. */
export const SignInOptions = z.object({
  providers: z.array(z.object({
    id: z.guid(),
    kind: z.enum(PROVIDER_KINDS),
    name: z.string(),
    startUrl: z.string(),
  })),
  passwordSignIn: z.boolean().describe(
    "false: of the users of the tenant, only those who may use a password in an emergency can use one",
  ),
}).meta({ id: "SignInOptionsDto" });

/**
 * Reads the enabled providers of a tenant, or of all tenants that have verified the domain of an email. Of the email only the
 * domain counts, so the answer never tells whether a user exists.
 */
export async function readSignInOptions(
  p: Pick<Platform, "sql" | "baseUrl">,
  { email, tenantId }: { email: string | null; tenantId: string | null },
): Promise<z.output<typeof SignInOptions>> {
  const q = p.sql;
  const domain = email === null ? null : mailDomain(email);
  const tenants = q`select t.id, t.password_sign_in from tenants t where t.is_active and t.deleted_at is null
    and (t.id = ${tenantId} or ${tenantId}::uuid is null and t.id in (
      select d.tenant_id from sign_in_domains d where d.name = ${domain} and d.status = 'Verified'))`;
  const [providers, [password]] = await Promise.all([
    q<Pick<SignInProvider, "id" | "kind" | "name">[]>`
      select id, kind, name from sign_in_providers
      where is_enabled and tenant_id in (select id from (${tenants}) t)
      order by name, id limit ${MAX_PROVIDERS}`,
    q<{ isPossible: boolean }[]>`
      select coalesce(bool_or(password_sign_in), true) as is_possible from (${tenants}) t`,
  ]);
  return {
    providers: providers.map((row) => ({ ...row, startUrl: serviceUrls(p, row).startUrl })),
    passwordSignIn: password?.isPossible ?? true,
  };
}
