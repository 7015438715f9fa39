// Writes everything that another system needs into a new folder: `deno task leave FOLDER`.
import { resolve } from "node:path";
import { transact } from "../infra/postgres/postgres.ts";
import { writeFolder } from "./leave/write_folder.ts";
import { EXIT, Failure, runScript, withDatabase } from "./shared/run_script.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task leave FOLDER

Writes users with the hashes of their passwords, roles, clients, templates, the list of files, jobs, messages, the audit log
and all other data of the service as JSON lines into FOLDER, with a README.md that explains each file. The service may keep
running: all files show one moment. FOLDER must be absent or empty; it appears when everything is written.

Example: deno task leave /exports/steward

Secrets other than the hashes of users are left out. The contents of files stay in the bucket: files.jsonl has their keys.
Exit code 0 when written, 64 for wrong usage, 69 when the database is not usable.`;

await runScript({
  help: HELP,
  options: {},
  async run(_values, [given, ...others]) {
    if (!given || others.length > 0) throw new Failure(EXIT.usage, "expected one folder");
    const folder = resolve(given);
    const part = `${folder}.part`;
    // An empty folder is removed, because Windows does not rename onto one. Reading it first keeps a file from being removed.
    await Array.fromAsync(Deno.readDir(folder)).then(() => Deno.remove(folder)).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return;
      throw new Failure(EXIT.usage, `expected a new folder: ${error.message}`);
    });
    await Deno.mkdir(part, { mode: 0o700 }).catch((error) => {
      const fix = error instanceof Deno.errors.AlreadyExists
        ? "; a run that was killed left it: remove it"
        : "";
      throw new Failure(EXIT.usage, `cannot make ${part}: ${error.message}${fix}`);
    });
    for (const name of ["SIGINT", "SIGTERM"] as const) {
      Deno.addSignalListener(name, () => {
        Deno.removeSync(part, { recursive: true });
        Deno.exit(EXIT.interrupted);
      });
    }
    try {
      const rows = await withDatabase("leave", (sql) => transact(sql, (tx) => writeFolder(tx, part)));
      await Deno.rename(part, folder);
      console.log(`wrote ${rows} rows to ${folder}; README.md explains the files`);
      return 0;
    } catch (error) {
      await Deno.remove(part, { recursive: true });
      throw error;
    }
  },
});
