// A service with a real OpenID provider, and browsers that sign in with it.
import assert from "node:assert/strict";
import type { HttpAnswer } from "../../support/http.ts";
import { Browser, CLIENT_SECRET, type OidcProvider, startOidcProvider } from "../../support/oidc.ts";
import { setupShared, type TestService } from "../../support/setup.ts";
import { afterAllFiles, isOneOfSeveralFiles } from "../../support/test_files.ts";
import { type Person, person, withoutFailures } from "./people.ts";

export const PUBLIC_URL = "https://steward.test/base";
const NAMES = ["corp", "open", "public", "misconfigured"];

/** A sign-in that was redirected to the provider. */
export interface Flow {
  browser: Browser;
  /** The authorization URL. */
  authorizationUrl: URL;
}

/** The answer to a browser that came back from the provider. */
export interface Outcome extends HttpAnswer {
  location: string;
}

/** Reads an answer to a browser: JSON, or a page. */
export async function readOutcome(response: Response): Promise<Outcome> {
  const text = await response.text();
  const { status, headers } = response;
  const isJson = /json/.test(headers.get("content-type") ?? "");
  const body = isJson && text ? JSON.parse(text) : text;
  return { status, headers, location: headers.get("location") ?? "", body };
}

let provider: Promise<OidcProvider> | undefined;

async function startProvider(): Promise<OidcProvider> {
  const redirectUris = NAMES.map((name) => `${PUBLIC_URL}/api/v1/auth/oidc/${name}/callback`);
  const started = await startOidcProvider({ redirectUris });
  if (isOneOfSeveralFiles()) afterAllFiles(() => started.stop());
  return started;
}

export class OpenIdTest {
  private constructor(readonly t: TestService, readonly provider: OidcProvider) {}

  /** Starts both; test files share them. Provider `open` of the service creates users; two providers do not work. */
  static async start(): Promise<OpenIdTest> {
    const shared = await (provider ??= startProvider());
    const { issuer } = shared;
    const t = await setupShared({
      PUBLIC_URL,
      OUTBOUND_ALLOW: "127.0.0.1",
      OIDC_PROVIDERS: JSON.stringify({
        corp: { issuer, clientId: "basic", clientSecret: CLIENT_SECRET, displayName: "The corporation" },
        open: {
          issuer,
          clientId: "post",
          clientSecret: CLIENT_SECRET,
          clientAuthentication: "client_secret_post",
          autoProvision: true,
        },
        public: { issuer, clientId: "public" },
        misconfigured: { issuer, clientId: "basic", clientSecret: "not the secret" },
        away: { issuer: "http://127.0.0.1:1", clientId: "x" },
      }),
      OIDC_RETURN_ORIGINS: "https://app.test, http://localhost:3000",
    });
    withoutFailures(t);
    Deno.test.beforeEach(() => void (shared.tamper = null));
    if (!isOneOfSeveralFiles()) Deno.test.afterAll(() => shared.stop());
    return new OpenIdTest(t, shared);
  }

  newBrowser = (): Browser => new Browser({ [PUBLIC_URL]: this.t.url });

  /** Starts a sign-in and returns the redirect to the provider. */
  begin = async (name = "corp", query = {}, browser = this.newBrowser()): Promise<Flow> => {
    const response = await browser.visit(
      `${PUBLIC_URL}/api/v1/auth/oidc/${name}?${new URLSearchParams(query)}`,
    );
    assert.equal(response.status, 302, await response.text());
    return { browser, authorizationUrl: new URL(response.headers.get("location") ?? "") };
  };

  /** Signs in at the provider; returns the URL that leads back to Steward. */
  back = async ({ browser, authorizationUrl }: Flow, login: string): Promise<URL> =>
    new URL(await browser.signIn(authorizationUrl.href, login));

  /** Sends the browser back to Steward. */
  comeBack = async ({ browser }: Pick<Flow, "browser">, callback: URL | string): Promise<Outcome> =>
    await readOutcome(await browser.visit(String(callback)));

  /** Signs in at the provider and comes back. */
  finish = async (flow: Flow, login: string): Promise<Outcome> =>
    await this.comeBack(flow, await this.back(flow, login));

  /** A whole sign-in. `change` alters the authorization request. */
  run = async (
    login: string,
    name = "corp",
    query = {},
    change: (url: URL) => void = () => {},
  ): Promise<Outcome> => {
    const flow = await this.begin(name, query);
    change(flow.authorizationUrl);
    return await this.finish(flow, login);
  };

  /** A user and an account at the provider with the same email. */
  known = async (o: Parameters<typeof person>[1] = {}): Promise<{ user: Person; login: string }> => {
    const user = await person(this.t, o);
    const login = `login-${user.id}`;
    this.provider.accounts.set(login, { email: user.email.toUpperCase(), email_verified: true });
    return { user, login };
  };
}
