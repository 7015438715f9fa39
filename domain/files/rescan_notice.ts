import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { sendNotification } from "../notifications/sending/send.ts";
import { findUsersInTenant } from "../rights/user_lookup.ts";
import type { FileRow } from "./file.ts";
import type { FilePlatform } from "./platform.ts";

const NotifyArgs = z.object({ fileId: z.guid() });
const UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
const RECIPIENTS_PER_MESSAGE = 500;

/**
 * Notifies a file's owners in-app that a rescan found the file infected. It is a separate job, so that a failure to
 * send cannot keep an infected file Available. The owners get one notification, even if the job runs more than once.
 */
export const notifyOwnersJob = defineJob({
  name: "files.tell-owners",
  args: NotifyArgs,
  run: async ({ fileId }, { platform }: JobContext<FilePlatform>) => ({
    told: await notifyOwners(platform, fileId),
  }),
});

/** @returns how many users were notified; 0 if they were notified before. */
export async function notifyOwners(p: FilePlatform, fileId: string): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const [file] = await tx<FileRow[]>`
      select * from files where id = ${fileId} and status = 'Infected' and owners_told_at is null for update`;
    if (!file) return 0;
    const owners = await findUsersInTenant(tx, file.tenantId, await ownersOf(tx, file));
    const sender = { tenantId: file.tenantId, userId: null, traceId: null };
    for (let from = 0; from < owners.length; from += RECIPIENTS_PER_MESSAGE) {
      const recipients = owners.slice(from, from + RECIPIENTS_PER_MESSAGE).map(({ id }) => ({ address: id }));
      await sendNotification(p, tx, sender, {
        channel: "InApp",
        recipients,
        subject: `The file "${file.fileName}" was found infected`,
        textBody:
          `A newer scan found ${file.signatureName} in the file "${file.fileName}". The file can no longer be ` +
          "downloaded and its content was destroyed. Do not open copies of it. Upload a clean version if you " +
          "still need the file.",
        priority: "High",
        category: "files",
        actionUrl: `/api/v1/files/${fileId}`,
      });
    }
    await tx`update files set owners_told_at = ${p.clock.now()} where id = ${fileId}`;
    return owners.length;
  });
}

/**
 * Ids of possible owners: who created the file or one of its references, and owner ids of references that are UUIDs.
 */
async function ownersOf(tx: Tx, { id, createdBy }: FileRow): Promise<string[]> {
  const rows = await tx<{ userId: string }[]>`
    select created_by as user_id from file_references
    where file_id = ${id} and released_at is null and created_by is not null
    union
    select owner_id::uuid from file_references
    where file_id = ${id} and released_at is null and owner_id ~ ${UUID}`;
  return [...new Set([...rows.map((row) => row.userId), ...(createdBy === null ? [] : [createdBy])])];
}
