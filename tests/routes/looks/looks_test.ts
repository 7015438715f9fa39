import assert from "node:assert/strict";
import { readLooks } from "../../../domain/looks/looks.ts";
import { jpegImage, pngImage } from "../../support/images.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared({}, { inThisProcess: true });
const ofService = {
  PRODUCT_NAME: "Orders",
  PRIMARY_COLOUR: "#ffdd00",
  MAIL_FROM: "Shop <shop@steward.test>",
};
Deno.test.afterAll(t.replace(({ config }) => config, ofService));
const { platform } = t.steward;

const path = "/api/v1/tenant-looks";
const manager = () => t.actor({ permissions: ["manage:settings"] });
const setLogo = (by: Actor, content: unknown, type = "image/png") =>
  by.put(`${path}/logo`, content, { "content-type": type });
const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("a tenant without looks has those of the configuration, and any member reads them", async () => {
  const { body, headers } = await (await t.actor()).get(path);
  assert.equal(headers.get("etag"), `"0"`);
  const { effective, ...own } = body;
  const members = ["productName", "primaryColour", "textColour", "footer", "replyTo", "logo"];
  assert.deepEqual(own, Object.fromEntries(members.map((name) => [name, null])));
  assert.deepEqual(effective, {
    productName: "Orders",
    primaryColour: "#ffdd00",
    textColour: "#000000",
    footer: "",
    replyTo: null,
    senderName: "Shop",
    senderAddress: "shop@steward.test",
  });
});

Deno.test("looks are changed member by member, null restores the configuration, and every instance reads them at once", async () => {
  const by = await manager();
  for (const { platform } of t.instances) await readLooks(platform, by.tenantId);
  const put = (change: object) => accepted(by.put(path, change));
  const first = await put({ productName: "Northwind", primaryColour: "#0B5FFF", footer: "Lisbon\nPorto" });
  assert.deepEqual([first.primaryColour, first.effective.textColour], ["#0b5fff", "#ffffff"]);
  const second = await put({ productName: null, replyTo: "help@northwind.example" });
  assert.deepEqual([second.productName, second.footer], [null, "Lisbon\nPorto"]);
  for (const { platform } of t.instances) {
    const { productName, primaryColour, replyTo } = await readLooks(platform, by.tenantId);
    assert.deepEqual([productName, primaryColour, replyTo], ["Orders", "#0b5fff", "help@northwind.example"]);
  }
});

