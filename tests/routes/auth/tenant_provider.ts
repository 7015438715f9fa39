// A service whose tenants sign in by their own OpenID provider.
import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import {
  type Account,
  Browser,
  CLIENT_SECRET,
  type OidcProvider,
  startOidcProvider,
} from "../../support/oidc.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared, type TestService } from "../../support/setup.ts";
import type { Outcome } from "./openid.ts";

export const PUBLIC_URL = "https://steward.test/base";

/** A tenant with a provider, an administrator, and a verified domain. */
export interface Company {
  admin: Actor;
  tenantId: string;
  domain: string;
  providerId: string;
}

export class TenantProviderTest {
  private constructor(
    readonly t: TestService,
    readonly provider: OidcProvider,
    readonly companies: [Company, Company],
  ) {}

  /** Starts a service with two companies, whose providers are two clients of one server. */
  static async start(permissions: string[]): Promise<TenantProviderTest> {
    const t = await setupShared({ PUBLIC_URL, OUTBOUND_ALLOW: "127.0.0.1" });
    const companies = [await this.#company(t, permissions), await this.#company(t, permissions)] as const;
    const provider = await startOidcProvider({
      redirectUris: companies.map(({ providerId }) =>
        `${PUBLIC_URL}/api/v1/auth/oidc/${providerId}/callback`
      ),
    });
    Deno.test.afterAll(() => provider.stop());
    for (const { admin, providerId } of companies) {
      const at = `/api/v1/sign-in-providers/${providerId}`;
      await accepted(admin.put(at, { issuer: provider.issuer, clientSecret: CLIENT_SECRET }));
      await accepted(admin.post(`${at}/enable`));
    }
    return new TenantProviderTest(t, provider, [...companies]);
  }

  static async #company(t: TestService, permissions: string[]): Promise<Company> {
    const admin = await t.actor({ permissions: ["manage:sign-in", ...permissions] });
    const given = { kind: "Oidc", name: "Id", issuer: "https://id.example.com", clientId: "basic" };
    const { id: providerId } = await accepted(admin.post("/api/v1/sign-in-providers", given), 201);
    const domain = `${newId()}.example.com`;
    const company = { admin, tenantId: admin.tenantId ?? "", domain, providerId };
    await TenantProviderTest.verify(t, company, domain);
    return company;
  }

  static async verify(t: TestService, { admin }: Pick<Company, "admin">, name: string): Promise<void> {
    const { id } = await accepted(admin.post("/api/v1/sign-in-domains", { name }), 201);
    await t.steward.platform.sql`update sign_in_domains set status = 'Verified' where id = ${id}`;
  }

  /** A new account of the server. @returns its login */
  account = (domain: string, claims: Account = {}): string => {
    const login = `account-${newId()}`;
    this.provider.accounts.set(login, { email: `${login}@${domain}`, ...claims });
    return login;
  };

  /** Starts at a URL of the service, signs in at the server, and returns the URL that leads back. */
  back = async (login: string, startUrl: string, browser: Browser): Promise<string> => {
    const started = await browser.visit(startUrl);
    assert.equal(started.status, 302, await started.text());
    return await browser.signIn(started.headers.get("location") ?? "", login);
  };

  newBrowser = (): Browser => new Browser({ [PUBLIC_URL]: this.t.url });

  /** A whole sign-in. */
  run = async (
    login: string,
    providerId: string,
    query: Record<string, string> = {},
    browser = this.newBrowser(),
  ): Promise<Outcome> => {
    const startUrl = `${PUBLIC_URL}/api/v1/auth/oidc/${providerId}?${new URLSearchParams(query)}`;
    return await this.comeBack(await this.back(login, startUrl, browser), browser);
  };

  comeBack = async (callback: string, browser: Browser): Promise<Outcome> => {
    const response = await browser.visit(callback);
    const text = await response.text();
    const { status, headers } = response;
    const isJson = /json/.test(headers.get("content-type") ?? "");
    const body = isJson && text ? JSON.parse(text) : text;
    return { status, headers, location: headers.get("location") ?? "", body };
  };
}
