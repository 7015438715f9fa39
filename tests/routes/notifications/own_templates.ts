import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { templates } from "./notifications.ts";

export const template = (change: Record<string, unknown> = {}) => ({
  slug: "greeting",
  name: "Greeting",
  locale: "en",
  requiredVariables: "name",
  subjectTemplate: "Hello {{ name }}",
  htmlBodyTemplate: "<p>Hello {{ name | upper }}</p>",
  ...change,
});

export async function made(actor: Actor, change: Record<string, unknown> = {}) {
  return await accepted(actor.post(templates, template(change)), 201);
}

export async function change(actor: Actor, id: string, texts: Record<string, unknown>) {
  return await accepted(actor.put(`${templates}/${id}`, { templateId: id, ...texts }), 200);
}
