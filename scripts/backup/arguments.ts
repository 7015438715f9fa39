import { parseArgs } from "node:util";
import { EXIT, Failure } from "../shared/command_line.ts";

/** What a backup or restore is about. */
export interface BackupArguments {
  folder: string;
  withObjects: boolean;
  databaseUrl: string;
}

const NO_DATABASE =
  "DATABASE_URL is missing. In development database and bucket are embedded and lie in DATA_DIR " +
  "(.data): stop the service and copy that folder.";

/** Reads the command line; null where only help is wanted. @throws Failure for wrong usage. */
export function readArguments(): BackupArguments | null {
  const { values, positionals } = parsed();
  if (values.help) return null;
  const [folder] = positionals;
  if (!folder || positionals.length > 1) throw new Failure(EXIT.usage, "name one folder");
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
