import { accepted } from "../../support/outcomes.ts";
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
  return await accepted(actor.post(templates, template(change)), 201);
}

/** Changes a template. */
export async function change(actor: Actor, id: string, texts: Record<string, unknown>) {
  return await accepted(actor.put(`${templates}/${id}`, { templateId: id, ...texts }), 200);
}