Deno.test("a text colour that is hard to read on the primary colour is refused", async () => {
  const by = await manager();
  const put = (primaryColour: string, textColour?: string) => by.put(path, { primaryColour, textColour });
  const answer = await put("#ffdd00", "#ffffff");
  await refused("400 VALIDATION_ERROR", answer);
  const [mistake] = answer.body.errors.textColour;
  assert.match(mistake, /#ffffff on #ffdd00 has a contrast of 1\.3:1; expected at least 4\.5:1/);
  await accepted(put("#004400", "#ffffff"));
  await refused("400 VALIDATION_ERROR", put("#ffdd00")); // the stored text colour counts too
  assert.equal((await accepted(by.get(path))).primaryColour, "#004400");
});

Deno.test("looks that could change a page or a mail are refused", async () => {
  const by = await manager();
  const wrong = [
    { replyTo: "a@b.example\r\nBcc: c@d.example" },
    { footer: "\u001b[31mred" }, // no control characters but tabs and line breaks
  ];
  for (const change of wrong) {
    assert.deepEqual(Object.keys((await by.put(path, change)).body.errors), Object.keys(change));
  }
});

Deno.test("looks and logo have one version; the audit log has no content of the logo", async () => {
  const by = await manager();
  const both = ["A", "B"].map((productName) => outcome(by.put(path, { productName }, { "if-match": `"0"` })));
  assert.deepEqual((await Promise.all(both)).sort(), ["200", "412 PRECONDITION_FAILED"]);
  const headers = { "content-type": "image/png", "if-match": `"1"` };
  await accepted(by.put(`${path}/logo`, pngImage(3, 2), headers));
  await refused("412 PRECONDITION_FAILED", by.delete(`${path}/logo`, { "if-match": `"1"` }));
  const [row] = await platform.sql`
    select after from audit_log where target_id = ${by.tenantId} and action = 'tenant-looks.set-logo'`;
  assert.deepEqual(Object.keys(row?.after.logo).sort(), ["contentType", "height", "tag", "width"]);
});

Deno.test("a logo is public at a URL that changes with its content", async () => {
  const by = await manager();
  const png = pngImage(40, 20);
  const { logo: { url, ...facts } } = await accepted(setLogo(by, png), 200);
  assert.deepEqual(facts, { contentType: "image/png", width: 40, height: 20 });
  const shown = await fetch(url);
  assert.equal(shown.status, 200);
  assert.deepEqual(new Uint8Array(await shown.arrayBuffer()), png);
  const expected = {
    "content-type": "image/png",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(shown.headers.get(name), value);
  const { logo: jpeg } = await accepted(setLogo(by, jpegImage(), "image/jpeg"));
  assert.equal(jpeg.width, 8);
  assert.notEqual(jpeg.url, url);
  const older = await fetch(url); // an old URL shows the new logo, for a short time
  await older.body?.cancel();
  assert.equal(older.headers.get("cache-control"), "public, max-age=300");
  assert.equal(older.headers.get("content-type"), "image/jpeg");
  const looks = await readLooks(platform, by.tenantId);
  assert.deepEqual(Uint8Array.from(looks.logo?.content ?? []), jpegImage());
  const remove = () => by.delete(`${path}/logo`);
  assert.equal((await accepted(remove())).logo, null);
  await refused("404 TENANT_LOGO_NOT_FOUND", remove(), t.nobody.get(url.slice(t.url.length)));
});

Deno.test("the public URL of a logo says nothing about which tenants exist", async () => {
  const [without, absent] = [(await manager()).tenantId, crypto.randomUUID()];
  const answers = await Promise.all([without, absent].map((id) => t.nobody.get(`/looks/${id}/logo`)));
  await refused("404 TENANT_LOGO_NOT_FOUND", ...answers);
  const [one, other] = answers.map(({ body: { traceId: _, instance: __, ...rest } }) => rest);
  assert.deepEqual(one, other);
});

Deno.test("a logo must be a whole PNG or JPEG image within the limits", async () => {
  const by = await manager();
  const [png, jpeg] = [pngImage(10, 10), jpegImage()];
  const changed = png.with(50, (png[50] ?? 0) ^ 1);
  const wrong: [expected: RegExp, contents: Uint8Array[]][] = [
    [/neither PNG nor JPEG/, [bytes("<svg xmlns='http://www.w3.org/2000/svg'/>"), new Uint8Array()]],
    [/damaged or incomplete/, [png.slice(0, -1), png.slice(0, 20), changed]],
    [/damaged or incomplete/, [new Uint8Array([...png, ...bytes("<script>")])]],
    [/damaged or incomplete/, [jpeg.slice(0, -2), jpeg.slice(0, 30), jpeg.slice(0, 4)]],
    [/2001 x 1 pixels/, [pngImage(2_001, 1)]],
    [/0 x 1 pixels/, [pngImage(0, 1)]],
    [/interlaced/, [pngImage(10, 10, { interlaced: true })]],
  ];
  for (const [expected, contents] of wrong) {
    for (const content of contents) assert.match((await setLogo(by, content)).body.errors?.body[0], expected);
  }
  await refused("413 BODY_TOO_LARGE", setLogo(by, new Uint8Array(256 * 1024 + 1)));
  await refused("415 UNSUPPORTED_MEDIA_TYPE", setLogo(by, png, "image/svg+xml"));
  assert.equal((await accepted(by.get(path))).logo, null);
  const { logo } = await accepted(setLogo(by, jpeg, "image/png"));
  assert.equal(logo.contentType, "image/jpeg", "the bytes decide");
});
