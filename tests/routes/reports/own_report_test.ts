import assert from "node:assert/strict";
import { join } from "node:path";
import { setup } from "../../support/setup.ts";
import { fetchDocument } from "./support.ts";

const ROOT = join(import.meta.dirname ?? ".", "../../..");

/** The example of the README, as a deployment would copy it. */
async function readmeExample(): Promise<string> {
  const readme = await Deno.readTextFile(join(ROOT, "domain/reports/README.md"));
  return /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
}

Deno.test("the example of the README is listed, validated and generated in every format", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(join(folder, "users_by_domain.ts"), await readmeExample());
  const t = await setup({ REPORT_TEMPLATES_DIR: folder });
  try {
    const tenantId = await t.tenant();
    const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
    for (const name of ["a", "b"]) {
      const { userId } = await t.actor({ tenantId, permissions: [] });
      await t.steward.platform
        .sql`update users set email = ${`${name}@Παράδειγμα.example`} where id = ${userId}`;
    }
    const { body: list } = await analyst.get("/api/v1/reports");
    const listed = list.find(({ templateId }: { templateId: string }) => templateId === "users-by-domain");
    assert.deepEqual(
      listed.parameters.map(({ name, valueType }: Record<string, string>) => [name, valueType]),
      [
        ["atLeast", "int"],
        ["includeChildTenants", "bool"],
      ],
    );
    const generate = (format: number, parameters = {}) =>
      analyst.post("/api/v1/reports/generate", { templateId: "users-by-domain", format, parameters });
    const text = async (format: number, parameters = {}) => {
      const { status, body } = await generate(format, parameters);
      assert.equal(status, 201, JSON.stringify(body));
      return new TextDecoder().decode((await fetchDocument(analyst, body.id)).bytes);
    };
    assert.equal(await text(3), "Domain,Users\r\nπαράδειγμα.example,2\r\nexample.test,1\r\n");
    assert.equal(await text(3, { atLeast: 2 }), "Domain,Users\r\nπαράδειγμα.example,2\r\n");
    assert.match(await text(4), /<h2>Users by domain<\/h2>/);
    assert.match(await text(1), /^%PDF-/);
    assert.match(await text(2), /^PK/);
    const refused = await generate(3, { atLeast: 0 });
    assert.deepEqual(Object.keys(refused.body.errors), ["parameters.atLeast"]);
    const visitor = await t.actor({ tenantId, permissions: [] });
    const hidden = await visitor.post("/api/v1/reports/generate", {
      templateId: "users-by-domain",
      format: 3,
    });
    assert.equal(hidden.body.code, "MISSING_PERMISSION");
  } finally {
    await t.stop();
    await Deno.remove(folder, { recursive: true });
  }
});

/** Loads the templates of `folder` in a process that may read the service's own folder and `alsoRead`. */
async function loadWithin(folder: string, alsoRead: string[] = []): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "--no-check", "--allow-env", `--allow-read=${[".", ...alsoRead].join(",")}`],
      "-",
    ],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const sources = JSON.stringify({ folder, extensions: [] });
  const script = `import { loadReportTemplates } from "./domain/reports/registry.ts";
    const said = await loadReportTemplates(${sources}).then(({ size }) => size, (e) => e.message);
    console.log(said);`;
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { stdout, stderr } = await child.output();
  return new TextDecoder().decode(stdout).trim() || new TextDecoder().decode(stderr);
}

Deno.test("a folder outside the service's own needs a read permission, and the error names it", async () => {
  // The runner may put temporary files below /dev, which Deno lets no process read that is restricted to some folders.
  const folder = await Deno.makeTempDir(Deno.build.os === "linux" ? { dir: "/tmp" } : {});
  // As mounted configuration: a link to the file.
  await Deno.mkdir(join(folder, "mounted"));
  await Deno.writeTextFile(join(folder, "mounted", "one.ts"), await readmeExample());
  await Deno.symlink(join(folder, "mounted", "one.ts"), join(folder, "one.ts"));
  const refused = await loadWithin(folder);
  assert.match(refused, /^REPORT_TEMPLATES_DIR names .*this process may not read it; .*--allow-read=/);
  assert.ok(refused.includes(folder), refused);
  assert.equal(await loadWithin(folder, [folder]), "10");
  const missing = await loadWithin(join(folder, "none"), [folder]);
  assert.match(missing, /^REPORT_TEMPLATES_DIR names .*the folder does not exist$/);
  assert.match(
    await loadWithin(join(folder, "one.ts"), [folder]),
    /^REPORT_TEMPLATES_DIR names .*cannot be read: /,
  );
  await Deno.remove(folder, { recursive: true });
});
