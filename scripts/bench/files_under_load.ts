import { contentOf, type FileUser, openFileUser, uploadFile } from "./file_setup.ts";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { load, type LoadRequest } from "./load.ts";

const ROUNDS = 3;
const CONNECTIONS = 32;
const SECONDS = 3;

/** Rate of reservations. Each inserts a file row and an object row, and signs an upload URL. */
export const filesReserve = (setup: BenchSetup): Promise<void> =>
  underLoad(setup, "reservations", 1_500, (user) => {
    const body = JSON.stringify({
      profile: "document",
      fileName: "bench.txt",
      contentType: "text/plain",
      sizeBytes: 1_000,
    });
    const headers = { authorization: user.authorization, "content-type": "application/json" };
    return Promise.resolve({ method: "POST", path: "/api/v1/files", headers, body });
  });

/** Rate of download URLs. Each signs a URL and commits an audit row before the response. */
export const filesDownloadUrl = (setup: BenchSetup): Promise<void> =>
  underLoad(setup, "download URLs", 3_000, async (user, port) => {
    const fileId = await uploadFile(port, user, { profile: "document", content: contentOf(1_000) });
    return { path: `/api/v1/files/${fileId}/download-url`, headers: { authorization: user.authorization } };
  });

/** Prints the rate of a request, and its ratio to reading one user, which takes one query. */
async function underLoad(
  setup: BenchSetup,
  what: string,
  min: number,
  prepare: (user: FileUser, port: number) => Promise<LoadRequest>,
): Promise<void> {
  const service = await setup.startService();
  const user = await openFileUser(setup, service.port);
  const request = await prepare(user, service.port);
  const baseline = {
    path: `/api/v1/users/${user.userId}`,
    headers: { authorization: user.authorization },
  };
  const rates: number[] = [];
  const ratios: number[] = [];
  let last = "";
  for (let round = 0; round <= ROUNDS; round++) {
    const run = (next: LoadRequest) =>
      load({ port: service.port, connections: CONNECTIONS, seconds: SECONDS, next: () => next });
    const read = await run(baseline);
    const measured = await run(request);
    if (Object.keys(measured.statuses).some((status) => Number(status) >= 300)) {
      throw new Error(`answers were ${JSON.stringify(measured.statuses)}`);
    }
    if (round === 0) continue; // warm-up
    rates.push(measured.perSecond);
    ratios.push(measured.perSecond / read.perSecond);
    last =
      `p50 ${measured.p50} ms, p95 ${measured.p95} ms; reading a user ${read.perSecond}/s, p95 ${read.p95} ms`;
  }
  printResult(`${what} over ${CONNECTIONS} connections`, median(rates), "/s", { min });
  printResult(`${what}, against reading one user`, rounded(median(ratios)), " ×");
  console.log(`    last round: ${last}`);
  await service.stop();
}
