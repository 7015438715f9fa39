import { setTimeout as delay } from "node:timers/promises";
import type { BenchSetup } from "./bench_setup.ts";
import { populate, signInUser } from "./sample_users.ts";

/** The signed-in user of the file benchmarks. Reading this user is their baseline. */
export interface FileUser {
  userId: string;
  headers: Record<string, string>;
}

const PERMISSIONS = ["upload:files", "read:files", "retain:files", "purge:files"];

/** Creates and signs in a user with all file permissions, `read:users` and `more`. */
export async function openFileUser(
  { sql }: BenchSetup,
  port: number,
  more: string[] = [],
): Promise<FileUser> {
  const { tenantId, userId } = await populate(sql, { users: 100, tenants: 1 });
  const { headers } = await signInUser(sql, port, {
    tenantId,
    userId,
    permissions: [...PERMISSIONS, ...more],
  });
  return { userId, headers };
}

/** Body of a reservation of a text file. */
export const reservationOf = (sizeBytes: number) => ({
  profile: "document",
  fileName: "bench.txt",
  contentType: "text/plain",
  sizeBytes,
});

/** Text content of exactly `sizeBytes`: one line, repeated. */
export function contentOf(sizeBytes: number): Uint8Array<ArrayBuffer> {
  const line = new TextEncoder().encode("0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ\n");
  const content = new Uint8Array(sizeBytes);
  for (let at = 0; at < sizeBytes; at += line.length) content.set(line.subarray(0, sizeBytes - at), at);
  return content;
}

/** Uploads a text file and waits until it is Available; returns its id. */
export async function uploadFile(
  port: number,
  { headers }: FileUser,
  content: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/files${path}`, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(answer)}`);
  };
  const { fileId, uploadUrl, requiredHeaders } = await call("POST", "", reservationOf(content.length));
  const put = await fetch(uploadUrl, { method: "PUT", headers: requiredHeaders, body: content });
  await put.body?.cancel();
  if (!put.ok) throw new Error(`the upload answered ${put.status}`);
  await call("POST", `/${fileId}/complete`);
  for (;;) {
    const { status } = await call("GET", `/${fileId}`);
    if (status === "Available") return fileId;
    if (status !== "Scanning") throw new Error(`the file became ${status}`);
    await delay(20);
  }
}
