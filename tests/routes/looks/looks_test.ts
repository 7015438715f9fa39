import assert from "node:assert/strict";
import { readLooks } from "../../../domain/looks/looks.ts";
import { jpegImage, pngImage } from "../../support/images.ts";
import { type Actor, setup } from "../../support/setup.ts";

const t = await setup({
  PRODUCT_NAME: "Orders",
  PRIMARY_COLOUR: "#FFDD00",
  MAIL_FROM: "Shop <shop@steward.test>",
});
Deno.test.afterAll(() => t.stop());

const path = "/api/v1/tenant-looks";
const manager = () => t.actor({ permissions: ["manage:settings"] });
const setLogo = (by: Actor, content: unknown, type = "image/png", headers = {}) =>
  by.put(`${path}/logo`, content, { "content-type": type, ...headers });
/** Path and query of a logo's public URL. */
const pathOf = (url: string) => url.slice(t.url.length);

Deno.test("a tenant without looks has those of the configuration, and any member reads them", async () => {
  const member = await t.actor({ permissions: [] });
  const { status, body, headers } = await member.get(path);
  assert.equal(status, 200);
  assert.equal(headers.get("etag"), `"0"`);
  assert.deepEqual(body, {
    productName: null,
    primaryColour: null,
    textColour: null,
    footer: null,
    replyTo: null,
    logo: null,
    effective: {
      productName: "Orders",
      primaryColour: "#ffdd00",
      textColour: "#000000",
      footer: "",
      replyTo: null,
      senderName: "Shop",
      senderAddress: "shop@steward.test",
    },
  });
});

Deno.test("looks are changed member by member, and null restores the configuration", async () => {
  const by = await manager();
  const first = await by.put(path, {
    productName: "Northwind",
    primaryColour: "#0B5FFF",
    footer: "Lisbon\nPorto",
  });
  assert.equal(first.status, 200);
  assert.equal(first.headers.get("etag"), `"1"`);
  assert.equal(first.body.primaryColour, "#0b5fff");
  assert.equal(first.body.effective.textColour, "#ffffff");
  const second = await by.put(path, { productName: null, replyTo: "help@northwind.example" });
  assert.equal(second.body.productName, null);
  assert.equal(second.body.footer, "Lisbon\nPorto");
  const looks = await readLooks(t.steward.platform, by.tenantId);
  assert.equal(looks.productName, "Orders");
  assert.equal(looks.primaryColour, "#0b5fff");
  assert.equal(looks.replyTo, "help@northwind.example");
});

Deno.test("every instance reads the change of looks at once", async () => {
  const by = await manager();
  for (const { platform } of t.instances) await readLooks(platform, by.tenantId);
  await by.put(path, { productName: "Changed" });
  for (const { platform } of t.instances) {
    assert.equal((await readLooks(platform, by.tenantId)).productName, "Changed");
  }
});

Deno.test("a text colour that is hard to read on the primary colour is refused", async () => {
  const by = await manager();
  const refused = await by.put(path, { primaryColour: "#ffdd00", textColour: "#ffffff" });
  assert.equal(refused.body.code, "VALIDATION_ERROR");
  assert.match(
    refused.body.errors.textColour[0],
    /#ffffff on #ffdd00 has a contrast of 1\.3:1; expected at least 4\.5:1/,
  );
  assert.equal((await by.put(path, { primaryColour: "#004400", textColour: "#ffffff" })).status, 200);
  const later = await by.put(path, { primaryColour: "#ffdd00" });
  assert.equal(later.body.code, "VALIDATION_ERROR", "the stored text colour counts too");
  assert.equal((await by.get(path)).body.primaryColour, "#004400");
});

Deno.test("malformed looks are refused by member", async () => {
  const by = await manager();
  const given = {
    productName: " ",
    primaryColour: "red; background: url(x)",
    textColour: "#fff",
    footer: "x".repeat(1_001),
    replyTo: "a@b.example\r\nBcc: c@d.example",
  };
  const { status, body } = await by.put(path, given);
  assert.equal(status, 400);
  assert.deepEqual(Object.keys(body.errors).sort(), Object.keys(given).sort());
  const escape = await by.put(path, { footer: "\u001b[31mred" });
  assert.deepEqual(
    Object.keys(escape.body.errors),
    ["footer"],
    "no control characters but tabs and line breaks",
  );
});

Deno.test("only manage:settings changes looks, and only with a tenant", async () => {
  const member = await t.actor({ permissions: ["read:users"] });
  assert.equal((await member.put(path, { productName: "X" })).body.code, "MISSING_PERMISSION");
  assert.equal((await setLogo(member, pngImage(2, 2))).body.code, "MISSING_PERMISSION");
  assert.equal((await member.delete(`${path}/logo`)).body.code, "MISSING_PERMISSION");
  assert.equal((await t.nobody.get(path)).body.code, "TOKEN_MISSING");
  const global = await t.actor({ permissions: ["manage:settings"], global: true });
  assert.equal((await global.get(path)).body.code, "FORBIDDEN");
});

