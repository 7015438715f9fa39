// Lists, retries and purges dead letters directly in the database: `deno task dead-letters COMMAND`.
import {
  listDeadLetterGroups,
  purgeDeadLetters,
  retryDeadLetters,
} from "../domain/jobs/control/dead_letter_groups.ts";
import { listDeadLetters, readDeadLetter } from "../domain/jobs/lists/dead_letter_list.ts";
import { retryDeadLetter } from "../domain/jobs/control/dead_letters.ts";
import { JobTypes } from "../domain/jobs/job_type.ts";
import { masked, oneLine, runJobCommand } from "./shared/database_command.ts";
import { parseId, parseInteger, parseTime } from "./shared/option_values.ts";
import { EXIT, Failure } from "./shared/run_script.ts";

const HELP = `Usage: deno task dead-letters COMMAND [options]

Commands:
  groups       dead letters not yet retried, by job type and error, largest group first
  list         dead letters not yet retried with their errors, newest first
  show ID      print a dead letter with its error, arguments and job
  retry [ID]   enqueue the job of one dead letter again, or (without ID) of all that match
  purge        delete dead letters

Options:
  --tenant ID        only this tenant's dead letters
  --type NAME        retry: only this job type
  --error TEXT       retry: only errors that contain TEXT
  --from TIME        retry: only failures at or after TIME (ISO 8601)
  --to TIME          retry: only failures at or before TIME
  --dry-run          retry, without ID: only count
  --older-than DAYS  purge: only failures more than DAYS days ago
  --all              purge: all; retry: all, without another filter
  --limit N          groups, list: at most N (20; up to 1000)
  --json             print JSON
  -h, --help         this text

Example: deno task dead-letters retry --type steward.http-request --from 2026-01-31T12:00:00Z --dry-run

The database is DATABASE_URL; beside \`deno task dev\` it is found without.

Exit code 0 when done, 1 when refused, 64 for wrong usage, 69 when the database is not usable.`;

/** Empty registry: the script knows no job types, so retried jobs keep their creator. */
const jobTypes = new JobTypes();

await runJobCommand({
  help: HELP,
  name: "dead-letters",
  takes: { retry: 1, show: 1 },
  options: {
    type: { type: "string" },
    error: { type: "string" },
    from: { type: "string" },
    to: { type: "string" },
    "dry-run": { type: "boolean", default: false },
    "older-than": { type: "string" },
    all: { type: "boolean", default: false },
    limit: { type: "string", default: "20" },
  },
  commands: {
    async groups({ sql, reach, values, print }) {
      const pageSize = parseInteger("--limit", values.limit, 1, 1000);
      const { items } = await listDeadLetterGroups(sql, reach, { page: 1, pageSize });
      const lines = items.map((group) =>
        `${String(group.count).padStart(8)}  ${group.jobTypeName}  ${group.errorPattern}`
      );
      print(items, lines.join("\n") || "no dead letters");
    },
    async list({ sql, reach, values, print }) {
      const pageSize = parseInteger("--limit", values.limit, 1, 1000);
      const { items } = await listDeadLetters(sql, reach, { page: 1, pageSize, isRetried: false });
      const lines = items.map(({ id, jobTypeName, failedAt, errorMessage }) =>
        `${id}  ${failedAt.toISOString()}  ${jobTypeName}  ${oneLine(errorMessage ?? "")}`
      );
      print(await masked(sql, items), lines.join("\n") || "no dead letters");
    },
    async show({ sql, reach, args: [id], print }) {
      print(await masked(sql, await readDeadLetter(sql, reach, parseId("show", id))));
    },
    async retry({ sql, wakeUps, actor, reach, values, args: [id], print }) {
      const platform = { sql, wakeUps, jobTypes };
      const filter = {
        jobTypeName: values.type ?? null,
        errorPattern: null,
        errorContains: values.error ?? null,
        failedFrom: parseTime("--from", values.from),
        failedTo: parseTime("--to", values.to),
      };
      const isFiltered = Object.values(filter).some((part) => part !== null);
      if (id !== undefined) {
        if (isFiltered || values.all || values["dry-run"]) {
          throw new Failure(EXIT.usage, "retry with an ID takes no filter, no --all and no --dry-run");
        }
        return print(await retryDeadLetter(platform, actor, parseId("retry", id)));
      }
      if (!values.all && !isFiltered) {
        throw new Failure(EXIT.usage, "retry needs an ID, a filter, or --all");
      }
      print(await retryDeadLetters(platform, actor, { filter, reach, dryRun: values["dry-run"] }));
    },
    async purge({ sql, actor, reach, values, print }) {
      const days = values["older-than"];
      if ((days === undefined) === !values.all) {
        throw new Failure(EXIT.usage, "purge needs either --older-than or --all");
      }
      const retentionDays = days === undefined ? null : parseInteger("--older-than", days, 0, 36_500);
      const purge = { retentionDays, reach, filter: null, expectedCount: null, dryRun: false };
      const { purged } = await purgeDeadLetters(sql, actor, purge);
      print({ purged });
    },
  },
});
