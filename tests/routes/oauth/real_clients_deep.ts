// Clients that nobody here wrote sign in, configured by discovery alone. Those that are not installed are skipped.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { FormBrowser, shown } from "./browser.ts";
import { makeClient } from "./flow.ts";

const t = await setupShared();
const { systemAdmin } = t;

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
