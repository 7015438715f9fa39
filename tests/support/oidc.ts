// A real OpenID provider (npm oidc-provider) in this process, and a browser that signs in to it.
import { importJWK, type JWK, SignJWT } from "jose";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { rsaKey } from "./rsa_key.ts";

/** What the provider knows about an account. */
export interface Account {
  email?: string;
  email_verified?: boolean;
  given_name?: string;
  family_name?: string;
  groups?: string[];
}

/** Client and session of a request for authorization. */
interface Asked {
  client?: { clientId: string };
  session?: { accountId?: string; grantIdFor(clientId: string): string | undefined };
}

export type OidcProvider = Awaited<ReturnType<typeof startOidcProvider>>;

export const CLIENT_SECRET = "a-client-secret-of-some-length-0001";

/**
 * Starts a provider on a free port. Its clients: `basic` and `post` with CLIENT_SECRET, named after how they send it,
 * and `public`. The provider does not require PKCE, so only Steward's verifier detects a missing code verifier.
 * @param o.redirectUris redirect URIs that the clients may use
 */
export async function startOidcProvider(o: { redirectUris: string[] }) {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signingKey: JWK = { ...await rsaKey(), kid: "signing", alg: "RS256", use: "sig" };
  const client = {
    redirect_uris: o.redirectUris,
    grant_types: ["authorization_code"],
    response_types: ["code"],
  };
  const accounts = new Map<string, Account>();
  const provider = new Provider(issuer, {
    clients: [
      { client_id: "basic", client_secret: CLIENT_SECRET, ...client },
      {
        client_id: "post",
        client_secret: CLIENT_SECRET,
        token_endpoint_auth_method: "client_secret_post",
        ...client,
      },
      { client_id: "public", token_endpoint_auth_method: "none", ...client },
    ],
    jwks: { keys: [signingKey] },
    pkce: { required: () => false },
    cookies: { keys: ["a key of this test"] },
    features: { devInteractions: { enabled: true } },
    loadExistingGrant: (context: { oidc: Asked }) => grantOf(context.oidc),
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["given_name", "family_name", "groups"],
    },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...accounts.get(id) }),
    }),
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
  });
  /** Nobody is asked for consent. */
  const grantOf = async ({ client, session }: Asked) => {
    const [clientId = "", accountId = ""] = [client?.clientId, session?.accountId];
    const known = session?.grantIdFor(clientId);
    if (known) return await provider.Grant.find(known);
    const grant = new provider.Grant({ clientId, accountId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  };
  const running = {
    issuer,
    /** By login name; a login name that is missing here has no claims but the subject. */
    accounts,
    /** Changes the answer of the token endpoint, as a faulty provider or an attacker would. */
    tamper: null as ((tokens: Record<string, unknown>) => Promise<void> | void) | null,
    /** Signs an ID token with the provider's own key, or with another. */
    async signIdToken(claims: Record<string, unknown>, key: JWK = signingKey) {
      const alg = key.alg ?? "RS256";
      return await new SignJWT(claims).setProtectedHeader({ alg, kid: "signing" }).sign(
        await importJWK(key, alg),
      );
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  provider.use(
    async (context: { path: string; body: Record<string, unknown> }, next: () => Promise<void>) => {
      await next();
      if (context.path === "/token" && context.body?.id_token) await running.tamper?.(context.body);
    },
  );
  server.on("request", provider.callback());
  return running;
}

/** A browser with cookies that signs in with the provider's forms and stops when it is sent back to Steward. */
export class Browser {
  /** @param proxied public base URLs and where a reverse proxy in front of them sends requests. */
  constructor(private readonly proxied: Record<string, string> = {}) {}

  #cookies: { origin: string; path: string; name: string; value: string }[] = [];

  /** Requests one page with GET or POST, without following redirects. */
  async visit(url: string, form?: Record<string, string>): Promise<Response> {
    const { origin, pathname } = new URL(url);
    const cookie = this.#cookies
      .filter((c) =>
        c.origin === origin && (pathname === c.path || pathname.startsWith(c.path.replace(/\/?$/, "/")))
      )
      .map(({ name, value }) => `${name}=${value}`).join("; ");
    const [from = "", to = ""] = Object.entries(this.proxied).find(([base]) => url.startsWith(base)) ?? [];
    const response = await fetch(to + url.slice(from.length), {
      redirect: "manual",
      headers: cookie ? { cookie } : {},
      ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(/; */);
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      const given = (key: string) =>
        attributes.find((a) => a.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
      const path = given("path") ?? "/";
      this.#cookies = this.#cookies.filter((c) => c.origin !== origin || c.path !== path || c.name !== name);
      const isOver = given("max-age") === "0" || Date.parse(given("expires") ?? "") < Date.now();
      if (value && !isOver) this.#cookies.push({ origin, path, name, value });
    }
    return response;
  }

  /** Signs in as `login`, starting at an authorization URL; returns the URL to which the provider redirects. */
  async signIn(authorizationUrl: string, login: string): Promise<string> {
    const { origin } = new URL(authorizationUrl);
    let response = await this.visit(authorizationUrl);
    let here = authorizationUrl;
    for (let step = 0; step < 12; step++) {
      const location = response.headers.get("location");
      if (location) {
        await response.body?.cancel();
        here = new URL(location, here).href;
        if (new URL(here).origin !== origin) return here;
        response = await this.visit(here);
        continue;
      }
      const html = await response.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(html)?.[1];
      const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1];
      if (!action || !prompt) {
        throw new Error(`the provider answered ${response.status}: ${html.slice(0, 500)}`);
      }
      response = await this.visit(new URL(action, here).href, { prompt, login, password: "any" });
    }
    throw new Error("the provider's forms do not come to an end");
  }
}
