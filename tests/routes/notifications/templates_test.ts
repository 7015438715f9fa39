import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";
import { made, template } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const other = await t.actor({ permissions: ["send:notifications"] });
const render = (body: Record<string, unknown>, actor = ann) => actor.post(`${templates}/render`, body);

Deno.test("a template is created, read, changed with a higher version, and deleted", async () => {
  const answer = await ann.post(templates, template({ slug: "life", locale: "pt_br" }));
  assert.equal(answer.status, 201);
  const { id, createdAt, ...rest } = answer.body;
  assert.deepEqual(rest, { slug: "life", name: "Greeting", locale: "pt-BR", version: 1 });
  assert.ok(createdAt);
  assert.equal(answer.headers.get("location"), `${templates}/${id}`);
  const listed = (await ann.get(`${templates}?locale=PT_br`)).body;
  assert.deepEqual(listed.items.map((item: { id: string }) => item.id), [id]);

  const read = await ann.get(`${templates}/${id}`);
  assert.equal(read.headers.get("etag"), '"1"');
  assert.deepEqual([read.body.htmlBodyTemplate, read.body.textBodyTemplate, read.body.isShipped], [
    "<p>Hello {{ name | upper }}</p>",
    null,
    false,
  ]);

  const change = { templateId: id, name: "New", subjectTemplate: "S", htmlBodyTemplate: "<p>{{ x }}</p>" };
  const updated = await ann.put(`${templates}/${id}`, change);
  assert.deepEqual([updated.status, updated.body.version, updated.body.name], [200, 2, "New"]);
  const partly = await ann.put(`${templates}/${id}`, {
    templateId: id,
    textBodyTemplate: "T",
    requiredVariables: "",
  });
  assert.equal(partly.body.version, 3);
  const { subjectTemplate, textBodyTemplate, requiredVariables, name } =
    (await ann.get(`${templates}/${id}`)).body;
  assert.deepEqual([subjectTemplate, textBodyTemplate, requiredVariables, name], ["S", "T", "", "New"]);

  refused(await ann.put(`${templates}/${id}`, change, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  refused(await ann.delete(`${templates}/${id}`, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  assert.equal((await ann.delete(`${templates}/${id}`, { "if-match": '"3"' })).status, 200);
  refused(await ann.delete(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(await ann.put(`${templates}/${id}`, change), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("slug and locale are unique in the tenant, in every spelling of the locale", async () => {
  await made(ann, { slug: "unique", locale: "pt-BR" });
  refused(
    await ann.post(templates, template({ slug: "unique", locale: "pt_br" })),
    409,
    "NOTIFICATION_TEMPLATE_ALREADY_EXISTS",
  );
  await made(ann, { slug: "unique", locale: "pt" });
  assert.equal((await made(ann, { slug: "unique", locale: null })).locale, "en", "null is as left out");
  await made(other, { slug: "unique", locale: "pt-BR" });
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => ann.post(templates, template({ slug: "race" }))),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409, 409, 409, 409, 409]);
});

Deno.test("simultaneous changes each raise the version by one", async () => {
  const { id } = await made(ann, { slug: "counted" });
  await Promise.all(
    Array.from({ length: 8 }, (_, n) => ann.put(`${templates}/${id}`, { templateId: id, name: `n${n}` })),
  );
  assert.equal((await ann.get(`${templates}/${id}`)).headers.get("etag"), '"9"');
});

Deno.test("an update with another or a missing templateId is rejected before other checks", async () => {
  const { id } = await made(ann, { slug: "mismatch" });
  const body = { templateId: crypto.randomUUID(), name: "x", subjectTemplate: "x", htmlBodyTemplate: "x" };
  for (
    const [target, given] of [[id, body], [crypto.randomUUID(), body], [id, {
      ...body,
      templateId: undefined,
    }]] as const
  ) {
    const answer = await ann.put(`${templates}/${target}`, given);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.deepEqual(Object.keys(answer.body.errors), ["templateId"]);
  }
});

Deno.test("a template with an error is rejected with line and column", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ htmlBodyTemplate: "<p>\n  {{ name | shout }}</p>" }, /html template, line 2, column \d+: .*shout/],
    [{ subjectTemplate: "{{#if a}}" }, /subject template, line 1/],
    [{ textBodyTemplate: "{{> secrets}}" }, /text template, line 1, column 1: there is no partial `secrets`/],
  ];
  const { id } = await made(ann, { slug: "mended" });
  for (const [change, reason] of cases) {
    const answer = await ann.post(templates, template({ slug: "broken", ...change }));
    refused(answer, 400, "NOTIFICATION_TEMPLATE_INVALID");
    assert.match(answer.body.detail, reason);
    assert.deepEqual(Object.keys(answer.body.errors), Object.keys(change));
    refused(
      await ann.put(`${templates}/${id}`, { templateId: id, ...change }),
      400,
      "NOTIFICATION_TEMPLATE_INVALID",
    );
  }
  const wrong = [{ slug: "a b" }, { slug: "" }, { slug: undefined }, { name: "" }, {
    locale: "english please",
  }];
  for (
    const change of [...wrong, { subjectTemplate: null, htmlBodyTemplate: null }, { requiredVariables: 7 }]
  ) {
    refused(await ann.post(templates, template({ slug: "wrong", ...change })), 400, "VALIDATION_ERROR");
  }
  refused(
    await ann.put(`${templates}/${id}`, { templateId: id, subjectTemplate: null, htmlBodyTemplate: null }),
    400,
    "VALIDATION_ERROR",
  );
  assert.equal(
    (await ann.get(`${templates}/${id}`)).headers.get("etag"),
    '"1"',
    "a refused change changes nothing",
  );
});

Deno.test("the list shows the tenant's own by locale, and the shipped ones on request", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  for (const locale of ["en", "pt", "fr"]) await made(actor, { slug: "b", locale });
  await made(actor, { slug: "a" });
  const list = async (query = "") => (await actor.get(`${templates}?${query}`)).body;
  const all = await list();
  assert.deepEqual(all.items.map((i: { slug: string; locale: string }) => `${i.slug} ${i.locale}`), [
    "a en",
    "b en",
    "b fr",
    "b pt",
  ]);
  assert.deepEqual(Object.keys(all.items[0]).sort(), [
    "createdAt",
    "id",
    "isShipped",
    "kind",
    "locale",
    "name",
    "slug",
    "updatedAt",
    "version",
  ]);
  assert.equal((await list("locale=EN")).totalCount, 2);
  const [row] = await t.steward.platform.sql<{ shipped: number }[]>`
    select count(*)::int as shipped from notification_templates where tenant_id is null`;
  assert.equal((await list("includeShipped=true")).totalCount, 4 + (row?.shipped ?? 0));
  const found = (await list("includeShipped=true&search=REPORT")).items;
  assert.ok(found.length > 0 && found.every((i: { isShipped: boolean }) => i.isShipped));
  assert.deepEqual([(await list("search=gree")).totalCount, (await list("search=100%25")).totalCount], [
    4,
    0,
  ]);
  assert.equal((await list("search=gree&page=9")).totalCount, 4);
  assert.deepEqual([(await list("page=2&pageSize=3")).items.length, (await list("page=9")).totalCount], [
    1,
    4,
  ]);
  assert.deepEqual((await list("page=9")).items, []);
  refused(await actor.get(`${templates}?pageSize=101`), 400, "VALIDATION_ERROR");
  const shipped = (await list("includeShipped=true&locale=pt")).items.find((i: { slug: string }) =>
    i.slug === "report-ready"
  );
  assert.equal((await actor.get(`${templates}/${shipped.id}`)).body.isShipped, true);
  refused(await actor.delete(`${templates}/${shipped.id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a template of another tenant is not found", async () => {
  const { id } = await made(ann, { slug: "secret" });
  refused(await other.get(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(await other.delete(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(
    await other.put(`${templates}/${id}`, { templateId: id, name: "x" }),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
  refused(
    await render({ templateSlug: "secret", data: { name: "x" } }, other),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
});

Deno.test("a message is checked against the current template, even after many recent messages", async () => {
  const carl = await t.actor({ permissions: ["send:notifications"] });
  const send = async (templateSlug: string, locale?: string) => {
    const recipients = [{ address: "ann@x.test" }];
    const message = { channel: "Email", recipients, templateSlug, templateData: { name: "Ann" }, locale };
    const { status, body } = await carl.post("/api/v1/notifications/send", message);
    return status === 200 ? body.status : body.code;
  };
  assert.equal(await send("changing"), "NOTIFICATION_TEMPLATE_NOT_FOUND");
  const { id } = await made(carl, { slug: "changing" });
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => send("changing"))), ["Queued", "Queued", "Queued"]);
  await carl.put(`${templates}/${id}`, { templateId: id, requiredVariables: "name,age" });
  assert.equal(await send("changing"), "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  await made(carl, { slug: "changing", locale: "de", requiredVariables: "" });
  assert.equal(await send("changing", "de"), "Queued");
  await carl.delete(`${templates}/${id}`);
  assert.equal(await send("changing"), "NOTIFICATION_TEMPLATE_NOT_FOUND");
});
