import type { BenchSetup } from "./bench_setup.ts";
import { compare, measure } from "./compare.ts";
import { contentOf, type FileUser, openFileUser, reservationOf, uploadFile } from "./file_setup.ts";
import { type LoadRequest, rateOf } from "./load.ts";

/** Rate of reservations. Each inserts a file row and an object row, and signs an upload URL. */
export async function filesReserve(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  const user = await openFileUser(setup, port);
  const request = { path: "/api/v1/files", headers: user.headers, body: reservationOf(1_000) };
  await reportRate({ name: "reservations", port, user, request, min: 1_500 });
}

/** Rate of download URLs. Each signs a URL and commits an audit row before the response. */
export async function filesDownloadUrl(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  const user = await openFileUser(setup, port);
  const fileId = await uploadFile(port, user, contentOf(1_000));
  const request = { path: `/api/v1/files/${fileId}/download-url`, headers: user.headers };
  await reportRate({ name: "download URLs", port, user, request, min: 3_000 });
}

/** Prints the rate of a request, and its ratio to reading one user, which takes one query. */
async function reportRate(
  o: { name: string; port: number; user: FileUser; request: LoadRequest; min: number },
): Promise<void> {
  const busy = { connections: 32, seconds: 3 };
  const ours = () => rateOf(o.port, o.request, busy);
  const readUser = { path: `/api/v1/users/${o.user.userId}`, headers: o.user.headers };
  await measure({ name: `${o.name} over 32 connections`, unit: "/s", run: ours, min: o.min });
  await compare({
    name: `${o.name}, against reading one user`,
    unit: "/s",
    ours,
    baseline: () => rateOf(o.port, readUser, busy),
  });
}