Deno.test("If-Match protects looks and logo from lost changes", async () => {
  const by = await manager();
  const both = await Promise.all(
    ["A", "B"].map((productName) => by.put(path, { productName }, { "if-match": `"0"` })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
  assert.equal(
    (await setLogo(by, pngImage(2, 2), "image/png", { "if-match": `"0"` })).body.code,
    "PRECONDITION_FAILED",
  );
  assert.equal((await setLogo(by, pngImage(2, 2), "image/png", { "if-match": `"1"` })).status, 200);
  assert.equal((await by.delete(`${path}/logo`, { "if-match": `"1"` })).body.code, "PRECONDITION_FAILED");
});

Deno.test("changes of looks are audited without the content of the logo", async () => {
  const by = await manager();
  await by.put(path, { productName: "Audited" });
  await setLogo(by, pngImage(3, 2));
  await by.delete(`${path}/logo`);
  const rows = await t.steward.platform.sql`
    select action, actor_id, before, after from audit_log where target_id = ${by.tenantId}
      and target_type = 'tenant-looks' order by id`;
  assert.deepEqual(rows.map(({ action }) => action), [
    "tenant-looks.update",
    "tenant-looks.set-logo",
    "tenant-looks.remove-logo",
  ]);
  assert.equal(rows[0]?.after.productName, "Audited");
  assert.equal(rows[1]?.actorId, by.userId);
  assert.deepEqual(Object.keys(rows[1]?.after.logo).sort(), ["contentType", "height", "tag", "width"]);
});

Deno.test("a logo is public at a URL that changes with its content", async () => {
  const by = await manager();
  const png = pngImage(40, 20);
  const { status, body } = await setLogo(by, png);
  assert.equal(status, 200);
  const { url, ...facts } = body.logo;
  assert.deepEqual(facts, { contentType: "image/png", width: 40, height: 20 });
  const shown = await fetch(url);
  assert.equal(shown.status, 200);
  assert.deepEqual(new Uint8Array(await shown.arrayBuffer()), png);
  assert.equal(shown.headers.get("content-type"), "image/png");
  assert.equal(shown.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(shown.headers.get("x-content-type-options"), "nosniff");
  assert.equal(shown.headers.get("cross-origin-resource-policy"), "cross-origin");
  const jpeg = await setLogo(by, jpegImage(), "image/jpeg");
  assert.deepEqual(jpeg.body.logo.width, 8);
  assert.notEqual(jpeg.body.logo.url, url);
  const older = await fetch(url);
  assert.equal(
    older.headers.get("cache-control"),
    "public, max-age=300",
    "an old URL shows the new logo, for a short time",
  );
  assert.equal(older.headers.get("content-type"), "image/jpeg");
  await older.body?.cancel();
  const looks = await readLooks(t.steward.platform, by.tenantId);
  assert.deepEqual(Uint8Array.from(looks.logo?.content ?? []), jpegImage());
  assert.equal((await by.delete(`${path}/logo`)).body.logo, null);
  assert.equal((await by.delete(`${path}/logo`)).body.code, "TENANT_LOGO_NOT_FOUND");
  assert.equal((await t.nobody.get(pathOf(url))).status, 404);
});

Deno.test("the public URL of a logo says nothing about which tenants exist", async () => {
  const [without, absent] = [(await manager()).tenantId, crypto.randomUUID()];
  const answers = await Promise.all([without, absent].map((id) => t.nobody.get(`/looks/${id}/logo`)));
  const [one, other] = answers.map(({ body: { traceId: _, instance: __, ...rest } }) => rest);
  assert.deepEqual(one, other);
  assert.equal(one.code, "TENANT_LOGO_NOT_FOUND");
  assert.equal((await t.nobody.get("/looks/x/logo")).body.code, "VALIDATION_ERROR");
});

Deno.test("a logo must be a whole PNG or JPEG image within the limits", async () => {
  const by = await manager();
  const changed = (content: Uint8Array, at: number) => {
    const copy = content.slice();
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };
  const png = pngImage(10, 10);
  const jpeg = jpegImage();
  const wrong: [content: Uint8Array, expected: RegExp][] = [
    [
      new TextEncoder().encode("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"),
      /neither PNG nor JPEG/,
    ],
    [new Uint8Array(), /neither PNG nor JPEG/],
    [png.slice(0, -1), /damaged or incomplete/],
    [png.slice(0, 20), /damaged or incomplete/],
    [new Uint8Array([...png, ...new TextEncoder().encode("<script>")]), /damaged or incomplete/],
    [changed(png, 50), /damaged or incomplete/],
    [pngImage(2_001, 1), /2001 x 1 pixels/],
    [pngImage(0, 1), /0 x 1 pixels/],
    [pngImage(10, 10, { interlaced: true }), /interlaced/],
    [jpeg.slice(0, -2), /damaged or incomplete/],
    [jpeg.slice(0, 30), /damaged or incomplete/],
    [jpeg.slice(0, 4), /damaged or incomplete/],
  ];
  for (const [content, expected] of wrong) {
    const { status, body } = await setLogo(by, content);
    assert.equal(status, 400);
    assert.match(body.errors.body[0], expected);
  }
  const large = await setLogo(by, new Uint8Array(256 * 1024 + 1));
  assert.equal(large.body.code, "BODY_TOO_LARGE");
  assert.equal((await setLogo(by, png, "image/svg+xml")).body.code, "UNSUPPORTED_MEDIA_TYPE");
  assert.equal((await by.get(path)).body.logo, null);
  assert.equal(
    (await setLogo(by, jpeg, "image/png")).body.logo.contentType,
    "image/jpeg",
    "the bytes decide",
  );
});
