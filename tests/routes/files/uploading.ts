import assert from "node:assert/strict";
import type { FileStatus } from "../../../domain/files/file.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { pdf } from "../../support/samples.ts";

/** All four permissions of the file module. */
export const ALL = ["upload:files", "read:files", "retain:files", "purge:files"];

export interface Content {
  bytes: Uint8Array;
  profile?: string;
  fileName?: string;
  contentType?: string;
  isProduct?: boolean;
}

export interface Reservation {
  fileId: string;
  uploadUrl: string;
  requiredHeaders: Record<string, string>;
}

export const aPdf: Content = { bytes: pdf(), fileName: "report.pdf", contentType: "application/pdf" };

/** Sends a client's requests to the service and to the storage. */
export class Uploading {
  constructor(readonly t: TestService) {}

  async reserve(actor: Actor, content: Content): Promise<Reservation> {
    const { status, body } = await actor.post("/api/v1/files", {
      profile: content.profile ?? "document",
      fileName: content.fileName ?? "file",
      contentType: content.contentType ?? "text/plain",
      sizeBytes: content.bytes.length,
      isProduct: content.isProduct ?? false,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  async put({ uploadUrl, requiredHeaders }: Reservation, bytes: Uint8Array): Promise<number> {
    const body = new Uint8Array(bytes);
    const response = await fetch(uploadUrl, { method: "PUT", headers: requiredHeaders, body });
    await response.body?.cancel();
    return response.status;
  }

  async reserveAndPut(actor: Actor, content: Content): Promise<Reservation> {
    const reservation = await this.reserve(actor, content);
    assert.equal(await this.put(reservation, content.bytes), 200);
    return reservation;
  }

  /** Reserves, uploads and confirms. */
  async upload(actor: Actor, content: Content = aPdf): Promise<Reservation> {
    const reservation = await this.reserveAndPut(actor, content);
    await accepted(actor.post(`/api/v1/files/${reservation.fileId}/complete`), 200);
    return reservation;
  }

  /** Waits for the file's scan and returns the record. */
  async scanned(actor: Actor, fileId: string) {
    const [job] = await this.t.steward.platform.sql<{ id: string }[]>`
      select id from jobs where job_type_name = 'files.scan' and serialized_args like ${`%${fileId}%`}`;
    assert.ok(job, "the scan was enqueued");
    assert.equal(await this.t.settled(job.id), "Succeeded");
    return (await actor.get(`/api/v1/files/${fileId}`)).body;
  }

  async uploadAndScan(actor: Actor, content: Content = aPdf) {
    const { fileId } = await this.upload(actor, content);
    return await this.scanned(actor, fileId);
  }

  /** A file in a given state, reached by the real transitions but without a scan. */
  async fileIn(
    status: FileStatus,
    o: { tenantId: string | null; retentionClass?: string; retainUntil?: Date; legalHold?: boolean },
  ) {
    const { sql } = this.t.steward.platform;
    const id = crypto.randomUUID();
    await sql`insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, staging_key,
        upload_expires_at, retention_class, retain_until, legal_hold)
      values (${id}, ${o.tenantId}, 'document', 'a.txt', 'text/plain', 3, ${`staging/${id}`},
        now() + interval '15 minutes', ${o.retentionClass ?? "Standard"}, ${o.retainUntil ?? null},
        ${o.legalHold ?? false})`;
    if (status === "Pending") return id;
    await sql`update files set status = 'Scanning', completed_at = now(), scan_due_at = now() - interval '1 ms', staged_etag = 'x',
      final_key = ${`files/${id}`}, final_etag = 'y' where id = ${id}`;
    if (status === "Scanning") return id;
    await sql`update files set scan_due_at = null, sha256 = 'abc',
      status = ${status === "Purged" ? "Available" : status}::file_status,
      available_at = now(), signature_name = ${status === "Infected" ? "Test" : null} where id = ${id}`;
    if (status === "Purged") {
      await sql`update files set status = 'Purged', purge_reason = 'no longer needed', purged_at = now() where id = ${id}`;
    }
    return id;
  }
}
