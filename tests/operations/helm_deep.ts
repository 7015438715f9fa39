// Lints and renders the Helm chart of scripts/deploy, and checks its objects against each other and against the code.
import assert from "node:assert/strict";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { readConfig } from "../../infra/config.ts";
import { SETTINGS } from "../../infra/settings.ts";
import { SECRETS } from "../support/deployment_secrets.ts";
import { findProgram } from "../support/processes.ts";
import { setup } from "../support/setup.ts";

const root = join(import.meta.dirname ?? ".", "..", "..");
const chart = join(root, "scripts/deploy/helm/steward");
const helm = findProgram("helm");
const ignore = helm === undefined;

interface Container {
  image: string;
  command?: string[];
  ports?: { name: string; containerPort: number }[];
  env: { name: string; value: string }[];
  volumeMounts: { name: string; mountPath: string }[];
  lifecycle?: { preStop: { exec: { command: string[] } } };
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } } | undefined;
}
interface Pod {
  metadata: { labels: Labels };
  spec: {
    serviceAccountName?: string;
    terminationGracePeriodSeconds: number;
    volumes: { name: string; secret: { secretName: string } }[];
    containers: [Container];
  };
}
type Labels = Record<string, string>;
interface KubernetesObject {
  kind: string;
  metadata: { name: string; annotations?: Labels };
  stringData?: Labels;
  // deno-lint-ignore no-explicit-any -- the kinds differ
  spec: any;
}

const env = {
  PUBLIC_URL: "https://steward.example.com",
  BOOTSTRAP_ADMIN_EMAIL: "you@example.com",
  S3_ENDPOINT: "https://s3.example.com",
  S3_REGION: "eu-central-1",
  S3_BUCKET: "steward-files",
  S3_ACCESS_KEY: "key",
  SCANNER: "clamd",
  CLAMD_HOST: "clamd",
  MAIL_FROM: "Steward <steward@example.com>",
  TRUSTED_PROXIES: 1,
};
const VALUES = {
  "an existing Secret": { env, secrets: { existingSecret: "steward-secrets" } },
  "a Secret of the chart": { env, secrets: { values: SECRETS } },
  "everything": {
    env: { ...env, JOB_CONCURRENCY: 7 },
    secrets: { values: { ...SECRETS, METRICS_TOKEN: "a-token-of-the-scraper" } },
    image: { repository: "registry.example.com/steward-acme", tag: "1.2.3" },
    imagePullSecrets: [{ name: "registry" }],
    extensions: ["./acme/mod.ts", "./beta/mod.ts"],
    worker: { enabled: true, jobConcurrency: 40 },
    ingress: { enabled: true, className: "nginx", annotations: { a: "b" }, tlsSecret: "steward-tls" },
    autoscaling: { enabled: true },
    networkPolicy: {
      enabled: true,
      from: [{ namespaceSelector: { matchLabels: { name: "ingress" } } }],
      egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }],
    },
    podMonitor: { enabled: true, labels: { release: "prometheus" } },
    serviceAccount: { create: true, annotations: { c: "d" } },
    podAnnotations: { e: "f" },
    tolerations: [{ key: "k", operator: "Exists" }],
  },
};

async function run(command: string, values: unknown, ...args: string[]) {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(values));
  const options = { args: [command, ...args, chart, "--values", file] };
  const { success, stdout, stderr } = await new Deno.Command(helm ?? "", options).output();
  await Deno.remove(file);
  const [out = "", error = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { success, out, error };
}

async function render(values: unknown, release = "steward"): Promise<KubernetesObject[]> {
  const { success, out, error } = await run("template", values, release);
  assert.ok(success, error);
  return parseAllDocuments(out, { strict: true, uniqueKeys: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings].map(({ message }) => message), []);
    return document.toJS();
  });
}

