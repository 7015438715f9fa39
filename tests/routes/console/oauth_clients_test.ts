import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { FormBrowser, shown } from "../oauth/browser.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());

Deno.test("an administrator creates a client in the console, whose secret is shown once", async () => {
  const browser = new FormBrowser(t.url);
  const start = await browser.show(`${t.url}/console/sign-in`);
  shown(await browser.signIn(start, "admin@steward.local", "steward-admin-dev"));
  const visit = async (path: string) => {
    const answer = await browser.request(`${t.url}/console/${path}`, { method: "GET" }, "same-site");
    return await answer.text();
  };
  const send = async (path: string, fields: Record<string, string>) => {
    const csrf = /name="csrf" value="([^"]+)"/.exec(await visit("oauth-clients/new"))?.[1] ?? "";
    const body = new URLSearchParams({ csrf, ...fields });
    const init = { method: "POST", body, headers: { origin: t.url } };
    return await browser.request(`${t.url}/console/${path}`, init, "same-site");
  };
  const fields = {
    name: "Orders",
    kind: "confidential",
    redirectUris: "https://app.test/callback\nhttp://127.0.0.1/callback",
    postLogoutRedirectUris: "",
    audience: "https://orders.test",
    scopes: "openid email",
    tokenAlgorithm: "EdDSA",
    firstParty: "true",
  };
  const refused = await send("oauth-clients/new", { ...fields, redirectUris: "http://app.test" });
  assert.match(await refused.text(), /http:\/\/app\.test/, "what was typed stays");
  const made = await (await send("oauth-clients/new", fields)).text();
  const secret = /ocs_[\w-]{43}/.exec(made)?.[0] ?? "";
  assert.ok(secret, made.slice(-2000));
  const id = /oauth-clients\/([0-9a-f-]{36})/.exec(made)?.[1] ?? "";
  const detail = await visit(`oauth-clients/${id}`);
  assert.ok(!detail.includes(secret) && detail.includes("https://app.test/callback"));
  assert.match(await visit("oauth-clients"), /Orders/);
  const rotated = await (await send(`oauth-clients/${id}/rotate`, {})).text();
  assert.match(rotated, /ocs_[\w-]{43}/);
  assert.equal((await send(`oauth-clients/${id}/revoke`, {})).status, 303);
  assert.match(await visit(`oauth-clients/${id}`), /Revoked/);
});
