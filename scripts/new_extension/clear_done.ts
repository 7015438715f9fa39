import { defineJob, transact, z } from "@steward/steward";

/** Deletes the tenant's notes that are done. Callers with write:sample-notes may enqueue it. */
export const clearDone = defineJob({
  name: "sample-notes.clear",
  args: z.object({}),
  exposed: true,
  permission: "write:sample-notes",
  run: (_args, { db, tenantId, jobId, steward }) =>
    transact(db, async (tx) => {
      const cleared =
        await tx`delete from sample.notes where tenant_id = ${tenantId} and is_done returning id`;
      await steward.audit(tx, null, {
        action: "sampleNote.clear",
        targetType: "job",
        targetId: jobId,
        tenantId,
        after: { cleared: cleared.length },
      });
      return { cleared: cleared.length };
    }),
});
