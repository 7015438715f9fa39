import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { PASSWORD, type Person, person } from "../auth/people.ts";
import { FormBrowser } from "./browser.ts";

export const CALLBACK = "https://app.test/callback";

/** A client as its maker got it. */
export interface MadeClient {
  id: string;
  clientId: string;
  secret: string | null;
  audience: string;
}

/** Creates a client that asks no consent, unless `more` says otherwise. */
export const makeClient = (by: Actor, more: Record<string, unknown> = {}): Promise<MadeClient> =>
  accepted(
    by.post("/api/v1/oauth-clients", {
      name: "Orders",
      kind: "confidential",
      redirectUris: [CALLBACK],
      audience: `https://orders.test/${crypto.randomUUID()}`,
      firstParty: true,
      ...more,
    }),
    201,
  );

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

/** A browser that signed in to the console. */
export async function browserOf(t: TestService, email: string, password = PASSWORD): Promise<FormBrowser> {
  const browser = new FormBrowser(t.url);
  const body = new URLSearchParams({ email, password, do: "sign-in" });
  const headers = { origin: t.url, "sec-fetch-site": "same-origin" };
  const init = { method: "POST", body, headers };
  const answer = await browser.request(`${t.url}/console/sign-in`, init, "same-site");
  await answer.body?.cancel();
  assert.equal(answer.status, 303);
  return browser;
}

/** A person with a browser that is signed in to the console. */
export async function signedInBrowser(
  t: TestService,
  o: Parameters<typeof person>[1] = {},
): Promise<{ browser: FormBrowser; who: Person }> {
  const who = await person(t, o);
  return { browser: await browserOf(t, who.email), who };
}

/** Sends a form to a route of the provider. */
export async function postForm(
  t: TestService,
  path: string,
  fields: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
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
): Promise<HttpAnswer> =>
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
): Promise<HttpAnswer> =>
  askTokens(t, client, {
    grant_type: "authorization_code",
    code,
    redirect_uri: CALLBACK,
    code_verifier: "v".repeat(43),
    ...more,
  });

export const refresh = (
  t: TestService,
  client: Pick<MadeClient, "clientId" | "secret">,
  refreshToken: string,
  more: Record<string, string> = {},
): Promise<HttpAnswer> =>
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
  return await accepted(redeem(t, client, codeOf(url)), 200);
}

export const errorOf = (url: URL): string | null => url.searchParams.get("error");
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
