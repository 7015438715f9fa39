// Decides about dead letters straight in the database: `deno task dead-letters COMMAND`.
import { listDeadLetterGroups, retryDeadLetters } from "../domain/jobs/dead_letter_groups.ts";
import { purgeDeadLetters, retryDeadLetter } from "../domain/jobs/dead_letters.ts";
import { JobTypes } from "../domain/jobs/job_type.ts";
import { jobReach, operator } from "../domain/jobs/reach.ts";
import { runCli, wantInteger } from "./shared/cli.ts";
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
  --dry-run          retry: only count
  --older-than DAYS  purge: that failed more than DAYS days ago
  --all              purge: every one; retry: without any other filter
  --limit N          groups: at most N (20; up to 1000)
  --json             print JSON
  -h, --help         this text

Exit code 0 when done, 1 when refused, 64 for wrong usage, 69 when the database cannot be used.`;

await runCli({
  help: HELP,
  name: "dead-letters",
  options: {
    tenant: { type: "string" },
    type: { type: "string" },
    error: { type: "string" },
    from: { type: "string" },
    to: { type: "string" },
    "dry-run": { type: "boolean", default: false },
    "older-than": { type: "string" },
    all: { type: "boolean", default: false },
    limit: { type: "string", default: "20" },
  },
  async run({ values, positionals: [command, id], sql, bell, print }) {
    const actor = operator(values.tenant ?? null);
    const reach = jobReach(actor, values.tenant);
    const parts = { sql, bell, jobTypes: new JobTypes() };
    switch (command) {
      case "groups": {
        const pageSize = wantInteger("--limit", values.limit, 1, 1000);
        const { items } = await listDeadLetterGroups(sql, reach, { page: 1, pageSize });
        const lines = items.map((group) =>
          `${String(group.count).padStart(8)}  ${group.jobTypeName}  ${group.errorPattern}`
        );
        return print(items, lines.join("\n") || "no dead letters");
      }
      case "retry": {
        if (id) return print(await retryDeadLetter(parts, actor, id));
        const filter = {
          jobTypeName: values.type ?? null,
          errorPattern: null,
          errorContains: values.error ?? null,
          failedFrom: time("--from", values.from),
          failedTo: time("--to", values.to),
        };
        if (!values.all && Object.values(filter).every((part) => part === null)) {
          throw new Failure(EXIT.usage, "retry needs an ID, a filter, or --all");
        }
        return print(await retryDeadLetters(parts, actor, { filter, reach, dryRun: values["dry-run"] }));
      }
      case "purge": {
        const days = values["older-than"];
        if ((days === undefined) === !values.all) {
          throw new Failure(EXIT.usage, "purge needs either --older-than or --all");
        }
        const retentionDays = days === undefined ? null : wantInteger("--older-than", days, 0, 36_500);
        return print({ purged: await purgeDeadLetters({ sql }, actor, { retentionDays, reach }) });
      }
      default:
        throw new Failure(EXIT.usage, command ? `there is no command "${command}"` : "a command is missing");
    }
  },
});

function time(option: string, given: string | undefined): Date | null {
  if (given === undefined) return null;
  const at = new Date(given);
  if (!Number.isNaN(at.getTime())) return at;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an ISO 8601 time`);
}
