import { upload } from "../client/helpers.ts";
import { each, type Page, pause, type Transport } from "../client/transport.ts";
import { EXIT, Failure } from "../shared/run_script.ts";
import type { Plan } from "./plan.ts";

const JOBS_OF_REQUEST = 1_000;
/** The longest time for which a job may hold its key: so long a second import finds the jobs of the first. */
const KEY_SECONDS = 366 * 86_400;

const USERS_FILE = { profile: "document", fileName: "steward-import-users.txt", contentType: "text/plain" };
/** A file of users of this age is of a run that was killed. */
const LONGEST_RUN_MS = 3_600_000;

type Named = { name: string; slug?: string; isSystemRole?: boolean };
/** Names are compared without letter case, as the service does. */
const keyOf = ({ name, slug = name }: Named): string => slug.toLowerCase();
type Counts = Record<"created" | "updated" | "unchanged" | "failed", number>;
type Import = Counts & { finishedAt: string | null; error: string | null };
const isFinished = ({ finishedAt }: Import): boolean => finishedAt !== null;
const isScanned = ({ status }: { status: string }): boolean => status !== "Scanning";
type Stop = { signal?: AbortSignal };
type Enqueued = { succeeded: number; duplicates: number[]; failures: { index: number; message: string }[] };

/** Writes a plan by the API, or with `isDryRun` counts what would be written. Prints a line for each kind. */
export async function writePlan(api: Transport, plan: Plan, isDryRun: boolean): Promise<void> {
  const signal = untilStopped();
  const options = { signal };
  const get = <T>(path: string, query = {}) => api.request<T>({ method: "GET", path, query, options });
  const post = <T>(path: string, body: unknown) => api.request<T>({ method: "POST", path, body, options });
  const print = (what: string, counts: object) =>
    console.log(`${what}: ${Object.entries(counts).map(([outcome, n]) => `${n} ${outcome}`).join(", ")}`);

  /**
   * Creates the rows whose slug or name is not in the list at `path`. @returns those of both by `keyOf`, without the catalog's
   * roles: those have permissions, and the other product's roles of these names mean something else
   */
  async function createMissing(what: string, path: string, rows: Named[]): Promise<Map<string, string>> {
    const known = new Map<string, Named>();
    const pages = (page: number) => get<Page<Named>>(path, { page, pageSize: 100 });
    for await (const row of each(pages)) known.set(keyOf(row), row);
    const wanted = new Map(rows.map((row) => [keyOf(row), row]));
    const missing = [...wanted].filter(([key]) => !known.has(key));
    const counts = { created: missing.length, unchanged: wanted.size - missing.length };
    for (const [key, row] of isDryRun ? [] : missing) {
      await post(path, row).then(() => known.set(key, row), (error) => {
        counts.created--;
        plan.refused.push(`${row.slug ?? row.name}: ${error.message}`);
      });
    }
    for (const [key, { name }] of wanted) {
      if (!known.get(key)?.isSystemRole) continue;
      plan.refused.push(`role ${name}: a role of this name has permissions here; give it by hand`);
      known.delete(key);
    }
    print(what, counts);
    return new Map([...known].map(([key, { name }]) => [key, name]));
  }

  /** Asks until the answer is the awaited one. @param options without a signal: it waits also after Ctrl-C */
  async function until<T>(
    path: string,
    isDone: (answer: T) => boolean,
    options: Stop = { signal },
  ): Promise<T> {
    for (;;) {
      const answer = await api.request<T>({ method: "GET", path, options });
      if (isDone(answer)) return answer;
      await pause(500, options.signal);
    }
  }

  /** Imports users by a file, which is purged afterwards, because it has their hashes; so is that of a run that was killed. */
  async function importUsers(rows: Omit<Plan["users"][number], "roles">[]): Promise<Counts> {
    const toDate = new Date(Date.now() - LONGEST_RUN_MS).toISOString();
    const left = { search: USERS_FILE.fileName, status: "Available", toDate };
    for (const { id } of (await get<Page<{ id: string }>>("/api/v1/files", left)).items) await purge(id);
    let fileId = "";
    let importPath: string | undefined;
    try {
      const content = new TextEncoder().encode(JSON.stringify(rows));
      await upload(api, { ...USERS_FILE, content, signal, onReserved: (id) => void (fileId = id) });
      await until(`/api/v1/files/${fileId}`, isScanned);
      const { importId } = await post<{ importId: string }>("/api/v1/users/imports", {
        fileId,
        dryRun: isDryRun,
      });
      const path = importPath = `/api/v1/users/imports/${importId}`;
      const done = await until(path, isFinished);
      if (done.error) throw new Failure(EXIT.refused, `the import of users failed: ${done.error}`);
      const { failures } = await get<{ failures: { row: number; error: string }[] }>(`${path}/preview`);
      for (const { row, error } of failures) {
        plan.refused.push(`${rows[row - 1]?.email ?? `row ${row}`}: ${error}`);
      }
      const { created, updated, unchanged, failed } = done;
      return { created, updated, unchanged, failed };
    } finally {
      if (fileId) await purge(fileId, importPath);
    }
  }

  /** Purges a file of users when its import has ended. One that is not uploaded yet ends by itself. */
  async function purge(fileId: string, importPath?: string): Promise<void> {
    const path = `/api/v1/files/${fileId}`;
    try {
      if (importPath) await until(importPath, isFinished, {});
      const { status } = await until(path, isScanned, {});
      const body = { reason: "Users were imported" };
      if (status !== "Pending") await api.request({ method: "POST", path: `${path}/purge`, body });
    } catch (error) {
      const fault = (error as Error).message;
      plan.refused.push(`the purge of file ${fileId}, which has the hashes; purge it: ${fault}`);
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
    const rows = plan.users.map(({ roles, ...user }) => {
      const names = new Set(roles.flatMap((name) => known.get(keyOf({ name })) ?? []));
      return { ...user, ...names.size > 0 ? { roles: [...names] } : {} }; // an empty list would take roles
    });
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

/** Is aborted by Ctrl-C or a request to end, so that the file of users is purged first. A second one ends at once. */
function untilStopped(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(name, () => {
      if (controller.signal.aborted) Deno.exit(EXIT.interrupted);
      console.error(`${name}: ends when the file of users is purged`);
      controller.abort(new Failure(EXIT.interrupted, `stopped by ${name}`));
    });
  }
  return controller.signal;
}
