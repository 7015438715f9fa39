import { upload } from "../client/helpers.ts";
import { each, type Page, pause, type Transport } from "../client/transport.ts";
import { EXIT, Failure } from "../shared/run_script.ts";
import type { Plan } from "./plan.ts";

const JOBS_OF_REQUEST = 1_000;
/** The longest time for which a job may hold its key: so long a second import finds the jobs of the first. */
const KEY_SECONDS = 366 * 86_400;

type Named = { name: string; slug?: string };
type Counts = Record<"created" | "updated" | "unchanged" | "failed", number>;
type Import = Counts & { finishedAt: string | null; error: string | null };
type Enqueued = { succeeded: number; duplicates: number[]; failures: { index: number; message: string }[] };

/** Writes a plan by the API, or with `isDryRun` counts what would be written. Prints a line for each kind. */
export async function writePlan(api: Transport, plan: Plan, isDryRun: boolean): Promise<void> {
  const get = <T>(path: string, query = {}) => api.request<T>({ method: "GET", path, query });
  const post = <T>(path: string, body: unknown) => api.request<T>({ method: "POST", path, body });
  const print = (what: string, counts: object) =>
    console.log(`${what}: ${Object.entries(counts).map(([outcome, n]) => `${n} ${outcome}`).join(", ")}`);

  /** Creates the rows whose slug or name is not in the list at `path`; returns those of both. */
  async function createMissing(what: string, path: string, rows: Named[]): Promise<Set<string>> {
    const known = new Set<string>();
    const pages = (page: number) => get<Page<Named>>(path, { page, pageSize: 100 });
    for await (const { name, slug = name } of each(pages)) known.add(slug);
    const missing = rows.filter(({ name, slug = name }) => !known.has(slug));
    const counts = { created: missing.length, unchanged: rows.length - missing.length };
    for (const row of isDryRun ? [] : missing) {
      await post(path, row).then(() => known.add(row.slug ?? row.name), (error) => {
        counts.created--;
        plan.refused.push(`${row.slug ?? row.name}: ${error.message}`);
      });
    }
    print(what, counts);
    return known;
  }

  async function until<T>(path: string, isDone: (answer: T) => boolean): Promise<T> {
    for (;;) {
      const answer = await get<T>(path);
      if (isDone(answer)) return answer;
      await pause(500);
    }
  }

  /** Imports users by a file, which is purged afterwards, because it has their hashes. */
  async function importUsers(rows: Plan["users"]): Promise<Counts> {
    const file = { profile: "document", fileName: "users.txt", contentType: "text/plain" };
    const content = new TextEncoder().encode(JSON.stringify(rows));
    const { id: fileId } = await upload<{ id: string }>(api, { ...file, content });
    try {
      await until<{ status: string }>(`/api/v1/files/${fileId}`, ({ status }) => status !== "Scanning");
      const { importId } = await post<{ importId: string }>("/api/v1/users/imports", {
        fileId,
        dryRun: isDryRun,
      });
      const path = `/api/v1/users/imports/${importId}`;
      const done = await until<Import>(path, ({ finishedAt }) => finishedAt !== null);
      if (done.error) throw new Failure(EXIT.refused, `the import of users failed: ${done.error}`);
      const { failures } = await get<{ failures: { row: number; error: string }[] }>(`${path}/preview`);
      for (const { row, error } of failures) {
        plan.refused.push(`${rows[row - 1]?.email ?? `row ${row}`}: ${error}`);
      }
      const { created, updated, unchanged, failed } = done;
      return { created, updated, unchanged, failed };
    } finally {
      await post(`/api/v1/files/${fileId}/purge`, { reason: "Users were imported" }).catch((error) =>
        plan.refused.push(`the purge of file ${fileId}, which has the hashes; purge it: ${error.message}`)
      );
    }
  }

  async function enqueueJobs(): Promise<object> {
    const known = new Set((await get<Named[]>("/api/v1/jobs/types")).map(({ name }) => name));
    for (const [name, { length }] of Map.groupBy(plan.jobs, ({ jobTypeName }) => jobTypeName)) {
      const fix = `declare it first, with PUT /api/v1/job-types/${name}`;
      if (!known.has(name)) plan.refused.push(`${length} jobs of ${name}: ${fix}`);
    }
    const jobs = plan.jobs.filter(({ jobTypeName }) => known.has(jobTypeName));
    if (isDryRun) return { found: jobs.length };
    const counts = { created: 0, unchanged: 0 };
    for (let at = 0; at < jobs.length; at += JOBS_OF_REQUEST) {
      const items = jobs.slice(at, at + JOBS_OF_REQUEST).map((job) => ({ ...job, uniqueFor: KEY_SECONDS }));
      const done = await post<Enqueued>("/api/v1/jobs/bulk", { items, continueOnError: true });
      counts.created += done.succeeded - done.duplicates.length;
      counts.unchanged += done.duplicates.length;
      for (const { index, message } of done.failures) {
        plan.refused.push(`${items[index]?.uniqueKey}: ${message}`);
      }
    }
    return counts;
  }

  if (plan.roles.length + plan.users.length > 0) {
    const known = await createMissing("roles", "/api/v1/roles", plan.roles);
    const rows = plan.users.map((user) => ({ ...user, roles: user.roles.filter((name) => known.has(name)) }));
    const without = rows.filter(({ passwordHash }) => !passwordHash).length;
    if (rows.length > 0) {
      print("users", { ...await importUsers(rows), "without a password that can be kept": without });
    }
  }
  if (plan.templates.length > 0) {
    await createMissing("templates", "/api/v1/notification-templates", plan.templates);
  }
  if (plan.jobs.length > 0) print("jobs", await enqueueJobs());
}
