// Clients that nobody here wrote sign in, configured by discovery alone. Those that are not installed are skipped.
import assert from "node:assert/strict";
import { join } from "node:path";
import * as oauth from "oauth4webapi";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { FormBrowser, shown } from "./browser.ts";
import { makeClient, signedInBrowser } from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { systemAdmin } = t;

Deno.test("oauth4webapi signs in as a public client of a native app, with a port that nobody registered", async () => {
  const made = await makeClient(systemAdmin, {
    kind: "public",
    redirectUris: ["http://127.0.0.1/cb"],
    tokenAlgorithm: "RS256",
  });
  const { browser, who } = await signedInBrowser(t);
  const options = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(t.url);
  for (const algorithm of ["oidc", "oauth2"] as const) {
    const discovered = await oauth.discoveryRequest(issuer, { algorithm, ...options });
    const as = await oauth.processDiscoveryResponse(issuer, discovered);
    const client: oauth.Client = { client_id: made.clientId };
    const verifier = oauth.generateRandomCodeVerifier();
    const redirectUri = "http://127.0.0.1:49152/cb";
    const url = new URL(as.authorization_endpoint ?? "");
    const asked = new URLSearchParams({
      client_id: made.clientId,
      redirect_uri: redirectUri,
      response_type: "code",
      scope: "openid email",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state: "s",
    });
    url.search = String(asked);
    const answer = oauth.validateAuthResponse(as, client, await browser.leave(url), "s");
    const [none, grant] = [oauth.None(), oauth.authorizationCodeGrantRequest];
    const response = await grant(as, client, none, answer, redirectUri, verifier, options);
    const required = { requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, required);
    assert.equal(oauth.getValidatedIdTokenClaims(tokens)?.sub, who.id);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const request = new Request("https://api.test/", { headers });
    const claims = await oauth.validateJwtAccessToken(as, request, made.audience, options);
    assert.equal(claims.client_id, made.clientId);
    const info = await oauth.userInfoRequest(as, client, tokens.access_token, options);
    assert.equal((await oauth.processUserInfoResponse(as, client, who.id, info)).email, who.email);
  }
});

