import assert from "node:assert/strict";
import { type PdfObjects, pdfObjects } from "../../domain/reports/pdf_objects.ts";
import type { HttpAnswer } from "../../support/http.ts";
import type { Actor, TestService } from "../../support/setup.ts";

export const DOCUMENTS = "/api/v1/document-templates";

export const refused = (answer: HttpAnswer, status: number, code: string) =>
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));

/** A PDF that a route answers. */
export async function drawnBy(
  t: Pick<TestService, "url">,
  by: Actor,
  path: string,
  body: unknown,
): Promise<PdfObjects> {
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
