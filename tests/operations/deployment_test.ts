// Checks what infra/README.md, the Dockerfile and the examples say about a deployment against the code.
import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { readConfig } from "../../infra/config.ts";
import { SETTINGS } from "../../infra/settings.ts";
import { setup } from "../support/setup.ts";

const root = join(import.meta.dirname ?? ".", "..", "..");
const text = (path: string) => Deno.readTextFile(join(root, path));
const readme = await text("infra/README.md");
const dockerfile = await text("Dockerfile");
const deno = JSON.parse(await text("deno.json"));

interface Probe {
  httpGet: { path: string; port: number };
}
interface Container {
  command?: string[];
  ports?: { containerPort: number }[];
  env?: { name: string }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop: { exec: { command: string[] } } };
}
interface PodTemplate {
  metadata?: { labels: Record<string, string> };
  spec: { terminationGracePeriodSeconds?: number; containers: Container[] };
}
interface KubernetesObject {
  kind: string;
  spec: {
    replicas?: number;
    minAvailable?: number;
    selector?: Record<string, unknown>;
    template?: PodTemplate;
    ports?: { targetPort: number }[];
  };
}
interface Compose {
  services: Record<string, { command?: string[]; ports?: string[]; stop_grace_period?: string }>;
}

/** The README's block that begins with the comment `# title`. */
function example(title: string): string {
  const found = readme.split("```").find((block) => new RegExp(`^(yaml|sh)\n# ${title}`).test(block));
  assert.ok(found, `the README has no example that begins with "# ${title}"`);
  return found.slice(found.indexOf("\n") + 1);
}

function yaml<T>(source: string): T[] {
  return parseAllDocuments(source, { strict: true, uniqueKeys: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings].map(({ message }) => message), []);
    return document.toJS() as T;
  });
}

const objects = yaml<KubernetesObject>(example("Kubernetes"));
const [compose] = yaml<Compose>(example("compose.yaml"));
const object = (kind: string): KubernetesObject => {
  const found = objects.find((each) => each.kind === kind);
  assert.ok(found, `the README's Kubernetes example has no ${kind}`);
  return found;
};
const container = (kind: string): Container => {
  const found = object(kind).spec.template?.spec.containers[0];
  assert.ok(found);
  return found;
};
const drainSeconds = Number(/DRAIN_MS = ([\d_]+)/.exec(await text("main.ts"))?.[1]?.replaceAll("_", "")) /
  1000;
const seconds = (value = "") => Number(/^(\d+)s?$/.exec(value)?.[1]);

const t = await setup();
Deno.test.afterAll(() => t.stop());

Deno.test("production starts with the settings of the README's steward.env, and every name in it is a setting", () => {
  const lines = example("steward.env").split("\n").filter((line) => line && !line.startsWith("#"));
  const env = Object.fromEntries(lines.map((line) => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  }));
  assert.deepEqual(Object.keys(env).filter((name) => !(name in SETTINGS)), []);
  assert.ok(readConfig({ ...env, STEWARD_ENV: "production" }).isProduction);
});

Deno.test("the examples' probes use the port that the image listens on", async () => {
  const { ports, startupProbe, livenessProbe, readinessProbe } = container("Deployment");
  const port = Number(/\bPORT=(\d+)/.exec(dockerfile)?.[1]);
  assert.match(dockerfile, new RegExp(`^EXPOSE ${port}$`, "m"));
  assert.deepEqual(ports, [{ containerPort: port }]);
  assert.equal(object("Service").spec.ports?.[0]?.targetPort, port);
  assert.deepEqual(compose?.services.steward?.ports, [`${port}:${port}`]);
  for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
    assert.equal(probe?.httpGet.port, port);
    const response = await fetch(t.url + probe.httpGet.path);
    assert.equal(response.status, 200, probe.httpGet.path);
    await response.body?.cancel();
  }
  assert.ok(dockerfile.includes(livenessProbe?.httpGet.path ?? "no path"), "the image's own health check");
});

Deno.test("the examples wait for an instance to drain, select their pods and use only existing settings", () => {
  const { replicas = 0, selector, template } = object("Deployment").spec;
  const preStop = seconds(container("Deployment").lifecycle?.preStop.exec.command[1]);
  assert.ok(drainSeconds > 0);
  assert.ok((template?.spec.terminationGracePeriodSeconds ?? 0) >= preStop + drainSeconds + 5);
  assert.ok(seconds(compose?.services.steward?.stop_grace_period) >= drainSeconds + 5);
  const labels = template?.metadata?.labels;
  assert.deepEqual(selector, { matchLabels: labels });
  assert.deepEqual(object("PodDisruptionBudget").spec.selector, selector);
  assert.deepEqual(object("Service").spec.selector, labels);
  assert.ok(replicas > (object("PodDisruptionBudget").spec.minAvailable ?? replicas));
  const names = (container("Deployment").env ?? []).map(({ name }) => name);
  assert.deepEqual(names.filter((name) => !(name in SETTINGS)), []);
});

Deno.test("image and examples start existing files, with the permissions of the tasks in deno.json", async () => {
  const flags = (words: string[]) => words.filter((word) => word.startsWith("--allow"));
  const command: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]");
  assert.deepEqual(flags(command), flags(deno.tasks.start.split(" ")));
  const migrating = container("Job").command ?? [];
  assert.deepEqual(compose?.services.migrate?.command, migrating);
  assert.ok((await Deno.stat(join(root, migrating.at(-1) ?? ""))).isFile);
  const permitted = flags(deno.tasks.migrate.split(" "));
  assert.deepEqual(flags(migrating).filter((flag) => !permitted.includes(flag)), []);
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
  for (const entry of ["main.ts", ...scripts]) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", entry],
      cwd: root,
      stderr: "null",
    }).output();
    const { modules } = JSON.parse(new TextDecoder().decode(stdout));
    for (const { specifier, dependencies = [] } of modules as Module[]) {
      if (!specifier.startsWith("file:")) continue;
      paths.add(relative(root, fileURLToPath(specifier)));
      for (const { specifier } of dependencies) packages.add(specifier);
    }
  }
  assert.ok(paths.has("main.ts") && paths.size > 100);
  assert.deepEqual([...paths].filter((path) => !within(path, copied) || within(path, ignored)), []);
  const isImported = (name: string) => [...packages].some((each) => within(each, [name]));
  assert.ok(isImported("hono"));
  assert.deepEqual(removed.filter(isImported), [], "removed, but imported");
});

interface Module {
  specifier: string;
  dependencies?: { specifier: string }[];
}
