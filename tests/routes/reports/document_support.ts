import assert from "node:assert/strict";
import { pageTexts, type PdfObjects, pdfObjects, textOf } from "../../domain/documents/pdf_objects.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { fetchDocument, reached, setupSharedReports, STATUS } from "./support.ts";

export { refused } from "../../support/answers.ts";

export const DOCUMENTS = "/api/v1/document-templates";
export const PARTIALS = "/api/v1/notification-templates";
export const PERMISSIONS = ["manage:document-templates", "generate:documents"];

/** A service for tests of document templates with partials and texts. */
export async function setupDocuments() {
  const t = await setupSharedReports();
  return {
    t,
    /** Partials are message templates, so that who changes them needs the permission of those. */
    editor: () => t.actor({ permissions: [...PERMISSIONS, "send:notifications"] }),
    /** The texts of a document drawn from a template, with ordinary spaces. */
    drawn: async (by: Actor, id: string, body: Members = {}) =>
      textsOf(await drawnBy(t, by, `${DOCUMENTS}/${id}/render`, body)),
  };
}

export const textsOf = (objects: PdfObjects): string[] =>
  pageTexts(objects).flat().map((text) => text.replaceAll(/\s/g, " "));

type Service = Pick<TestService, "url">;
type Members = Record<string, unknown>;

export async function drawnBy(t: Service, by: Actor, path: string, body: unknown): Promise<PdfObjects> {
  const response = await fetch(t.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${by.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.equal(response.status, 200, new TextDecoder().decode(bytes));
  assert.equal(response.headers.get("content-type"), "application/pdf");
  return pdfObjects(bytes);
}

/** Creates a partial, which is a message template, and returns its id. */
export const makePartial = async (by: Actor, slug: string, body: string, more: Members = {}) => {
  const texts = { htmlBodyTemplate: body, textBodyTemplate: body.replaceAll(/<[^>]*>/g, "") };
  const answer = await by.post(PARTIALS, { slug, name: slug, kind: "Partial", ...texts, ...more });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id as string;
};

export const changePartial = async (by: Actor, id: string, htmlBodyTemplate: string) => {
  const texts = { htmlBodyTemplate, textBodyTemplate: null };
  await accepted(by.put(`${PARTIALS}/${id}`, { templateId: id, ...texts }), 200);
};

export const given = (bodyTemplate: string, more: Members = {}) => ({
  slug: "invoice",
  name: "Invoice",
  titleTemplate: "Invoice",
  bodyTemplate,
  ...more,
});

export const make = async (by: Actor, bodyTemplate: string, more: Members = {}) => {
  return await accepted(by.post(DOCUMENTS, given(bodyTemplate, more)), 201);
};

export const generate = async (by: Actor, templateId: string, body: Members) => {
  return await accepted(by.post(`${DOCUMENTS}/${templateId}/generate`, body), 202);
};

export const languageOf = ({ syntax }: PdfObjects) => {
  const catalog = [...syntax.values()].find((text) => text.includes("/Type/Catalog")) ?? "";
  return textOf(/\/Lang<(\w+)>/.exec(catalog)?.[1] ?? "");
};

export const generated = async (by: Actor, id: string) => {
  const { fileName } = await reached(by, id, STATUS.Completed);
  const objects = pdfObjects((await fetchDocument(by, id)).bytes);
  return { fileName, texts: textsOf(objects), language: languageOf(objects) };
};

/** Runs `work` while no document can be generated. */
export async function whileWaiting<T>(t: TestService, work: () => Promise<T>): Promise<T> {
  const { slots } = t.steward.platform.reports;
  const take = () => slots.take(null, AbortSignal.timeout(60_000));
  const releases = await Promise.all([take(), take()]);
  try {
    return await work();
  } finally {
    for (const release of releases) release();
  }
}
