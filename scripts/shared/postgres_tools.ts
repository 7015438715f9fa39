import { addressOf } from "../../infra/postgres/driver_workarounds.ts";
import { EXIT, Failure } from "./run_script.ts";

/** Connection settings as environment variables of the client tools; arguments would be visible to other users. */
export function toolEnvironment(databaseUrl: string): Record<string, string> {
  const { host, port, user, pass, database, ssl } = addressOf(databaseUrl);
  return {
    PGHOST: host.join(","),
    PGPORT: port.join(","),
    PGUSER: user,
    PGPASSWORD: pass,
    PGDATABASE: database,
    ...(host.length > 1 ? { PGTARGETSESSIONATTRS: "primary" } : {}),
    ...(typeof ssl === "string" ? { PGSSLMODE: ssl } : {}),
  };
}

/**
 * Runs one of Postgres' client tools.
 * @throws Failure when it is not installed or fails, with its first line of stderr
 */
export async function runTool(name: string, args: string[], databaseUrl: string): Promise<void> {
  let outcome: Deno.CommandOutput;
  try {
    outcome = await new Deno.Command(name, {
      args,
      env: toolEnvironment(databaseUrl),
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const what = "the client tools of Postgres, of the server's version or a later one";
    throw new Failure(EXIT.unavailable, `${name} was not found; install ${what}`);
  }
  if (outcome.success) return;
  const [said = ""] = new TextDecoder().decode(outcome.stderr).trim().split("\n");
  throw new Failure(EXIT.unavailable, `${name} ended with code ${outcome.code}: ${said}`);
}
