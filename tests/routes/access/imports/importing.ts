// Helpers of the import tests: a file in the registry, and an import that has finished.
import assert from "node:assert/strict";
import { readCsv } from "../../../../domain/access/permissions/csv.ts";
import { accepted } from "../../../support/outcomes.ts";
import type { Actor, TestService } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { Uploading } from "../../files/uploading.ts";
import { ADMIN } from "../users.ts";

export const IMPORTER = [...ADMIN, "upload:files", "read:files"];

export interface Imported {
  id: string;
  status: string;
  total: number | null;
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
  error: string | null;
  resultFileId: string | null;
}

export class Importing {
  readonly files: Uploading;

  constructor(readonly t: TestService) {
    this.files = new Uploading(t);
  }

  /** Uploads and scans a file; returns its id. */
  async file(actor: Actor, content: string | Uint8Array, contentType = "text/csv"): Promise<string> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const { id, status } = await this.files.uploadAndScan(actor, {
      bytes,
      contentType,
      fileName: "users.csv",
    });
    assert.equal(status, "Available");
    return id;
  }

  /** Imports the content and waits for the end. */
  async run(
    actor: Actor,
    content: string | Uint8Array,
    o: { dryRun?: boolean; admin?: boolean; contentType?: string } = {},
  ): Promise<Imported> {
    const fileId = await this.file(actor, content, o.contentType);
    return await this.start(actor, fileId, o);
  }

  async start(
    actor: Actor,
    fileId: string,
    { dryRun = false, admin = false }: { dryRun?: boolean; admin?: boolean } = {},
  ): Promise<Imported> {
    const path = admin ? "/api/v1/admin/users/imports" : "/api/v1/users/imports";
    const { importId } = await accepted(actor.post(path, { fileId, dryRun }), 202);
    return await this.finished(actor, `${path}/${importId}`);
  }

  async finished(actor: Actor, path: string): Promise<Imported> {
    return await until(
      async () => (await actor.get(path)).body as Imported,
      ({ status }) => status === "Completed" || status === "Failed",
      { what: "the end of the import", withinMs: 120_000 },
    );
  }

  /** The lines of the result file: row, email, outcome, errors. */
  async result(actor: Actor, { resultFileId }: Imported): Promise<string[][]> {
    const text = await this.resultText(actor, resultFileId ?? "");
    const [header, ...lines] = readCsv(text.replace(/^\ufeff/, ""), 200_000);
    assert.deepEqual(header?.fields, ["row", "email", "outcome", "errors"]);
    return lines.map(({ fields }) => fields);
  }

  async resultText(actor: Actor, fileId: string): Promise<string> {
    await until(async () => (await actor.get(`/api/v1/files/${fileId}`)).body.status === "Available");
    const { body } = await actor.get(`/api/v1/files/${fileId}/download-url`);
    assert.ok(body.url, JSON.stringify(body));
    const bytes = new Uint8Array(await (await fetch(body.url)).arrayBuffer());
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
}
