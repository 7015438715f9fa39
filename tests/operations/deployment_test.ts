// Checks the Dockerfile and the files of scripts/deploy against the code. helm_test.ts checks the Helm chart.
import assert from "node:assert/strict";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { profilesOf } from "../../domain/files/profiles.ts";
import { readConfig } from "../../infra/config.ts";
import { SETTINGS } from "../../infra/settings.ts";
import { SCRIPTS } from "../../scripts/image/parts.ts";
import { SECRETS } from "../support/deployment_secrets.ts";

const root = join(import.meta.dirname ?? ".", "..", "..");
const text = (path: string) => Deno.readTextFile(join(root, path));
const dockerfile = await text("Dockerfile");
const deno = JSON.parse(await text("deno.json"));

interface ComposeService {
  command?: string[];
  environment?: Record<string, string>;
  secrets?: string[];
  ports?: string[];
  volumes?: string[];
  stop_grace_period?: string;
  depends_on?: Record<string, unknown>;
}
interface Compose {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  secrets: Record<string, { file: string }>;
}

const document = parseDocument(await text("scripts/deploy/compose.yaml"), { merge: true, strict: true });
assert.deepEqual([...document.errors, ...document.warnings], []);
const compose: Compose = document.toJS();
const { steward, migrate } = compose.services;
const drainSeconds = Number(/DRAIN_MS = ([\d_]+)/.exec(await text("main.ts"))?.[1]?.replaceAll("_", "")) /
  1000;

