import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, email, hurry, path, refused, settledDetail, templates } from "./notifications.ts";
import { change, made } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const message = (templateSlug: string, templateData = {}, more = {}) =>
  email({ subject: null, htmlBody: null, templateSlug, templateData, ...more });

Deno.test("a template is rendered when the message is sent, and the detail shows its version", async () => {
  const texts = { subjectTemplate: "Hi {{ name | upper }}", htmlBodyTemplate: "<p>Hi {{ name }}</p>" };
  const { id } = await made(ann, { slug: "welcome", ...texts });
  const body = message("welcome", { name: "<Ann>" });
  has(await delivered(t, ann, body), {
    subject: "Hi <ANN>",
    htmlBody: "<p>Hi &lt;Ann&gt;</p>",
    textBody: "Hi <Ann>",
    templateVersion: 1,
    templateLocale: "en",
  });
  await change(ann, id, { subjectTemplate: "Bye {{ name }}" });
  const second = await delivered(t, ann, { ...body, subject: "Mine" });
  has(second, { subject: "Mine", htmlBody: "<p>Hi &lt;Ann&gt;</p>", templateVersion: 2 });
});

Deno.test("a message is checked against the current template, even after many recent messages", async () => {
  const carl = await t.actor({ permissions: ["send:notifications"] });
  const send = async (locale?: string) => {
    const { status, body } = await carl.post(`${path}/send`, message("changing", { name: "A" }, { locale }));
    return status === 200 ? body.status : body.code;
  };
  assert.equal(await send(), "NOTIFICATION_TEMPLATE_NOT_FOUND");
  const { id } = await made(carl, { slug: "changing" });
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => send())), ["Queued", "Queued", "Queued"]);
  await change(carl, id, { requiredVariables: "name,age" });
  assert.equal(await send(), "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  await made(carl, { slug: "changing", locale: "de", requiredVariables: "" });
  assert.equal(await send("de"), "Queued");
  await carl.delete(`${templates}/${id}`);
  assert.equal(await send(), "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a message has the content of its template at acceptance, even if the template changes or is deleted", async () => {
  const of = (word: string) => ({ subjectTemplate: `${word} {{ name }}`, htmlBodyTemplate: null });
  const { id } = await made(ann, { slug: "kept", locale: "pt", ...of("First") });
  const accept = async (data = {}) => {
    const notification = message("kept", { name: "Ann", ...data }, { locale: "pt" });
    return await ann.post(`${path}/schedule`, { notification, scheduledAt: "2190-01-01T00:00:00Z" });
  };
  const accepted = [(await accept()).body.notificationId];
  const waiting = (await ann.get(`${path}/${accepted[0]}`)).body;
  has(waiting, { templateVersion: 1, templateLocale: "pt", subject: null });
  await change(ann, id, { ...of("Second"), requiredVariables: "name,age" });
  refused(await accept(), 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  accepted.push((await accept({ age: 9 })).body.notificationId);
  await ann.delete(`${templates}/${id}`);
  await made(ann, { slug: "kept", locale: "pt", ...of("Third") });
  accepted.push((await accept()).body.notificationId);
  const details = await Promise.all(accepted.map(async (id) => {
    await hurry(t, id);
    return await settledDetail(t, ann, id);
  }));
  assert.deepEqual(pluck(details, "status", "subject", "templateVersion", "templateLocale"), [
    ["Sent", "First Ann", 1, "pt"],
    ["Sent", "Second Ann", 2, "pt"],
    ["Sent", "Third Ann", 1, "pt"],
  ]);
});

Deno.test("a template that fails to render fails only that message, with the reason", async () => {
  const htmlBodyTemplate = "{{#each a}}{{#each ../a}}{{.}}{{/each}}{{/each}}";
  await made(ann, { slug: "huge", subjectTemplate: null, requiredVariables: "", htmlBodyTemplate });
  const detail = await delivered(t, ann, message("huge", { a: Array(5000).fill("xxxxxxxxxx") }));
  has(detail, { status: "DeadLettered", deliveryAttempts: [] });
  assert.match(detail.lastError, /limit of one render/);
});