const of = (objects: KubernetesObject[], kind: string) => objects.filter((each) => each.kind === kind);
const only = (objects: KubernetesObject[], kind: string): KubernetesObject => {
  const [found, ...others] = of(objects, kind);
  assert.ok(found && others.length === 0, `one ${kind}`);
  return found;
};
const podOf = ({ spec }: KubernetesObject): Pod => spec.template;
const containerOf = (object: KubernetesObject): Container => podOf(object).spec.containers[0];
const settingsOf = (object: KubernetesObject): Labels =>
  Object.fromEntries(containerOf(object).env.map(({ name, value }) => [name, value]));
const selects = (selector: Labels, { metadata }: Pod) =>
  Object.entries(selector).every(([label, value]) => metadata.labels[label] === value);

/** A case that needs helm. */
const check = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: `the Helm chart: ${name}`, ignore, fn });

for (const [title, values] of Object.entries(VALUES)) {
  check(`with ${title}: lint finds nothing, the objects fit together, and production starts`, async () => {
    const { success, out, error } = await run("lint", values, "--strict");
    assert.ok(success, out + error);
    const objects = await render(values);
    const deployments = of(objects, "Deployment");
    const [server] = deployments;
    assert.ok(server);
    const [service, job] = [only(objects, "Service"), only(objects, "Job")];
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length, "no two objects have one name");

    for (const deployment of deployments) {
      const selector: Labels = deployment.spec.selector.matchLabels;
      const selected = [...deployments, job].filter((each) => selects(selector, podOf(each)));
      assert.deepEqual(selected, [deployment]);
    }
    const all = [...deployments, job];
    const budget = only(objects, "PodDisruptionBudget").spec;
    for (const selector of [service.spec.selector, budget.selector.matchLabels]) {
      assert.deepEqual(all.filter((each) => selects(selector, podOf(each))), [server]);
    }
    assert.ok(
      (server.spec.replicas ?? only(objects, "HorizontalPodAutoscaler").spec.minReplicas) >
        budget.minAvailable,
    );

    const port = containerOf(server).ports?.find(({ name }) => name === service.spec.ports[0].targetPort);
    const dockerfile = await Deno.readTextFile(join(root, "Dockerfile"));
    assert.equal(port?.containerPort, Number(/\bPORT=(\d+)/.exec(dockerfile)?.[1]));
    for (const ingress of of(objects, "Ingress")) {
      const backend = ingress.spec.rules[0].http.paths[0].backend.service;
      assert.deepEqual(backend, {
        name: service.metadata.name,
        port: { name: service.spec.ports[0].name },
      });
      assert.deepEqual(ingress.spec.tls[0].hosts, [ingress.spec.rules[0].host]);
    }
    for (const scaler of of(objects, "HorizontalPodAutoscaler")) {
      assert.equal(scaler.spec.scaleTargetRef.name, server.metadata.name);
      assert.ok(!("replicas" in server.spec), "the autoscaler decides");
    }
    for (const policy of [...of(objects, "NetworkPolicy"), ...of(objects, "PodMonitor")]) {
      const { podSelector, selector } = policy.spec;
      const labels = (podSelector ?? selector).matchLabels;
      assert.deepEqual(all.filter((each) => !selects(labels, podOf(each))), []);
    }
    assert.match(job.metadata.annotations?.["helm.sh/hook"] ?? "", /pre-install,pre-upgrade/);
    for (const object of all) {
      const { volumes, serviceAccountName = "default" } = podOf(object).spec;
      const { volumeMounts: [mount] } = containerOf(object);
      const secretName = volumes.find(({ name }) => name === mount?.name)?.secret.secretName;
      const created = of(objects, "Secret").find(({ metadata }) => metadata.name === secretName);
      assert.ok(created || secretName === "steward-secrets");
      if (created) assert.ok(created.metadata.annotations?.["helm.sh/hook"], "exists before the migration");
      const accounts = of(objects, "ServiceAccount").map(({ metadata }) => metadata.name);
      assert.ok(["default", ...accounts].includes(serviceAccountName));

      const settings = settingsOf(object);
      const given = Object.entries(settings).map(([name, value]) => {
        if (!name.endsWith("_FILE")) return [name, value];
        const setting = name.slice(0, -"_FILE".length);
        assert.equal(value, `${mount?.mountPath}/${setting}`);
        return [setting, created ? created.stringData?.[setting] : SECRETS[setting]];
      });
      assert.deepEqual(given.map(([name]) => name ?? "").filter((name) => !(name in SETTINGS)), []);
      const config = readConfig({ ...Object.fromEntries(given), STEWARD_ENV: "production" });
      assert.equal(config.KV_PATH, ":memory:", "the root file system is read-only");
    }
  });
}