/** What a module imports. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*"([^"\n]+)"/g;

Deno.test("the image contains no history of the source, tests, local data or secrets", async () => {
  const ignored = (await text(".dockerignore")).split("\n");
  for (const path of [".git", ".github", ".ci", ".data", "tests", "*.env", ".env*", "scripts/deploy"]) {
    assert.ok(ignored.includes(path), path);
  }
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = ""]) =>
    paths.split(" ")
  );
  const sources = ["deno.json", "deno.lock", "main.ts", "infra", "domain", "routes", "scripts"];
  assert.deepEqual(copied, sources, "folders by name, not the whole checkout");
});

Deno.test("production starts with steward.env.example and the secrets of compose.yaml, which are settings", async () => {
  const lines = (await text("scripts/deploy/steward.env.example")).split("\n");
  const env = Object.fromEntries(
    lines.filter((line) => line && !line.startsWith("#")).map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  const files = Object.keys(steward?.environment ?? {}).filter((name) => name.endsWith("_FILE"));
  const secrets = files.map((name) => name.replace(/_FILE$/, ""));
  const all = { ...env, ...Object.fromEntries(secrets.map((name) => [name, SECRETS[name] ?? ""])) };
  assert.deepEqual([...Object.keys(env), ...secrets].filter((name) => !(name in SETTINGS)), []);
  assert.ok(readConfig({ ...all, STEWARD_ENV: "production" }).isProduction);
  for (const name of secrets) {
    const withoutIt = Object.fromEntries(Object.entries(all).filter(([each]) => each !== name));
    assert.throws(() => readConfig({ ...withoutIt, STEWARD_ENV: "production" }), new RegExp(name));
  }
});

Deno.test("compose.yaml mounts every secret that it names, and its README tells how to make each", async () => {
  const readme = await text("scripts/deploy/README.md");
  for (const [name, { file }] of Object.entries(compose.secrets)) {
    assert.equal(file, `secrets/${name}`);
    assert.ok(readme.includes(`| \`${name}\` |`), `${name} in scripts/deploy/README.md`);
  }
  for (
    const { environment = {}, secrets = [], volumes = [], depends_on = {} } of Object.values(compose.services)
  ) {
    const named = Object.values(environment).filter((value) => value.startsWith("/run/secrets/"));
    assert.deepEqual(named.map((path) => path.slice("/run/secrets/".length)).sort(), [...secrets].sort());
    assert.deepEqual(secrets.filter((name) => !(name in compose.secrets)), []);
    const sources = volumes.map((volume) => volume.split(":")[0] ?? "").filter((source) =>
      !source.startsWith(".")
    );
    assert.deepEqual(sources.filter((source) => !(source in compose.volumes)), []);
    assert.deepEqual(Object.keys(depends_on).filter((name) => !(name in compose.services)), []);
  }
});

Deno.test("clamd.conf accepts the largest file profile", async () => {
  const settings = new Map(
    (await text("scripts/deploy/clamd.conf")).split("\n").filter((line) => line && !line.startsWith("#"))
      .map((line) => line.split(" ") as [string, string]),
  );
  const profiles = [...profilesOf(readConfig({})).values()];
  const largest = Math.max(...profiles.map(({ maxBytes }) => maxBytes));
  for (const name of ["StreamMaxLength", "MaxFileSize", "MaxScanSize"]) {
    const megabytes = Number(/^(\d+)M$/.exec(settings.get(name) ?? "")?.[1]);
    assert.ok(megabytes * 1024 * 1024 >= largest, name);
  }
  assert.equal(settings.get("AlertExceedsMax"), "yes");
});

Deno.test("image and compose.yaml use the same port and wait for an instance to drain", () => {
  const port = Number(/\bPORT=(\d+)/.exec(dockerfile)?.[1]);
  assert.match(dockerfile, new RegExp(`^EXPOSE ${port}$`, "m"));
  assert.deepEqual(steward?.ports, [`${port}:${port}`]);
  assert.ok(dockerfile.includes("/healthz"), "the image's own health check");
  assert.ok(drainSeconds > 0);
  assert.ok(Number(/^(\d+)s$/.exec(steward?.stop_grace_period ?? "")?.[1]) >= drainSeconds + 5);
});

Deno.test("haproxy.cfg asks /readyz, waits for bodies, and repeats only requests that were not sent", async () => {
  const lines = (await text("scripts/deploy/haproxy.cfg")).split("\n").map((line) =>
    line.split("#")[0]?.trim()
  );
  const backends = lines.filter((line) => line?.startsWith("backend ")).length;
  assert.equal(lines.filter((line) => line === "option httpchk GET /readyz").length, backends);
  assert.ok(lines.includes("option http-buffer-request"));
  assert.deepEqual(lines.filter((line) => line?.startsWith("retry-on")), ["retry-on conn-failure"]);
});

Deno.test("image and compose.yaml start existing files, with the permissions of the tasks in deno.json", () => {
  const flags = (words: string[]) => words.filter((word) => /^--(allow|v8-flags)/.test(word));
  const command: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]");
  assert.deepEqual(flags(command), flags(deno.tasks.start.split(" ")));
  assert.deepEqual(migrate?.command, ["deno", "task", "migrate"]);
  assert.ok(SCRIPTS.includes("migrate"));
  for (const name of SCRIPTS) assert.ok(deno.tasks[name].endsWith(` scripts/${name}.ts`), name);
});

Deno.test("Dockerfile.extension puts the extension where the image looks for it, and restores the image's user", async () => {
  const lines = (await text("scripts/deploy/Dockerfile.extension")).split("\n").filter((line) =>
    !line.startsWith("#")
  );
  const workdir = /^WORKDIR (\S+)$/m.exec(dockerfile)?.[1];
  const folder = /^COPY acme (\S+)$/.exec(lines.find((line) => line.startsWith("COPY")) ?? "")?.[1];
  const [, name = "", module = ""] =
    /^ENV (\w+)=(\S+)$/.exec(lines.find((line) => line.startsWith("ENV")) ?? "") ?? [];
  assert.ok(name in SETTINGS);
  assert.ok(workdir && join(workdir, module).startsWith(`${folder}/`));
  const users = lines.filter((line) => line.startsWith("USER"));
  assert.equal(users.at(-1), /^USER .+$/m.exec(dockerfile)?.[0]);
});

Deno.test("the image contains every module and package that main.ts and its scripts import", async () => {
  const copied = dockerfile.split("\n").flatMap((line) =>
    /^COPY (?!--)(.+) \S+$/.exec(line)?.[1]?.split(" ") ?? []
  );
  const ignored = (await text(".dockerignore")).trim().split("\n");
  const within = (path: string, folders: string[]) =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const removed = /deno remove ([^&]+)/.exec(dockerfile)?.[1]?.split(/[\s\\]+/).filter(Boolean) ?? [];
  assert.deepEqual(removed.filter((name) => !(name in deno.imports)), [], "removed, but no dependency");

  const scripts = Array.from(Deno.readDirSync(join(root, "scripts")))
    .flatMap(({ name, isFile }) => isFile && !ignored.includes(`scripts/${name}`) ? `scripts/${name}` : []);
  const paths = new Set<string>();
  const packages = new Set<string>();
  const follow = async (path: string) => {
    if (paths.has(path)) return;
    paths.add(path);
    for (const [, specifier = ""] of (await text(path)).matchAll(IMPORTED)) {
      if (specifier.startsWith(".")) await follow(join(path, "..", specifier));
      else packages.add(specifier);
    }
  };
  for (const entry of ["main.ts", ...scripts]) await follow(entry);
  assert.ok(paths.has("main.ts") && paths.size > 100);
  assert.deepEqual([...paths].filter((path) => !within(path, copied) || within(path, ignored)), []);
  const isImported = (name: string) => [...packages].some((each) => within(each, [name]));
  assert.ok(isImported("hono"));
  assert.deepEqual(removed.filter(isImported), [], "removed, but imported");
});
