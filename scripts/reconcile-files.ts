// Compares the file registry with the bucket in both directions: `deno task reconcile-files`.
import { HOUR_MS } from "../infra/clock.ts";
import { type Difference, reconcileFiles } from "../domain/files/reconcile.ts";
import { ObjectStoreError } from "../infra/objectstore/objectstore.ts";
import { runDatabaseCommand } from "./shared/database_command.ts";
import { parseInteger } from "./shared/option_values.ts";
import { EXIT, Failure, requireNoArguments } from "./shared/run_script.ts";
import { openConfiguredStore } from "./shared/object_store.ts";

const HELP = `Usage: DATABASE_URL=postgres://... S3_ENDPOINT=https://... deno task reconcile-files [options]

Compares the file registry with the bucket and lists the differences; the service may keep running. Files are shown by
their id, objects by a hash of their key.
  orphan        an object without a row                        --apply deletes it
  upload        an unfinished multipart upload without a row   --apply aborts it
  unregistered  content without an object row                  --apply inserts the row
  missing       an Available file without content              --apply writes it to the audit log
  altered       content that differs from the scanned content  --apply writes it to the audit log
For missing and altered files, restore the object or purge the file.

Options:
  --apply        fix the differences; without it nothing is changed
  --hours N      ignore everything younger than N hours (24; at least 2)
  --json         print only the counts, as JSON
  -h, --help     this text

Example: deno task reconcile-files --apply --hours 48

The bucket comes from the service's settings (S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY, ...).
Exit code 0 when registry and bucket agree or everything was fixed, 1 when differences remain (without --apply: any
difference), 64 for wrong usage, 69 when the database or the bucket is not usable.`;

const NOT_FIXABLE: readonly Difference["kind"][] = ["missing", "altered"];

await runDatabaseCommand({
  help: HELP,
  name: "reconcile-files",
  options: {
    apply: { type: "boolean", default: false },
    hours: { type: "string", default: "24" },
  },
  async run({ values, positionals, sql, clock, print }) {
    requireNoArguments(positionals);
    // At least twice the lifetime of an upload URL: an object can exist before the row that refers to it.
    const safeAgeMs = parseInteger("--hours", values.hours, 2, 100_000) * HOUR_MS;
    const { apply, json } = values as { apply: boolean; json?: boolean };
    const counts = { orphan: 0, upload: 0, unregistered: 0, missing: 0, altered: 0 };
    const found = (difference: Difference) => {
      counts[difference.kind]++;
      if (!json) console.log(lineOf(difference));
    };
    const seen = await reconcileFiles({ sql, objects: openConfiguredStore(), clock }, {
      apply,
      safeAgeMs,
      found,
    }).catch((error) => {
      if (!(error instanceof ObjectStoreError)) throw error;
      throw new Failure(EXIT.unavailable, `the bucket is not usable: ${error.message}`);
    });
    print({
      apply,
      objects: seen.objects,
      files: seen.files,
      uploads: seen.uploads ?? "not listed by this store",
      ...counts,
    });
    const kinds = Object.keys(counts) as Difference["kind"][];
    const remaining = kinds.filter((kind) => counts[kind] > 0 && (!apply || NOT_FIXABLE.includes(kind)));
    if (remaining.length > 0) throw new Failure(EXIT.refused, `differences remain: ${remaining.join(", ")}`);
  },
});

function lineOf(difference: Difference): string {
  const what = "fileId" in difference
    ? `file ${difference.fileId}`
    : `object ${difference.object}  ${difference.at.toISOString()}`;
  return `${difference.kind.padEnd(14)}${what}`;
}
