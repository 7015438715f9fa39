import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { readConfig } from "../../../infra/config.ts";
import { startEmbeddedStack } from "../../../infra/embedded/stack.ts";
import { openOutbox } from "../../../infra/mail/outbox.ts";

Deno.test({
  name: "other users of the machine cannot read DATA_DIR",
  ignore: process.platform === "win32",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
    const dir = join(folder, "data");
    const before = Deno.umask(0o022);
    try {
      const stack = await startEmbeddedStack(
        readConfig({ DATA_DIR: dir, DATABASE_URL: "postgres://127.0.0.1/unused" }),
      );
      await stack.stop();
      await openOutbox(join(dir, "outbox"));
      for (const name of ["", "objects", "outbox"]) {
        assert.equal((await Deno.stat(join(dir, name))).mode! & 0o077, 0, name || "DATA_DIR");
      }
    } finally {
      Deno.umask(before);
      await Deno.remove(folder, { recursive: true });
    }
  },
});
