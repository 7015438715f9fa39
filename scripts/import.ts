// Imports users, templates or jobs of another product by the API: `deno task import SOURCE FILE…`.
import { connectPostgres, type Sql } from "../infra/postgres/postgres.ts";
import { StewardProblem, Transport } from "./client/transport.ts";
import { readAuth0, readGraphileWorker, readHangfire, readKeycloak, readNovu } from "./import/sources.ts";
import type { Plan } from "./import/plan.ts";
import { writePlan } from "./import/write.ts";
import { parseChoice } from "./shared/option_values.ts";
import { EXIT, Failure, runScript } from "./shared/run_script.ts";

const HELP = `Usage: STEWARD_URL=https://... STEWARD_TOKEN=sk_... deno task import SOURCE FILE... [--write]

Imports from another product into the tenant of the token, by the API. Without --write nothing is written: the counts and
what would be refused are printed. A second run doubles nothing.

SOURCE: keycloak (exports of a realm), auth0 (exports of users, password hashes and roles), novu (workflows),
        graphile-worker or hangfire (FILE is the connection string of their Postgres; absent: SOURCE_DATABASE_URL)
  --write        write what was counted

Example: deno task import keycloak realm-export.json --write

Exit code 0 when nothing was refused, 1 when something was, 64 for wrong usage, 66 when the source cannot be read, 69 when the
service does not answer.`;

type FromFiles = (files: string[]) => Promise<Plan>;
const fromFiles = (read: FromFiles): FromFiles => async (files) => {
  if (files.length === 0) throw new Failure(EXIT.usage, "expected a file");
  const plan = await read(files);
  if (plan.isEmpty) throw new Failure(EXIT.noInput, "the source has nothing that is imported");
  return plan;
};
const fromDatabase =
  (read: (q: Sql) => Promise<Plan>): FromFiles => async ([url = Deno.env.get("SOURCE_DATABASE_URL")]) => {
    if (!url) throw new Failure(EXIT.usage, "expected the connection string of the source");
    const sql = connectPostgres(url, { max: 1, prepare: false, applicationName: "steward import" });
    return await read(sql).finally(() => sql.end());
  };
const SOURCES: Record<string, FromFiles> = {
  keycloak: fromFiles(readKeycloak),
  auth0: fromFiles(readAuth0),
  novu: fromFiles(readNovu),
  "graphile-worker": fromDatabase(readGraphileWorker),
  hangfire: fromDatabase(readHangfire),
};

await runScript({
  help: HELP,
  options: { write: { type: "boolean", default: false } },
  async run({ write }, [source = "", ...files]) {
    const read = SOURCES[parseChoice("SOURCE", source, Object.keys(SOURCES))];
    const [baseUrl, token] = ["STEWARD_URL", "STEWARD_TOKEN"].map((name) => Deno.env.get(name));
    if (!read || !baseUrl || !token) throw new Failure(EXIT.usage, "STEWARD_URL or STEWARD_TOKEN is missing");
    const plan = await read(files).catch((error) => {
      if (error instanceof Failure) throw error;
      throw new Failure(EXIT.noInput, `cannot read the source: ${error.message}`);
    });
    await writePlan(new Transport({ baseUrl, token }), plan, !write).catch((error) => {
      if (error instanceof Failure) throw error;
      const isRefusal = error instanceof StewardProblem && error.status < 500;
      throw new Failure(isRefusal ? EXIT.refused : EXIT.unavailable, `${baseUrl}: ${error.message}`);
    }).finally(() => plan.refused.forEach((line) => console.error(`refused: ${line}`)));
    if (!write) console.log("dry run, nothing written; repeat it with --write");
    return plan.refused.length > 0 ? EXIT.refused : 0;
  },
});
