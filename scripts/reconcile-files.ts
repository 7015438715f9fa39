// Compares the registry with the bucket, both ways: `deno task reconcile-files`.
import { type Difference, reconcileFiles } from "../domain/files/reconcile.ts";
import { ObjectStoreError } from "../infra/objectstore/objectstore.ts";
import { runCli, wantInteger } from "./shared/cli.ts";
import { EXIT, Failure } from "./shared/command_line.ts";
import { openConfiguredStore } from "./shared/object_store.ts";

const HELP = `Usage: DATABASE_URL=postgres://... S3_ENDPOINT=https://... deno task reconcile-files [options]

Compares the file registry with the bucket and lists the differences; may run beside live traffic. Files are told by
their id, objects by a hash of their key.
  orphan        an object without a row               --apply deletes it
  upload        an unfinished multipart upload without a row   --apply ends it
  unregistered  content whose object row is gone      --apply writes the row anew
  missing       an Available file without content     --apply writes it to the audit log; restore the object, or purge
  altered       content that is not what was scanned  the file, to be rid of it

Options:
  --apply        mend; without it nothing is changed
  --hours N      leave alone what is younger than N hours (24; at least 2)
  --json         print JSON: counts, then nothing else
  -h, --help     this text

Example: deno task reconcile-files --apply --hours 48

The bucket is that of the service's own settings (S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY, ...).
Exit code 0 when registry and bucket agree or all was mended, 1 when differences are left (in a dry run: any),
64 for wrong usage, 69 when database or bucket cannot be used.`;

const HOUR_MS = 3_600_000;
const LEFT_TO_PEOPLE: readonly Difference["kind"][] = ["missing", "altered"];

await runCli({
  help: HELP,
  name: "reconcile-files",
  options: {
    apply: { type: "boolean", default: false },
    hours: { type: "string", default: "24" },
  },
  async run({ values, positionals, sql, clock, print }) {
    if (positionals.length > 0) throw new Failure(EXIT.usage, `there is no command "${positionals[0]}"`);
    // Twice an upload's own time: an object is there before anybody else could tell that it is wanted.
    const safeAgeMs = wantInteger("--hours", values.hours, 2, 100_000) * HOUR_MS;
    const { apply, json } = values as { apply: boolean; json?: boolean };
    const counts: Record<Difference["kind"], number> = {
      ...{ orphan: 0, upload: 0, unregistered: 0, missing: 0, altered: 0 },
    };
    const found = (difference: Difference) => {
      counts[difference.kind]++;
      if (!json) console.log(lineOf(difference));
    };
    const seen = await reconcileFiles({ sql, objects: openConfiguredStore(), clock }, {
      ...{ apply, safeAgeMs, found },
    }).catch((error) => {
      if (!(error instanceof ObjectStoreError)) throw error;
      throw new Failure(EXIT.unavailable, `the bucket cannot be used: ${error.message}`);
    });
    print({
      ...{
        apply,
        objects: seen.objects,
        files: seen.files,
        uploads: seen.uploads ?? "not listed by this store",
      },
      ...counts,
    });
    const kinds = Object.keys(counts) as Difference["kind"][];
    const left = kinds.filter((kind) => counts[kind] > 0 && (!apply || LEFT_TO_PEOPLE.includes(kind)));
    if (left.length > 0) throw new Failure(EXIT.refused, `differences are left: ${left.join(", ")}`);
  },
});

function lineOf(difference: Difference): string {
  const what = "fileId" in difference
    ? `file ${difference.fileId}`
    : `object ${difference.object}  ${difference.at.toISOString()}`;
  return `${difference.kind.padEnd(14)}${what}`;
}
