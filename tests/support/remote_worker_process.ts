// A remote worker in its own process, for tests that kill it: claims, works for some milliseconds, renews and settles.
export interface RemoteWorkerOptions {
  url: string;
  token: string;
  types: string[];
  name: string;
}

export const startRemoteWorker = (o: RemoteWorkerOptions): Deno.ChildProcess =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.filename ?? "", JSON.stringify(o)],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();

async function work({ url, token, types, name }: RemoteWorkerOptions): Promise<never> {
  async function call(route: string, body: unknown) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/work/${route}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (response.ok) return await response.json();
    await response.body?.cancel();
    return { jobs: [] };
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  for (;;) {
    const requestId = crypto.randomUUID();
    const claim = { types, max: 100, waitSeconds: 1, worker: name, requestId };
    const { jobs } = await call("claim", claim);
    if (jobs.length === 0) continue;
    await pause(Math.random() * 20);
    await call("heartbeat", {
      jobs: jobs.map(({ jobId, attempt }: Item) => ({ jobId, attempt, percent: 50 })),
    });
    await pause(Math.random() * 20);
    await call("settle", {
      jobs: jobs.map(({ jobId, attempt }: Item) => ({
        jobId,
        attempt,
        outcome: "succeeded",
        output: Deno.pid,
      })),
    });
  }
}

interface Item {
  jobId: string;
  attempt: number;
}

if (import.meta.main) await work(JSON.parse(Deno.args[0] ?? "{}"));
