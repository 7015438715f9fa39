import { upload } from "../client/helpers.ts";
import { each, type Page, pause, type Transport } from "../client/transport.ts";
import { EXIT, Failure } from "../shared/run_script.ts";
import type { Plan } from "./plan.ts";

const JOBS_OF_REQUEST = 1_000;
/** The longest time for which a job may hold its key: so long a second import finds the jobs of the first. */
const KEY_SECONDS = 366 * 86_400;

const get = <T>(api: Transport, path: string, query = {}): Promise<T> =>
  api.request<T>({ method: "GET", path, query });
const post = <T>(api: Transport, path: string, body: unknown): Promise<T> =>
  api.request<T>({ method: "POST", path, body });

/** Writes a plan by the API, or with `isDryRun` counts what would be written. Prints a line for each kind. */
export async function writePlan(api: Transport, plan: Plan, isDryRun: boolean): Promise<void> {
  const print = (what: string, counts: object) =>
    console.log(`${what}: ${Object.entries(counts).map(([outcome, n]) => `${n} ${outcome}`).join(", ")}`);
  if (plan.roles.length + plan.users.length > 0) {
    const { known, ...counts } = await createMissing(api, "/api/v1/roles", plan, plan.roles, isDryRun);
    print("roles", counts);
    const rows = plan.users.map((user) => ({ ...user, roles: user.roles.filter((name) => known.has(name)) }));
    const without = rows.filter(({ passwordHash }) => !passwordHash).length;
    const users = rows.length > 0 ? await importUsers(api, plan, rows, isDryRun) : {};
    print("users", { ...users, "without a password that can be kept": without });
  }
  if (plan.templates.length > 0) {
    const { known: _, ...counts } = await createMissing(
      api,
      "/api/v1/notification-templates",
      plan,
      plan.templates,
      isDryRun,
    );
    print("templates", counts);
  }
  if (plan.jobs.length > 0) print("jobs", await enqueueJobs(api, plan, isDryRun));
}

/** Creates the rows whose name, or slug, is not in the list at `path`. @returns also all names */
async function createMissing<R extends { name: string; slug?: string }>(
  api: Transport,
  path: string,
  plan: Plan,
  rows: R[],
  isDryRun: boolean,
) {
  const known = new Set<string>();
  const pages = (page: number) =>
    get<Page<{ name: string; slug?: string }>>(api, path, { page, pageSize: 100 });
  if (rows.length > 0 || plan.users.length > 0) {
    for await (const { name, slug } of each(pages)) known.add(slug ?? name);
  }
  const missing = rows.filter(({ name, slug }) => !known.has(slug ?? name));
  const counts = { created: missing.length, unchanged: rows.length - missing.length };
  for (const row of isDryRun ? [] : missing) {
    await post(api, path, row).then(() => known.add(row.slug ?? row.name), (error) => {
      counts.created--;
      plan.refused.push(`${row.slug ?? row.name}: ${error.message}`);
    });
  }
  return { known, ...counts };
}

type Counts = Record<"created" | "updated" | "unchanged" | "failed", number>;

/** Imports users by a file, which is purged afterwards, because it has their hashes. */
async function importUsers(
  api: Transport,
  plan: Plan,
  rows: Plan["users"],
  dryRun: boolean,
): Promise<Counts> {
  const content = new TextEncoder().encode(JSON.stringify(rows));
  const { id } = await upload<{ id: string }>(api, {
    profile: "document",
    fileName: "users.txt",
    contentType: "text/plain",
    content,
  });
  try {
    await until<{ status: string }>(api, `/api/v1/files/${id}`, ({ status }) => status !== "Scanning");
    const { importId } = await post<{ importId: string }>(api, "/api/v1/users/imports", {
      fileId: id,
      dryRun,
    });
    const path = `/api/v1/users/imports/${importId}`;
    const { error, created, updated, unchanged, failed } = await until<
      Counts & { finishedAt: string | null; error: string | null }
    >(
      api,
      path,
      ({ finishedAt }) => finishedAt !== null,
    );
    if (error) throw new Failure(EXIT.refused, `the import of users failed: ${error}`);
    const { failures } = await get<{ failures: { row: number; error: string }[] }>(api, `${path}/preview`);
    plan.refused.push(
      ...failures.map(({ row, error }) => `${rows[row - 1]?.email ?? rows[row - 1]?.externalId}: ${error}`),
    );
    return { created, updated, unchanged, failed };
  } finally {
    await post(api, `/api/v1/files/${id}/purge`, { reason: "Users were imported" });
  }
}

async function until<T>(api: Transport, path: string, isDone: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await get<T>(api, path);
    if (isDone(answer)) return answer;
    await pause(500);
  }
}

interface Enqueued {
  succeeded: number;
  duplicates: number[];
  failures: { index: number; message: string }[];
}

async function enqueueJobs(api: Transport, plan: Plan, isDryRun: boolean): Promise<object> {
  const known = new Set((await get<{ name: string }[]>(api, "/api/v1/jobs/types")).map(({ name }) => name));
  for (const [name, { length }] of Map.groupBy(plan.jobs, ({ jobTypeName }) => jobTypeName)) {
    if (!known.has(name)) {
      plan.refused.push(`${length} jobs of ${name}: declare it first, with PUT /api/v1/job-types/${name}`);
    }
  }
  const jobs = plan.jobs.filter(({ jobTypeName }) => known.has(jobTypeName));
  if (isDryRun) return { found: jobs.length };
  const counts = { created: 0, unchanged: 0 };
  for (let at = 0; at < jobs.length; at += JOBS_OF_REQUEST) {
    const items = jobs.slice(at, at + JOBS_OF_REQUEST).map((job) => ({ ...job, uniqueFor: KEY_SECONDS }));
    const done = await post<Enqueued>(api, "/api/v1/jobs/bulk", { items, continueOnError: true });
    counts.created += done.succeeded - done.duplicates.length;
    counts.unchanged += done.duplicates.length;
    plan.refused.push(...done.failures.map(({ index, message }) => `${items[index]?.uniqueKey}: ${message}`));
  }
  return counts;
}
