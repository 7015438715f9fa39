import { accepted, defineProblems, defineRoute, inTenant, problem, transact, z } from "@steward/steward";
import { clearDone } from "./clear_done.ts";
import { notes } from "./notes.ts";

const PROBLEMS = defineProblems({
  SAMPLE_NOTE_DONE_CONFLICT: {
    status: 409,
    title: "Note is done",
    meaning: "The note was finished before.",
    fix: "Nothing is left to do.",
  },
});

/** Marks a note as done and enqueues the job that clears it a day later; both or nothing. */
export const finishNote = defineRoute({
  method: "post",
  path: "/api/v1/sample-notes/{id}/finish",
  area: "Notes",
  id: "finishSampleNote",
  summary: "Finish a note",
  access: inTenant("write:sample-notes"),
  params: z.object({ id: z.guid() }),
  answers: { 202: { description: "The job that clears the note", schema: z.object({ jobId: z.guid() }) } },
  problems: [notes.notFound, PROBLEMS.SAMPLE_NOTE_DONE_CONFLICT],
  run: ({ db, caller, params: { id }, steward }) =>
    transact(db, async (tx) => {
      const { tenantId, userId } = caller;
      const [note] = await tx<{ isDone: boolean; clearAt: Date }[]>`
        select is_done, now() + interval '1 day' as clear_at from sample.notes
        where id = ${id} and tenant_id = ${tenantId} for update`;
      if (!note) throw problem(notes.notFound, `The tenant has no note ${id}.`);
      if (note.isDone) throw problem(PROBLEMS.SAMPLE_NOTE_DONE_CONFLICT, `Note ${id} is done.`);
      await tx`update sample.notes set is_done = true, version = version + 1, updated_at = now() where id = ${id}`;
      const jobId = await steward.enqueueJob(tx, clearDone, {}, {
        tenantId,
        createdBy: userId,
        scheduledAt: note.clearAt,
      });
      await steward.audit(tx, caller, {
        action: "sampleNote.finish",
        targetType: "sampleNote",
        targetId: id,
      });
      return accepted({ jobId }, `/api/v1/jobs/${jobId}`);
    }),
});
