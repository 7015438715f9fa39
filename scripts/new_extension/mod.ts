import { defineExtension } from "@steward/steward";
import { clearDone } from "./clear_done.ts";
import { finishNote } from "./finish_note.ts";
import { notes } from "./notes.ts";
import { openNotesReport } from "./open_notes_report.ts";

export default defineExtension({
  name: "sample",
  permissions: [
    { code: "write:sample-notes", category: "Notes", description: "Create, change and clear notes" },
  ],
  tenantRoles: { Admin: ["write:sample-notes"] },
  resources: [notes],
  routes: [finishNote],
  jobs: [clearDone],
  reports: [openNotesReport],
  migrations: new URL("./migrations/", import.meta.url),
});
