import { join } from "node:path";
import type { Actor } from "../../support/setup.ts";
import { setup, setupShared, type TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const TEMPLATES = { REPORT_TEMPLATES_DIR: join(import.meta.dirname ?? ".", "templates") };

/** A service with the test templates of this folder. */
export const setupReports = (env: Record<string, string> = {}): Promise<TestService> =>
  setup({ ...TEMPLATES, ...env });

/** The same, shared as described at `setupShared`. */
export const setupSharedReports = (env: Record<string, string> = {}): Promise<TestService> =>
  setupShared({ ...TEMPLATES, ...env });

export const CSV = 3;
export const STATUS = { Queued: 1, Generating: 2, Completed: 3, Failed: 4, Delivered: 5, Cancelled: 6 };

/** The execution once it has one of `statuses`. */
// deno-lint-ignore no-explicit-any -- answers of every shape
export async function reached(actor: Actor, id: string, ...statuses: number[]): Promise<any> {
  const { body } = await until(
    () => actor.get(`/api/v1/reports/${id}`),
    ({ body }) => statuses.includes(body.status),
  );
  return body;
}

/** The download URL once the scan has passed the document. */
export async function downloadUrl(actor: Actor, id: string): Promise<string> {
  const { body } = await until(
    () => actor.get(`/api/v1/reports/${id}/download`),
    ({ status }) => status === 200,
  );
  return body.url;
}

/** The document's bytes as a caller downloads them. */
export async function fetchDocument(
  actor: Actor,
  id: string,
): Promise<{ bytes: Uint8Array; headers: Headers }> {
  const response = await fetch(await downloadUrl(actor, id));
  if (!response.ok) throw new Error(`the storage answered ${response.status}: ${await response.text()}`);
  return { bytes: new Uint8Array(await response.arrayBuffer()), headers: response.headers };
}
