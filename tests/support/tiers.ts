// The two tiers of tests. A test file belongs to the tier of its name.
import { join, relative, resolve } from "node:path";

/** `gate`: after every change, by `deno task ok`. `deep`: what takes long or needs other programs, by `deno task deep`. */
export type Tier = "gate" | "deep";
const NAMES: Record<Tier, RegExp> = { gate: /_test\.tsx?$/, deep: /_deep\.tsx?$/ };

export const TESTS = join(import.meta.dirname ?? ".", "..");

/** Paths of tests that declare problems, channels or resources, which are known in the whole process. They share one. */
export const DECLARING = /^(routes\/extensions|routes\/records\/new_record_|scripts\/(client_test|example))/;
export const isDeclaring = (file: string): boolean => DECLARING.test(relative(TESTS, file));

/** Deep tests that measure time or memory. They run one after the other, when all others have ended. */
const ALONE = [
  "domain/access/permissions/csv_deep.ts",
  "domain/jobs/due_times_deep.ts",
  "domain/templates/hostile_deep.ts",
  "domain/documents/markup_time_deep.ts",
  "infra/foreign_hashes_deep.ts",
  "infra/objectstore/memory_deep.ts",
  "infra/postgres/connections_deep.ts",
  "infra/scanner/yara_deep.ts",
  "operations/image_deep.ts",
  "operations/instances_deep.ts",
  "operations/soak_deep.ts",
  "routes/auth/password_time_deep.ts",
  "routes/console/recipients_time_deep.ts",
  "routes/contract/large_lists_deep.ts",
  "routes/files/corpus_deep.ts",
  "routes/notifications/template_rendering_deep.ts",
  "routes/shared/hostile_requests_deep.ts",
  "scripts/backends_deep.ts",
  "scripts/workers/graceful_stop_deep.ts",
];
export const isAlone = (file: string): boolean => ALONE.includes(relative(TESTS, file).replaceAll("\\", "/"));

/** A run can be limited to some files and folders, by this variable: paths with a comma between them. */
export const ONLY_PATHS = "STEWARD_TEST_PATHS";

/** Paths of the test files of a tier in a folder. */
export const testFilesIn = (folder: string, tier: Tier): string[] =>
  filesIn(resolve(folder)).filter((file) => NAMES[tier].test(file));

/** Test files of a tier for a run, the largest first: a long test that starts last keeps the other processes waiting. */
export function testFilesOf(tier: Tier): string[] {
  const paths = Deno.env.get(ONLY_PATHS)?.split(",") ?? [TESTS];
  const files = paths.flatMap((path) => testFilesIn(path, tier));
  const sizes = new Map(files.map((file) => [file, Deno.statSync(file).size]));
  return files.sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0) || (a < b ? -1 : 1));
}

const filesIn = (path: string): string[] =>
  Deno.statSync(path).isDirectory
    ? [...Deno.readDirSync(path)].flatMap(({ name }) => filesIn(join(path, name)))
    : [path];
