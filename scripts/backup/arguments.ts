import { parseArgs } from "node:util";
import { EXIT, Failure } from "../shared/run_script.ts";

/** Arguments of backup and restore. */
export interface BackupArguments {
  folder: string;
  withObjects: boolean;
  databaseUrl: string;
}

const NO_DATABASE =
  "DATABASE_URL is missing. In development, the database and the bucket are embedded and stored in DATA_DIR " +
  "(.data): stop the service and copy that folder.";

/** Parses the command line; null for --help. @throws Failure for wrong usage */
export function readArguments(): BackupArguments | null {
  const { values, positionals } = parsed();
  if (values.help) return null;
  const [folder] = positionals;
  if (!folder || positionals.length > 1) throw new Failure(EXIT.usage, "expected one folder");
  const databaseUrl = Deno.env.get("DATABASE_URL");
  if (!databaseUrl) throw new Failure(EXIT.unavailable, NO_DATABASE);
  return { folder, withObjects: !values["no-objects"], databaseUrl };
}

function parsed() {
  try {
    return parseArgs({
      args: Deno.args,
      allowPositionals: true,
      options: { "no-objects": { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
  } catch (error) {
    throw new Failure(EXIT.usage, (error as Error).message);
  }
}
