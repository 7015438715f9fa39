import { EXIT, Failure, runScript } from "../shared/run_script.ts";
import { settingText } from "../../infra/config.ts";

/** Arguments of backup and restore. */
export interface BackupArguments {
  folder: string;
  withObjects: boolean;
  databaseUrl: string;
}

const NO_DATABASE =
  "DATABASE_URL is missing. In development, the database and the bucket are embedded and stored in DATA_DIR " +
  "(.data): stop the service and copy that folder.";

/** Runs backup or restore with its arguments. */
export const runBackupScript = (
  help: string,
  run: (given: BackupArguments) => Promise<number>,
): Promise<void> =>
  runScript({
    help,
    options: { "no-objects": { type: "boolean", default: false } },
    async run(values, [folder, ...others]) {
      if (!folder || others.length > 0) throw new Failure(EXIT.usage, "expected one folder");
      const databaseUrl = settingText("DATABASE_URL");
      if (!databaseUrl) throw new Failure(EXIT.unavailable, NO_DATABASE);
      return await run({ folder, withObjects: !values["no-objects"], databaseUrl });
    },
  });
