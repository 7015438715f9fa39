import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { email, path, refused, sent, settledDetail, templates } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });

Deno.test("a template is rendered when the message is sent, and the detail shows its version", async () => {
  const made = await ann.post(templates, {
    slug: "welcome",
    name: "Welcome",
    subjectTemplate: "Hi {{ name | upper }}",
    htmlBodyTemplate: "<p>Hi {{ name }}</p>",
    requiredVariables: "name",
  });
  assert.equal(made.status, 201);
  const body = email({
    subject: null,
    htmlBody: null,
    templateSlug: "welcome",
    templateData: { name: "<Ann>" },
  });
  const first = await settledDetail(t, ann, await sent(ann, body));
  assert.deepEqual([
    first.subject,
    first.htmlBody,
    first.textBody,
    first.templateVersion,
    first.templateLocale,
  ], [
    ...["Hi <ANN>", "<p>Hi &lt;Ann&gt;</p>", "Hi <Ann>", 1, "en"],
  ]);
  await ann.put(`${templates}/${made.body.id}`, {
    templateId: made.body.id,
    subjectTemplate: "Bye {{ name }}",
  });
  const second = await settledDetail(t, ann, await sent(ann, { ...body, subject: "Mine" }));
  assert.deepEqual([second.subject, second.htmlBody, second.templateVersion], [
    "Mine",
    "<p>Hi &lt;Ann&gt;</p>",
    2,
  ]);

  refused(
    await ann.post(`${path}/send`, { ...body, templateSlug: "none" }),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
  refused(
    await ann.post(`${path}/send`, { ...body, templateData: {} }),
    400,
    "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
  );
});

Deno.test("a template that fails to render fails only that message, with the reason", async () => {
  await ann.post(templates, {
    slug: "huge",
    name: "x",
    htmlBodyTemplate: "{{#each a}}{{#each ../a}}{{.}}{{/each}}{{/each}}",
  });
  const a = Array(5000).fill("xxxxxxxxxx");
  const id = await sent(
    ann,
    email({ subject: null, htmlBody: null, templateSlug: "huge", templateData: { a } }),
  );
  const detail = await settledDetail(t, ann, id);
  assert.equal(detail.status, "DeadLettered");
  assert.match(detail.lastError, /limit of one render/);
  assert.deepEqual(detail.deliveryAttempts, []);
});
