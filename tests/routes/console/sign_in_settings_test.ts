import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { makeSamlKey } from "../../support/saml.ts";
import { browseAt, PlainBrowser } from "./plain_browser.ts";

const t = await setupShared();

Deno.test("an administrator sets who may join the tenant by themselves", async () => {
  const admin = await t.actor({ permissions: ["read:tenants", "update:tenants", "read:roles"] });
  const browser = await browseAt(t, admin, "tenants");
  await browser.follow("Registration");
  const wrong = await browser.press("Save", { "Who may join": "domain" });
  assert.equal(wrong.shows("expected at least one domain in mode domain").status, 400);
  await browser.press("Save", {
    "Who may join": "domain",
    "Email domains": "Example.com\nexample.org",
    "Role of new users": admin.roleId ?? "",
  });
  browser.page.shows("The registration settings were saved.", "example.com example.org");
  const { mode, domains } = (await admin.get("/api/v1/registration-settings")).body;
  assert.deepEqual([mode, domains], ["domain", ["example.com", "example.org"]]);
});

Deno.test("the directory page shows where a directory connects, and maps its groups to roles", async () => {
  const browser = await browseAt(t, await t.actor({ role: "Admin" }), "tenants/directory");
  browser.page.shows(`${t.url}/scim/v2`);
  await browser.follow("Edit", "Visitor");
  await browser.press("Save", {
    "Group in the directory": "SG-Readers",
    "The directory sees this role": false,
  });
  browser.page.shows("The group was saved.", "SG-Readers Hidden");
});

const NEW_OIDC = {
  Name: "Acme Entra",
  Issuer: "https://login.acme.example",
  "Client ID": "steward",
};

Deno.test("an identity provider is created, shown with the addresses to copy, changed, enabled and deleted", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: ["manage:sign-in"] }), "tenants/sign-in");
  await browser.follow("New OpenID Connect provider");
  const made = await browser.press("Create the provider", NEW_OIDC);
  const id = made.address.split("/").at(-1);
  made.shows("The provider was created.", `${t.url}/api/v1/auth/oidc/${id}/callback`, "Status Disabled");
  await browser.follow("Edit");
  await browser.press("Save", { "First name": "given", "Client ID": "other" });
  browser.page.shows("The provider was saved.", "Client ID other", "First name given");
  const { html } = await browser.submit(`tenants/sign-in/providers/${id}/test`);
  assert.ok(html.includes(`url=../api/v1/auth/oidc/${id}?test=`), html);
  (await browser.press("Enable")).shows("The provider is enabled.", "Status Enabled");
  (await browser.press("Disable")).shows("The provider is disabled.");
  (await browser.press("Delete")).shows("The provider was deleted.", "No identity provider yet");
});

const { certificate } = await makeSamlKey();
const METADATA = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:acme">
<IDPSSODescriptor><KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
<X509Certificate>${certificate.replaceAll(/-----[A-Z ]+-----/g, "")}</X509Certificate>
</X509Data></KeyInfo></KeyDescriptor>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://acme.example/sso"/>
</IDPSSODescriptor></EntityDescriptor>`;

Deno.test("a SAML provider is created with what is known, and completed by pasted metadata", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: ["manage:sign-in"] }), "tenants/sign-in");
  await browser.follow("New SAML provider");
  const made = await browser.press("Create the provider", { Name: "Acme" });
  const id = made.address.split("/").at(-1);
  made.shows(`Reply URL (ACS) ${t.url}/api/v1/auth/saml/${id}/acs`);
  assert.ok(!made.offers.some((name) => ["Enable", "Test the sign-in"].includes(name)));
  await browser.follow("Edit");
  await browser.press("Save", { "Metadata of the provider (XML)": METADATA });
  browser.page.shows("The provider was saved.", "Entity ID of the provider urn:acme", "expires");
  (await browser.press("Enable")).shows("The provider is enabled.");
});

Deno.test("an email domain is added, and shown with its DNS record until it is deleted", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: ["manage:sign-in"] }), "tenants/sign-in");
  await browser.press("Add a domain", { Domain: "Acme.example" });
  browser.page.shows("The domain was added.", "acme.example Waiting _steward-sign-in.acme.example");
  (await browser.press("Delete")).shows("The domain was deleted.", "No domain yet");
});

Deno.test("break-glass users are chosen by email; sign-in by password stays until a provider has been used", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in", "read:users"] });
  const browser = await browseAt(t, admin, "tenants/sign-in");
  (await browser.press("Add a break-glass user", { Email: "nobody@example.test" })).shows(
    "No user of this tenant has the email nobody@example.test.",
  );
  const { email } = (await admin.get("/api/v1/auth/me")).body.user;
  (await browser.press("Add a break-glass user", { Email: email })).shows("The sign-in settings were saved.");
  const ids = async () => (await admin.get("/api/v1/sign-in-settings")).body.breakGlassUserIds;
  assert.deepEqual(await ids(), [admin.userId]);
  (await browser.press("Switch off")).shows("PASSWORD_SIGN_IN_NEEDED_CONFLICT");
  await browser.press("Remove");
  assert.deepEqual(await ids(), []);
});

/** A browser without a session that has opened a set-up link. */
async function setUp(url: string): Promise<PlainBrowser> {
  const browser = new PlainBrowser(t);
  const [, token = ""] = /#token=(su_.+)$/.exec(url) ?? [];
  await browser.visit("set-up");
  await browser.send("set-up/open", [["token", token]]);
  await browser.visit("set-up");
  return browser;
}

Deno.test("a set-up link opens the pages of one tenant's providers and domains, and no others, until it is revoked", async () => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const console = await browseAt(t, admin, "tenants/sign-in");
  const shown = await console.press("New set-up link");
  const url = shown.all("button", ({ attribs }) => "data-copy" in attribs)[0]?.attribs["data-copy"] ?? "";
  const browser = await setUp(url);
  browser.page.shows("Set up sign-in", "No identity provider yet");
  assert.ok(!browser.page.offers.some((name) => ["New set-up link", "Switch off"].includes(name)));
  await browser.press("Add a domain", { Domain: "acme.example" });
  browser.page.shows("The domain was added.");
  assert.equal((await browser.send("set-up", [["name", "b.example"]])).status, 403, "without its token");
  await browser.follow("New OpenID Connect provider");
  (await browser.press("Create the provider", NEW_OIDC)).shows("The provider was created.");
  assert.equal((await admin.get("/api/v1/sign-in-providers")).body.totalCount, 1);
  (await browser.visit(`set-up/providers/${crypto.randomUUID()}`)).shows("Not found");
  assert.equal((await browser.open("tenants/sign-in")).location, "/console/sign-in?to=tenants%2Fsign-in");
  const other = await setUp(url.replace(/su_.*/, "su_unknown"));
  assert.equal(other.page.shows("This link does not work any more.").status, 401);
  await console.visit("tenants/sign-in");
  (await console.press("Revoke")).shows("The link was revoked.");
  (await browser.visit("set-up")).shows("This link does not work any more.");
});
