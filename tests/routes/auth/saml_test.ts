import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { hasOpenssl, makeSamlKey } from "../../support/saml.ts";
import { withToken } from "./people.ts";
import { SamlTest } from "./saml.ts";

const w = hasOpenssl ? await SamlTest.start() : null;
const STATE = "400 OIDC_STATE_INVALID";
const REFUSED = "401 OIDC_REFUSED_UNAUTHORIZED";

const check = (name: string, fn: (w: SamlTest) => Promise<void>) =>
  Deno.test({ name, ignore: !hasOpenssl, fn: async () => await fn(w ?? assert.fail()) });

/** The numbers of users and sessions. */
async function kept({ t }: SamlTest) {
  const [row] = await t.steward.platform.sql`
    select (select count(*) from users)::int as users, (select count(*) from sessions)::int as sessions`;
  return { ...row };
}

const email = ({ domain }: SamlTest) => `${newId()}@${domain}`;

check("a signed answer opens a session that is good in the provider's tenant", async (w) => {
  const { t, admin, domain, answer } = w;
  const flow = await w.begin();
  const nameId = email(w);
  const attributes = { givenName: ["Ana"], sn: ["Souza"], groups: ["one"] };
  const signedInOnce = w.finish(flow, answer(flow.requestId, { nameId, attributes }));
  const { user, tenant, accessToken } = await accepted(signedInOnce);
  assert.deepEqual([user.email, user.firstName, user.lastName], [nameId, "Ana", "Souza"]);
  assert.equal(tenant.id, admin.tenantId);
  await accepted(withToken(t, accessToken).get("/auth/me"));
  const second = await w.begin({ returnTo: "/welcome" });
  const xml = answer(second.requestId, { nameId, attributes: { mail: [`other@${domain}`] } });
  const { status, location } = await w.finish(second, xml);
  const [page, code] = location.split("#code=");
  assert.deepEqual([status, page], [303, "https://steward.test/welcome"]);
  const signedIn = await accepted(t.nobody.post("/api/v1/auth/oidc/exchange", { code }));
  assert.equal(signedIn.user.id, user.id);
});

check("an answer works once, and only in the browser that started the sign-in", async (w) => {
  const { begin, answer, finish, post } = w;
  const flow = await begin();
  const xml = answer(flow.requestId, { nameId: email(w) });
  const { location } = await post(xml);
  const before = await kept(w);
  await refused(STATE, post(xml));
  const stranger = await w.newBrowser().visit(location);
  await refused(STATE, { status: stranger.status, body: await stranger.json() });
  assert.deepEqual(await kept(w), before);
  assert.equal((await flow.browser.visit(location)).status, 200);
  await refused(STATE, post(xml));
  const other = await begin();
  await refused(STATE, finish({ browser: w.newBrowser() }, answer(other.requestId)));
  const unfinished = await begin();
  const early = await unfinished.browser.visit(`${w.at}/finish?state=${unfinished.requestId.slice(1)}`);
  assert.match(await early.text(), /expected an answer of the provider; found none/);
});

check("a bad answer leaves no session and no user, and says what was expected", async (w) => {
  const { begin, answer, finish, post } = w;
  const before = await kept(w);
  const flow = await begin();
  const wrong = await finish(flow, answer(flow.requestId, { audience: "https://other.test" }));
  assert.equal(await outcome(wrong), REFUSED);
  assert.match(wrong.body.detail, /expected the Audience https:.*metadata; found https:\/\/other.test/);
  await refused(STATE, post(answer(flow.requestId)));
  const app = await begin({ returnTo: "/welcome" });
  const forged = answer(app.requestId).replace("<saml:NameID", '<saml:NameID x="y"');
  const { location } = await finish(app, forged);
  assert.equal(location, "https://steward.test/welcome#error=OIDC_REFUSED_UNAUTHORIZED");
  const corrected = await begin();
  await post(answer(corrected.requestId, { recipient: "https://other.test" }));
  await accepted(finish(corrected, answer(corrected.requestId, { nameId: email(w) })));
  const after = await kept(w);
  assert.deepEqual(after, { users: before.users + 1, sessions: before.sessions + 1 });

  await refused(REFUSED, post("<!DOCTYPE x>"));
  await refused(REFUSED, post(answer("").replaceAll(/ InResponseTo=""/g, "")));
  await refused(STATE, post(answer("_unknown")));
  assert.deepEqual(await kept(w), after);
});

check(
  "a disabled provider signs nobody in; a test of it shows what was expected, and keeps nothing",
  async (w) => {
    const { admin, answer, begin, finish, post, at, newBrowser } = w;
    const record = `/api/v1/sign-in-providers/${w.providerId}`;
    const flow = await begin();
    await accepted(admin.post(`${record}/disable`));
    await refused(STATE, post(answer(flow.requestId)));
    assert.equal((await newBrowser().visit(at)).status, 404);
    const before = await kept(w);
    const { url } = await accepted(admin.post(`${record}/test`));
    const test = await begin(Object.fromEntries(new URL(url).searchParams));
    const { body } = await finish(test, answer(test.requestId, { issuer: "https://other.test" }));
    assert.match(body, /would be refused.*Issuer https:\/\/idp.test\/metadata; found https:\/\/other/s);
    const { url: next } = await accepted(admin.post(`${record}/test`));
    const good = await begin(Object.fromEntries(new URL(next).searchParams));
    assert.match((await finish(good, answer(good.requestId, { nameId: email(w) }))).body, /would succeed/);
    assert.deepEqual(await kept(w), before);
    const metadata = await newBrowser().visit(`${at}/metadata`);
    assert.equal(metadata.headers.get("content-type"), "application/samlmetadata+xml");
    assert.match(await metadata.text(), new RegExp(`entityID="${at}/metadata"`));
    assert.equal((await newBrowser().visit(at.replace(w.providerId, newId()) + "/metadata")).status, 404);
    await accepted(admin.post(`${record}/enable`));
  },
);

check("another certificate or entity id of the provider ends what the former one vouched for", async (w) => {
  const { t, admin, answer, begin, finish, post } = w;
  const record = `/api/v1/sign-in-providers/${w.providerId}`;
  const flow = await begin();
  const { accessToken } = await accepted(finish(flow, answer(flow.requestId, { nameId: email(w) })));
  const open = await begin();
  const { certificate } = await makeSamlKey();
  await accepted(admin.put(record, { certificates: [{ pem: certificate }] }));
  await refused("401 TOKEN_REVOKED", withToken(t, accessToken).get("/auth/me"));
  await refused(STATE, post(answer(open.requestId)));
  const later = await begin();
  await refused(REFUSED, finish(later, answer(later.requestId)));
  await refused("400 VALIDATION_ERROR", admin.put(record, { metadata: "<x/>" }));
  await accepted(admin.put(record, { certificates: [{ pem: certificate }, { pem: w.key.certificate }] }));
});
