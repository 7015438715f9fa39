import { setTimeout as delay } from "node:timers/promises";
import type { BenchSetup } from "./bench_setup.ts";
import { report, scaled, timeOf } from "./compare.ts";
import { openFileUser, uploadFile } from "./file_setup.ts";

const ROWS = scaled(100_000);
const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";

/**
 * Time of importing 100,000 users with links, roles and password hashes, then of importing the same file again, which
 * changes nothing. Includes the stored result file, not the upload.
 */
export async function importUsers(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  const user = await openFileUser(setup, port, ["create:users"]);
  const fileId = await uploadFile(port, user, new TextEncoder().encode(csv()));
  const run = (expected: Record<string, number>) =>
    timeOf(() => importFile(port, user.headers, fileId, expected));
  report(`${ROWS} new users`, await run({ created: ROWS }), " ms", { max: 60_000 });
  report(`${ROWS} known users`, await run({ unchanged: ROWS }), " ms", { max: 60_000 });
}

function csv(): string {
  const lines = Array.from(
    { length: ROWS },
    (_, n) => `import${n}@example.test,Ana,Silva ${n},+351 ${n},E${n},Reader,${BCRYPT},"{""n"":${n}}"`,
  );
  return ["email,firstName,lastName,phoneNumber,externalId,roles,passwordHash,metadata", ...lines].join("\n");
}

async function importFile(
  port: number,
  headers: Record<string, string>,
  fileId: string,
  expected: Record<string, number>,
): Promise<void> {
  const path = `http://127.0.0.1:${port}/api/v1/users/imports`;
  const started = await fetch(path, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ fileId }),
  });
  const { importId } = await started.json();
  for (;;) {
    const found = await (await fetch(`${path}/${importId}`, { headers })).json();
    if (found.status === "Completed") {
      for (const [name, count] of Object.entries(expected)) {
        if (found[name] !== count) throw new Error(`expected ${count} ${name}: ${JSON.stringify(found)}`);
      }
      return;
    }
    if (found.status === "Failed") throw new Error(`the import failed: ${found.error}`);
    await delay(50);
  }
}
