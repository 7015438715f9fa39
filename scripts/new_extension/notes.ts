import { defineSimpleResource, z } from "@steward/steward";

/** The notes of a tenant, under /api/v1/sample-notes. Every caller in the tenant reads them. */
export const notes = defineSimpleResource({
  one: "sampleNote",
  many: "sampleNotes",
  path: "sample-notes",
  area: "Notes",
  managedBy: "write:sample-notes",
  shape: z.object({
    id: z.guid(),
    title: z.string().min(1).max(200),
    isDone: z.boolean().default(false),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  }).meta({ id: "SampleNoteDto" }),
  table: "sample.notes",
  softDeleted: false,
  sorts: { createdAt: "created_at", title: "title" },
});
