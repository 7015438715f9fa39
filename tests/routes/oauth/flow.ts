import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Actor, TestService } from "../../support/setup.ts";
import { PASSWORD, type Person, person } from "../auth/people.ts";
import { FormBrowser, left, type Shown, shown } from "./browser.ts";

export const CALLBACK = "https://app.test/callback";

/** A client as its maker got it. */
export interface MadeClient {
  id: string;
  clientId: string;
  secret: string | null;
  audience: string;
}

/** Creates a client that asks no consent, unless `more` says otherwise. */
export async function makeClient(by: Actor, more: Record<string, unknown> = {}): Promise<MadeClient> {
  const { status, body } = await by.post("/api/v1/oauth-clients", {
    name: "Orders",
    kind: "confidential",
    redirectUris: [CALLBACK],
    audience: `https://orders.test/${crypto.randomUUID()}`,
    firstParty: true,
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url");

/** The address of an authorization request; null removes a parameter. */
export function authorizeUrl(
  t: TestService,
  { clientId }: MadeClient,
  more: Record<string, string | null> = {},
): URL {
  const url = new URL(`${t.url}/oauth/authorize`);
  const parameters: Record<string, string | null> = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: CALLBACK,
    scope: "openid profile email",
    state: "the-state",
    code_challenge: challengeOf("v".repeat(43)),
    code_challenge_method: "S256",
    ...more,
  };
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null) url.searchParams.set(name, value);
  }
  return url;
}

/** A person with a browser that is signed in to the console. */
export async function signedInBrowser(
  t: TestService,
  o: Parameters<typeof person>[1] = {},
): Promise<{ browser: FormBrowser; who: Person }> {
  const who = await person(t, o);
  const browser = new FormBrowser(t.url);
  shown(await browser.signIn(await browser.show(`${t.url}/console/sign-in`), who.email, PASSWORD));
  return { browser, who };
}

export interface TokenAnswer {
  status: number;
  headers: Headers;
  // deno-lint-ignore no-explicit-any -- tests look into answers of every shape
  body: any;
}

/** Sends a form to a route of the provider. */
export async function postForm(
  t: TestService,
  path: string,
  fields: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const response = await fetch(t.url + path, { method: "POST", body: new URLSearchParams(fields), headers });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** Calls the token endpoint as a client. */
export const askTokens = (
  t: TestService,
  { clientId, secret }: Pick<MadeClient, "clientId" | "secret">,
  fields: Record<string, string>,
): Promise<TokenAnswer> =>
  postForm(t, "/oauth/token", {
    client_id: clientId,
    ...secret === null ? {} : { client_secret: secret },
    ...fields,
  });

/** Redeems a code that was requested with `authorizeUrl`. */
export const redeem = (
  t: TestService,
  client: MadeClient,
  code: string,
  more: Record<string, string> = {},
): Promise<TokenAnswer> =>
  askTokens(t, client, {
    grant_type: "authorization_code",
    code,
    redirect_uri: CALLBACK,
    code_verifier: "v".repeat(43),
    ...more,
  });

export const refresh = (
  t: TestService,
  client: MadeClient,
  refreshToken: string,
  more: Record<string, string> = {},
): Promise<TokenAnswer> =>
  askTokens(t, client, { grant_type: "refresh_token", refresh_token: refreshToken, ...more });

export const codeOf = (url: URL): string => {
  const code = url.searchParams.get("code");
  assert.ok(code, `no code in ${url}`);
  return code;
};

/** Signs a browser in to a client and returns the tokens. */
export async function signInToClient(
  t: TestService,
  browser: FormBrowser,
  client: MadeClient,
  more: Record<string, string | null> = {},
) {
  const url = await browser.leave(authorizeUrl(t, client, more));
  const { status, body } = await redeem(t, client, codeOf(url));
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

export const problemOf = ({ status, body }: TokenAnswer): string => `${status} ${body.error}`;
export { left, type Shown, shown };

/** Three clients, a person with a signed-in browser, and what a client does with codes and tokens. */
export async function setupClients(t: TestService) {
  const client = await makeClient(t.systemAdmin);
  const open = await makeClient(t.systemAdmin, { kind: "public" });
  const other = await makeClient(t.systemAdmin, { name: "Other" });
  const { browser, who } = await signedInBrowser(t);
  const userInfo = (token: string) => t.nobody.get("/oauth/userinfo", { authorization: `Bearer ${token}` });
  return {
    client,
    open,
    other,
    browser,
    who,
    newCode: async (by = client, from: FormBrowser = browser, more = {}) =>
      codeOf(await from.leave(authorizeUrl(t, by, more))),
    userInfo,
    isLive: async (token: string) => (await userInfo(token)).status === 200,
  };
}
