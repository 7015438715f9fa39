import { contentOf, type FileUser, openFileUser, uploadFile } from "./file_people.ts";
import { type Ground, median, rounded, tell } from "./ground.ts";
import { load, type LoadRequest } from "./load.ts";

const ROUNDS = 3;
const CONNECTIONS = 32;
const SECONDS = 3;

/** Reservations: a row, its object's row, and a signed upload URL each. */
export const filesReserve = (ground: Ground): Promise<void> =>
  underLoad(ground, "reservations", 1_500, (user) => {
    const body = JSON.stringify({
      profile: "document",
      fileName: "bench.txt",
      contentType: "text/plain",
      sizeBytes: 1_000,
    });
    const headers = { authorization: user.authorization, "content-type": "application/json" };
    return Promise.resolve({ method: "POST", path: "/api/v1/files", headers, body });
  });

/** Download URLs: a signature and an audit row each, on the disk before the answer. */
export const filesDownloadUrl = (ground: Ground): Promise<void> =>
  underLoad(ground, "download URLs", 3_000, async (user, port) => {
    const fileId = await uploadFile(port, user, { profile: "document", content: contentOf(1_000) });
    return { path: `/api/v1/files/${fileId}/download-url`, headers: { authorization: user.authorization } };
  });

/** Tells the rate of a request, and against reading one user, which costs the machine one query. */
async function underLoad(
  ground: Ground,
  what: string,
  least: number,
  prepare: (user: FileUser, port: number) => Promise<LoadRequest>,
): Promise<void> {
  const service = await ground.startService();
  const user = await openFileUser(ground, service.port);
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
    if (round === 0) continue; // the first round only warms up
    rates.push(measured.perSecond);
    ratios.push(measured.perSecond / read.perSecond);
    last =
      `p50 ${measured.p50} ms, p95 ${measured.p95} ms; reading a user ${read.perSecond}/s, p95 ${read.p95} ms`;
  }
  tell(`${what} over ${CONNECTIONS} connections`, median(rates), "/s", { least });
  tell(`${what}, against reading one user`, rounded(median(ratios)), " ×");
  console.log(`    last round: ${last}`);
  await service.stop();
}
