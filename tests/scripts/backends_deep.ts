import assert from "node:assert/strict";
import { join } from "node:path";
import { HttpClient } from "../support/http.ts";
import { run, succeeds } from "../support/processes.ts";
import { setup } from "../support/setup.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname ?? ".", "../..");
const FOLDER = join(ROOT, "scripts/client/backends");
const README = join(ROOT, "routes/README.md");

/** The backends by file, with the arguments that check for the language, and the command that starts the backend. */
const BACKENDS: Record<string, { check: [string, ...string[]]; build?: (program: string) => string[] }> = {
  "node.mjs": { check: ["node", "--version"] },
  "python.py": { check: ["python3", "--version"] },
  "main.go": {
    check: ["go", "version"],
    build: (program) => ["env", "CGO_ENABLED=0", "go", "build", "-buildvcs=false", "-o", program, "main.go"],
  },
};

const t = await setup();
Deno.test.afterAll(() => t.stop());
const account = await t.systemAdmin.post("/api/v1/service-accounts", {
  name: "Backend",
  permissions: ["check:access", "read:events"],
  tenants: "all",
});

/** Starts a backend; returns its URL, and a function that ends it. */
async function start(file: string): Promise<{ url: string; stop(): Promise<void> }> {
  const { check: [program], build } = BACKENDS[file]!;
  const folder = await Deno.makeTempDir({ prefix: "steward-backend-" });
  const binary = join(folder, "backend");
  if (build) {
    const [command = "", ...args] = build(binary);
    await run(command, args, { cwd: FOLDER });
  }
  const child = new Deno.Command(build ? binary : program, {
    args: build ? [] : [join(FOLDER, file)],
    env: { STEWARD_URL: t.url, STEWARD_SECRET: account.body.secret, PORT: "0" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await output.read();
    assert.ok(!done, `${file} ended: ${text}`);
    text += value;
  }
  const port = /listening on (\d+)/.exec(text)?.[1];
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill("SIGKILL");
      await output.cancel();
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** How often the service was asked. */
const checks = () => t.logs.filter((line) => line.includes('"/api/v1/access/check"')).length;

for (const [file, { check: [program, ...args] }] of Object.entries(BACKENDS)) {
  const isInstalled = await succeeds(program, ...args);
  Deno.test({
    name: `${file}: a user who loses the role is refused within two seconds, and few requests ask`,
    ignore: !isInstalled,
    async fn() {
      const admin = await t.actor({ permissions: ["update:users", "update:roles"] });
      const user = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:users"] });
      const other = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:users"] });
      const backend = await start(file);
      try {
        const asBackend = new HttpClient(backend.url);
        const ask = async ({ userId, tenantId }: { userId: string; tenantId: string | null }) =>
          (await asBackend.get(`/?user=${userId}&tenant=${tenantId}&permission=read:users`)).status;
        const before = checks();
        for (let n = 0; n < 20; n++) assert.deepEqual([await ask(user), await ask(other)], [200, 200]);
        assert.equal(checks() - before, 2, "one question about each user");
        const changed = await admin.put(`/api/v1/users/${user.userId}/roles`, { roleIds: [] });
        assert.equal(changed.status, 200);
        const since = performance.now();
        await until(async () => await ask(user) === 403);
        const elapsed = performance.now() - since;
        assert.ok(elapsed < 2000, `refused after ${elapsed} ms`);
        assert.equal(await ask(other), 200);
        assert.equal(checks() - before, 3, "the answers about the other user hold");
      } finally {
        await backend.stop();
      }
    },
  });
}

Deno.test("the README shows the part of each backend that a product needs, in less than 15 lines of code", async () => {
  const readme = await Deno.readTextFile(README);
  for (const file of Object.keys(BACKENDS)) {
    const source = await Deno.readTextFile(join(FOLDER, file));
    const [, part = ""] =
      /(?:\/\/|#) The answers that hold[^\n]*\n([\s\S]*?)\n+(?:\/\/|#) End of the part/.exec(source) ?? [];
    const isCode = (line: string) => !/^\s*(?:[)}\]]*[;,]?|\/\/.*|#.*)$/.test(line);
    const lines = part.split("\n").filter(isCode);
    assert.ok(lines.length > 5 && lines.length < 15, `${file} has ${lines.length} lines`);
    assert.ok(readme.includes(part), `routes/README.md shows the part of ${file}`);
  }
});
