import { hashPassword } from "../../infra/passwords.ts";
import { newId } from "../../domain/shared/ids.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { givePassword, populate, signIn } from "./sample_users.ts";

/** The user that the file benchmarks sign in. Reading this user is their baseline. */
export interface FileUser {
  tenantId: string;
  userId: string;
  authorization: string;
}

const PERMISSIONS = ["upload:files", "read:files", "retain:files", "purge:files", "read:users"];

/** Creates and signs in a user with all file permissions. */
export async function openFileUser(setup: BenchSetup, port: number): Promise<FileUser> {
  const { sql } = setup;
  const { tenantId, userId } = await populate(sql, { users: 100, tenants: 1 });
  const roleId = newId();
  await sql`insert into roles (id, tenant_id, name) values (${roleId}, ${tenantId}, 'Files')`;
  await sql`insert into role_permissions (role_id, permission_id)
    select ${roleId}, id from permissions where tenant_id is null and code = any(${PERMISSIONS}::text[])`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${userId}, ${tenantId}, ${roleId})`;
  const email = await givePassword(sql, userId, await hashPassword("bench-password"));
  return { tenantId, userId, authorization: `Bearer ${await signIn(port, email, "bench-password")}` };
}

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
  { authorization }: FileUser,
  o: { profile: string; content: Uint8Array<ArrayBuffer> },
): Promise<string> {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/files${path}`, {
      method,
      headers: { authorization, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) {
      throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    }
    return answer;
  };
  const { content, profile } = o;
  const reservation = await call("POST", "", {
    profile,
    fileName: "bench.txt",
    contentType: "text/plain",
    sizeBytes: content.length,
  });
  const put = await fetch(reservation.uploadUrl, {
    method: "PUT",
    headers: reservation.requiredHeaders,
    body: content,
  });
  await put.body?.cancel();
  if (!put.ok) throw new Error(`the upload answered ${put.status}`);
  await call("POST", `/${reservation.fileId}/complete`);
  for (;;) {
    const { status } = await call("GET", `/${reservation.fileId}`);
    if (status === "Available") return reservation.fileId;
    if (status !== "Scanning") throw new Error(`the file became ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