const here = (name: string) => new URL(`clients/${name}`, import.meta.url).pathname;
const works = (command: string, args: string[]): boolean => {
  try {
    return new Deno.Command(command, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false; // not installed
  }
};

/** The Python that has the packages; Debian's own may not be the first one in the path. */
const python = ["python3", "/usr/bin/python3"].find((command) =>
  works(command, ["-c", "import authlib, flask, requests"])
);

/** A free port. Another process may take it before the program does; then the test fails. */
function freePort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** Runs a program until `work` ends, which starts when the program listens. */
async function running(
  command: string,
  args: string[],
  port: number,
  work: () => Promise<void>,
): Promise<void> {
  const child = new Deno.Command(command, { args, stdout: "null", stderr: "piped" }).spawn();
  const errors = new Response(child.stderr).text();
  try {
    await until(async () => {
      const connection = await Deno.connect({ port, hostname: "127.0.0.1" }).catch(() => null);
      connection?.close();
      return connection !== null;
    });
    await work();
  } catch (error) {
    child.kill();
    throw new Error(`${command} ${args.at(-1)}: ${(await errors).slice(-3000)}`, { cause: error });
  } finally {
    try {
      child.kill();
    } catch { /* it has ended */ }
    await child.status;
    await errors;
  }
}

/** Signs in on the hosted page that the program leads to, allows it, and returns the page it ends on. */
async function signInThrough(program: string, path: string) {
  const who = await person(t);
  const browser = new FormBrowser(t.url, program);
  const page = await browser.show(program + path);
  const question = shown(await browser.signIn(page, who.email, PASSWORD));
  assert.match(question.html, /Allow Orders/);
  return { who, browser, page: shown(await browser.submit(question, "allowed")) };
}

Deno.test({
  name: "Python's Authlib signs in",
  ignore: !python,
  async fn() {
    const port = freePort();
    const program = `http://127.0.0.1:${port}`;
    const made = await makeClient(systemAdmin, { firstParty: false, redirectUris: [`${program}/callback`] });
    const args = [here("authlib_client.py"), t.url, made.clientId, made.secret ?? "", String(port)];
    await running(python ?? "", args, port, async () => {
      const { who, page } = await signInThrough(program, "/login");
      assert.equal(page.status, 200, page.html);
      const { claims, user, refresh } = JSON.parse(page.html);
      assert.deepEqual([claims.sub, user.email], [who.id, who.email]);
      assert.match(refresh, /^ocr_/);
    });
  },
});

Deno.test("Express signs in with express-openid-connect, and out", async () => {
  const port = freePort();
  const program = `http://127.0.0.1:${port}`;
  const made = await makeClient(systemAdmin, {
    firstParty: false,
    redirectUris: [`${program}/callback`],
    postLogoutRedirectUris: [program],
  });
  const config = here("express/deno.json"); // its packages are not those of the service
  const given = [t.url, made.clientId, made.secret ?? "", String(port)];
  const script = ["run", "--frozen", "--config", config, "-A", here("express/client.mjs"), ...given];
  await running(Deno.execPath(), script, port, async () => {
    const { who, page, browser } = await signInThrough(program, "/");
    const { claims, user } = JSON.parse(page.html);
    assert.deepEqual([claims.sub, claims.tenant_id, user.email], [who.id, who.tenantId, who.email]);
    const out = await browser.show(`${program}/logout`);
    assert.match(
      out.html,
      /name="password"/,
      "signed out at both, so the program leads to the sign-in page again",
    );
  });
});

const MODULES = "/usr/lib/apache2/modules";
const hasApache = works("test", ["-f", `${MODULES}/mod_auth_openidc.so`]) &&
  works("/usr/sbin/apache2", ["-v"]);

Deno.test({
  name: "Apache's mod_auth_openidc signs in and passes the user on",
  ignore: !hasApache,
  async fn() {
    const port = freePort();
    const program = `http://127.0.0.1:${port}`;
    const made = await makeClient(systemAdmin, {
      firstParty: false,
      redirectUris: [`${program}/private/redirect`],
    });
    const dir = await Deno.makeTempDir({ prefix: "steward-test-" });
    await Deno.mkdir(join(dir, "www/private"), { recursive: true });
    await Deno.writeTextFile(
      join(dir, "www/private/index.shtml"),
      '<!--#echo var="REMOTE_USER" --> <!--#echo var="OIDC_CLAIM_email" -->',
    );
    const names = "mpm_event authn_core authz_core authz_user dir mime include auth_openidc".split(" ");
    const modules = names.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join("\n");
    const config = join(dir, "apache.conf");
    await Deno.writeTextFile(
      config,
      `ServerRoot ${dir}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${dir}/pid
ErrorLog /dev/stderr
Mutex file:${dir} default
${modules}
TypesConfig /dev/null
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
DocumentRoot ${dir}/www
OIDCProviderMetadataURL ${t.url}/.well-known/openid-configuration
OIDCClientID ${made.clientId}
OIDCClientSecret ${made.secret}
OIDCRedirectURI ${program}/private/redirect
OIDCCryptoPassphrase ${crypto.randomUUID()}
OIDCScope "openid profile email"
OIDCPKCEMethod S256
OIDCRemoteUserClaim sub
<Location /private>
  Options +Includes
  AuthType openid-connect
  Require valid-user
</Location>
<Directory ${dir}/www>
  DirectoryIndex index.shtml
</Directory>
`,
    );
    try {
      const started = ["-f", config, "-X"];
      await running("/usr/sbin/apache2", started, port, async () => {
        const { who, page } = await signInThrough(program, "/private/");
        assert.equal(page.html.trim(), `${who.id} ${who.email}`);
      });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
