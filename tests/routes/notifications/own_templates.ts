import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { templates } from "./notifications.ts";

/** A template; `change` overrides. */
export const template = (change: Record<string, unknown> = {}) => ({
  slug: "greeting",
  name: "Greeting",
  locale: "en",
  requiredVariables: "name",
  subjectTemplate: "Hello {{ name }}",
  htmlBodyTemplate: "<p>Hello {{ name | upper }}</p>",
  ...change,
});

/** Creates a template. */
export async function made(actor: Actor, change: Record<string, unknown> = {}) {
  const answer = await actor.post(templates, template(change));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** Changes a template. */
export async function change(actor: Actor, id: string, texts: Record<string, unknown>) {
  const answer = await actor.put(`${templates}/${id}`, { templateId: id, ...texts });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}
