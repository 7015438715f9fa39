// Templates of a deployment, loaded by a process that may not read every folder.
import assert from "node:assert/strict";
import { join } from "node:path";
import { loadReportTemplates } from "../../../domain/reports/threads/registry.ts";

const ROOT = join(import.meta.dirname ?? ".", "../../..");

Deno.test("a folder outside the service's own needs a read permission, and the error names it", async () => {
  // The runner may put temporary files below /dev, which Deno lets no process read that is restricted to some folders.
  const place = Deno.build.os === "linux" ? { dir: "/tmp" } : {};
  const folders = [await Deno.makeTempDir(place), await Deno.makeTempDir(place)];
  const [other = "", folder = ""] = folders;
  // As mounted configuration: a link to the file.
  await Deno.mkdir(join(folder, "mounted"));
  const readme = await Deno.readTextFile(join(ROOT, "domain/reports/README.md"));
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  await Deno.writeTextFile(join(folder, "mounted", "one.ts"), example);
  await Deno.symlink(join(folder, "mounted", "one.ts"), join(folder, "one.ts"));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", "--allow-env", `--allow-read=.,${folder}`, "-"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const script = `import { loadReportTemplates } from "./domain/reports/threads/registry.ts";
    for (const folder of ${
    JSON.stringify(folders)
  }) console.log(await loadReportTemplates({ folder, extensions: [] })
      .then(({ size }) => size, ({ message }) => message));`;
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { stdout } = await child.output();
  const [refused = "", loaded] = new TextDecoder().decode(stdout).trim().split("\n");
  assert.match(refused, /^REPORT_TEMPLATES_DIR names .*this process may not read it; .*--allow-read=/);
  assert.ok(refused.includes(other), refused);
  const builtIn = await loadReportTemplates({ folder: null, extensions: [] });
  assert.equal(loaded, String(builtIn.size + 1));
  for (const each of folders) await Deno.remove(each, { recursive: true });
});
