import { defineRecord, z } from "@steward/steward";

/** The notes of a tenant, under /api/v1/sample-notes. Every caller in the tenant reads them. */
export const notes = defineRecord({
  one: "sampleNote",
  many: "sampleNotes",
  path: "sample-notes",
  area: "Notes",
  labels: { one: { en: "Note", pt: "Nota" }, many: { en: "Notes", pt: "Notas" } },
  managedBy: "write:sample-notes",
  table: "sample.notes",
  members: {
    title: { shape: z.string().min(1).max(200), label: { en: "Title", pt: "Título" }, sort: true },
    isDone: { shape: z.boolean().default(false), label: { en: "Done", pt: "Feita" }, filter: true },
  },
});
