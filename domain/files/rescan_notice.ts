import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { findUsersInTenant } from "../access/user_lookup.ts";
import { defineJob, type JobType } from "../jobs/job_type.ts";
import { sendNotification } from "../notifications/send.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileRow } from "./file.ts";

const TellArgs = z.object({ fileId: z.uuid() });
const UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
const RECIPIENTS_AT_ONCE = 500;

/**
 * Tells a file's owners in-app that it was taken out of service. A job of its own, so that nothing about messages can
 * keep an infected file in service; it tells once, however often it runs.
 */
export const tellOwnersJob = (p: Platform): JobType<{ fileId: string }> =>
  defineJob({
    name: "files.tell-owners",
    args: TellArgs,
    run: async ({ fileId }) => ({ told: await tellOwners(p, fileId) }),
  });

/** @returns how many users were told; none when they had been already. */
export async function tellOwners(p: Platform, fileId: string): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const [file] = await tx<FileRow[]>`
      select * from files where id = ${fileId} and status = 'Infected' and owners_told_at is null for update`;
    if (!file) return 0;
    const owners = await findUsersInTenant(tx, file.tenantId, await ownersOf(tx, file));
    const sender = { tenantId: file.tenantId, userId: null, traceId: null };
    for (let from = 0; from < owners.length; from += RECIPIENTS_AT_ONCE) {
      const recipients = owners.slice(from, from + RECIPIENTS_AT_ONCE).map(({ id }) => ({ address: id }));
      await sendNotification(p, tx, sender, {
        channel: "InApp",
        recipients,
        subject: `The file "${file.fileName}" was found infected`,
        textBody:
          `A newer scan found ${file.signatureName} in the file "${file.fileName}". It can no longer be ` +
          "downloaded and its content was destroyed. Treat copies of it with care, and upload a clean one " +
          "where it is needed.",
        priority: "High",
        category: "files",
        actionUrl: `/api/v1/files/${fileId}`,
      });
    }
    await tx`update files set owners_told_at = ${p.clock.now()} where id = ${fileId}`;
    return owners.length;
  });
}

/** Whoever made the file, made one of its references, or is named by one. */
async function ownersOf(tx: Tx, { id, createdBy }: FileRow): Promise<string[]> {
  const rows = await tx<{ userId: string }[]>`
    select created_by as user_id from file_references
    where file_id = ${id} and released_at is null and created_by is not null
    union
    select owner_id::uuid from file_references
    where file_id = ${id} and released_at is null and owner_id ~ ${UUID}`;
  return [...new Set([...rows.map((row) => row.userId), ...(createdBy === null ? [] : [createdBy])])];
}
