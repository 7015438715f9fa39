// A remote worker process for benchmarks: claims and settles jobs in batches until none is left. Prints jobs per second.
const [port = "", headersJson = "{}", total = "0"] = Deno.args;
const LOOPS = 8;
const BATCH = 100;
const headers = { ...JSON.parse(headersJson), "content-type": "application/json" };

async function post(path: string, body: unknown) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/work/${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (response.status !== 200) {
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  }
  return await response.json();
}

let settled = 0;
const started = performance.now();
await Promise.all(Array.from({ length: LOOPS }, async () => {
  while (settled < Number(total)) {
    const claim = { types: ["bench.remote"], max: BATCH, waitSeconds: 0.2, worker: `bench-${Deno.pid}` };
    const { jobs } = await post("claim", claim);
    if (jobs.length === 0) continue;
    const results = jobs.map(({ jobId, attempt }: { jobId: string; attempt: number }) => ({
      jobId,
      attempt,
      outcome: "succeeded",
    }));
    const answer = await post("settle", { jobs: results });
    settled += answer.jobs.filter(({ result }: { result: string }) => result === "settled").length;
  }
}));
console.log(JSON.stringify({ perSecond: settled / ((performance.now() - started) / 1000), settled }));
