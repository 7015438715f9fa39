// Decides about dead letters straight in the database: `deno task dead-letters COMMAND`.
import { listDeadLetterGroups, retryDeadLetters } from "../domain/jobs/dead_letter_groups.ts";
import { purgeDeadLetters, retryDeadLetter } from "../domain/jobs/dead_letters.ts";
import { JobTypes } from "../domain/jobs/job_type.ts";
import { runJobCommand, wantId, wantInteger, wantTime } from "./shared/cli.ts";
import { EXIT, Failure } from "./shared/command_line.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task dead-letters COMMAND [options]

Commands:
  groups       dead letters not yet retried, by job type and error, largest group first
  retry [ID]   enqueue one dead letter's job anew, or (without ID) all that match
  purge        remove dead letters

Options:
  --tenant ID        of this tenant only
  --type NAME        retry: of this job type
  --error TEXT       retry: whose error contains TEXT
  --from TIME        retry: that failed at or after TIME (ISO 8601)
  --to TIME          retry: that failed at or before TIME
  --dry-run          retry, without ID: only count
  --older-than DAYS  purge: that failed more than DAYS days ago
  --all              purge: every one; retry: without any other filter
  --limit N          groups: at most N (20; up to 1000)
  --json             print JSON
  -h, --help         this text

Example: deno task dead-letters retry --type steward.http-request --from 2026-01-31T12:00:00Z --dry-run

Exit code 0 when done, 1 when refused, 64 for wrong usage, 69 when the database cannot be used.`;

/** No type is known here: what is retried stays its maker's. */
const jobTypes = new JobTypes();

await runJobCommand({
  help: HELP,
  name: "dead-letters",
  takes: { retry: 1 },
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
      const pageSize = wantInteger("--limit", values.limit, 1, 1000);
      const { items } = await listDeadLetterGroups(sql, reach, { page: 1, pageSize });
      const lines = items.map((group) =>
        `${String(group.count).padStart(8)}  ${group.jobTypeName}  ${group.errorPattern}`
      );
      print(items, lines.join("\n") || "no dead letters");
    },
    async retry({ sql, wakeUps, actor, reach, values, args: [id], print }) {
      const parts = { sql, wakeUps, jobTypes };
      const filter = {
        jobTypeName: values.type ?? null,
        errorPattern: null,
        errorContains: values.error ?? null,
        failedFrom: wantTime("--from", values.from),
        failedTo: wantTime("--to", values.to),
      };
      const isFiltered = Object.values(filter).some((part) => part !== null);
      if (id !== undefined) {
        if (isFiltered || values.all || values["dry-run"]) {
          throw new Failure(EXIT.usage, "retry with an ID takes no filter, no --all and no --dry-run");
        }
        return print(await retryDeadLetter(parts, actor, wantId("retry", id)));
      }
      if (!values.all && !isFiltered) {
        throw new Failure(EXIT.usage, "retry needs an ID, a filter, or --all");
      }
      print(await retryDeadLetters(parts, actor, { filter, reach, dryRun: values["dry-run"] }));
    },
    async purge({ sql, actor, reach, values, print }) {
      const days = values["older-than"];
      if ((days === undefined) === !values.all) {
        throw new Failure(EXIT.usage, "purge needs either --older-than or --all");
      }
      const retentionDays = days === undefined ? null : wantInteger("--older-than", days, 0, 36_500);
      print({ purged: await purgeDeadLetters({ sql }, actor, { retentionDays, reach }) });
    },
  },
});