check(
  "a worker runs the jobs of the instances that answer requests, and extensions reach all pods",
  async () => {
    const objects = await render(VALUES.everything, "production");
    const [server, worker] = of(objects, "Deployment").map(settingsOf);
    assert.equal(server?.JOB_CONCURRENCY, "0");
    assert.equal(worker?.JOB_CONCURRENCY, "40");
    const every = [server, worker, settingsOf(only(objects, "Job"))];
    assert.deepEqual(
      every.map((each) => each?.STEWARD_EXTENSIONS),
      Array(3).fill("./acme/mod.ts,./beta/mod.ts"),
    );
    const { containers } = podOf(only(objects, "Job")).spec;
    assert.equal(containers[0].image, "registry.example.com/steward-acme:1.2.3");
    const monitor = only(objects, "PodMonitor").spec.podMetricsEndpoints[0];
    assert.deepEqual(monitor.authorization.credentials, { name: "production-steward", key: "METRICS_TOKEN" });
  },
);

check(
  "probes exist as routes, pods may drain, and the migration's command is that of compose.yaml",
  async () => {
    const objects = await render(VALUES.everything);
    await using t = Object.assign(await setup(), { [Symbol.asyncDispose]: () => t.stop() });
    const drain = Number(
      /DRAIN_MS = ([\d_]+)/.exec(await Deno.readTextFile(join(root, "main.ts")))?.[1]?.replaceAll("_", ""),
    );
    for (const deployment of of(objects, "Deployment")) {
      const container = containerOf(deployment);
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"] as const) {
        const { path, port } = container[probe]?.httpGet ?? {};
        assert.equal(port, container.ports?.[0]?.name);
        const response = await fetch(t.url + path);
        assert.equal(response.status, 200, path);
        await response.body?.cancel();
      }
      const preStop = Number(container.lifecycle?.preStop.exec.command[1]);
      assert.ok(podOf(deployment).spec.terminationGracePeriodSeconds >= preStop + drain / 1000 + 5);
    }
    const compose = await Deno.readTextFile(join(root, "scripts/deploy/compose.yaml"));
    const [document] = parseAllDocuments(compose, { merge: true });
    assert.deepEqual(containerOf(only(objects, "Job")).command, document?.toJS().services.migrate.command);
  },
);

check("refuses values that cannot work; a single instance has no disruption budget", async () => {
  const single = await render({ ...VALUES["an existing Secret"], replicas: 1 });
  assert.deepEqual(of(single, "PodDisruptionBudget"), [], "its node can be drained");
  const { env, secrets } = VALUES["an existing Secret"];
  const { PUBLIC_URL: _, ...withoutUrl } = env;
  const wrong: [unknown, RegExp][] = [
    [{ env: withoutUrl, secrets }, /PUBLIC_URL/],
    [{ env }, /secrets/],
    [{ env, secrets, replica: 3 }, /replica/],
    [{ env, secrets, terminationGracePeriodSeconds: 10 }, /terminationGracePeriodSeconds/],
  ];
  for (const [values, message] of wrong) {
    const { success, error } = await run("template", values, "steward");
    assert.ok(!success);
    assert.match(error, message);
  }
});
