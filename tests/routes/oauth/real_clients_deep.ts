// A client that nobody here wrote signs in, configured by discovery alone. It is skipped if it is not installed.
import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { FormBrowser, shown } from "./browser.ts";
import { makeClient } from "./flow.ts";

const t = await setupShared();

/** The Python that has the packages; Debian's own may not be the first one in the path. */
const python = ["python3", "/usr/bin/python3"].find((command) => {
  const args = ["-c", "import authlib, flask, requests"];
  try {
    return new Deno.Command(command, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false; // not installed
  }
});

/** A free port. Another process may take it before the program does; then the test fails. */
function freePort(): number {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return listener.addr.port;
}

Deno.test({
  name: "Python's Authlib signs in",
  ignore: !python,
  async fn() {
    const port = freePort();
    const program = `http://127.0.0.1:${port}`;
    const redirectUris = [`${program}/callback`];
    const made = await makeClient(t.systemAdmin, { firstParty: false, redirectUris });
    const script = new URL("clients/authlib_client.py", import.meta.url).pathname;
    const args = [script, t.url, made.clientId, made.secret ?? "", String(port)];
    const child = new Deno.Command(python ?? "", { args, stdout: "null", stderr: "piped" }).spawn();
    const errors = new Response(child.stderr).text();
    try {
      await until(async () => {
        const connection = await Deno.connect({ port, hostname: "127.0.0.1" }).catch(() => null);
        connection?.close();
        return connection !== null;
      });
      const who = await person(t);
      const browser = new FormBrowser(t.url, program);
      const signInPage = await browser.show(`${program}/login`);
      const question = shown(await browser.signIn(signInPage, who.email, PASSWORD));
      assert.match(question.html, /Allow Orders/);
      const { status, html } = shown(await browser.submit(question, "allowed"));
      assert.equal(status, 200, html);
      const { claims, user, refresh } = JSON.parse(html);
      assert.deepEqual([claims.sub, user.email], [who.id, who.email]);
      assert.match(refresh, /^ocr_/);
    } finally {
      child.kill();
      await child.status;
      await errors;
    }
  },
});
