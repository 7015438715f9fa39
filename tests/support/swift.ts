import { join } from "node:path";
import type { ObjectStoreConfig } from "../../infra/objectstore/address.ts";
import { connectObjectStore } from "../../infra/objectstore/objectstore.ts";
import { freePort } from "../../infra/embedded/free_port.ts";
import { findProgram, isFile, listens, run } from "./processes.ts";

const SERVERS = ["account", "container", "object", "proxy"] as const;
const ACCESS = { accessKey: "test:tester", secretKey: "testing", region: "us-east-1" };

const programs = new Map(
  ["memcached", ...SERVERS.map((name) => `swift-${name}-server`)].map((name) => [name, findProgram(name)]),
);

/** The Python that has Swift's modules; it need not be the first in PATH. */
const interpreter = () =>
  /^#! *(\S+)/.exec(Deno.readTextFileSync(programs.get("swift-proxy-server") ?? ""))?.[1] ?? "python3";

/** Swift keeps an object's metadata in the file's extended attributes. A file system in memory may not support them. */
const DISK = "/var/tmp";
const KEEPS_ATTRIBUTES = `
import os, tempfile
import swift.common.ring
with tempfile.NamedTemporaryFile(dir="${DISK}") as f: os.setxattr(f.name, "user.swift", b"1")
`;

/** Whether Swift and memcached are installed and can store objects here; tests that need them are skipped otherwise. */
export const canRunSwift = [...programs.values()].every((path) => path !== undefined) &&
  isFile("/etc/swift/swift.conf") && await python(KEEPS_ATTRIBUTES).then(() => true, () => false);

/** One partition layout per server: a single copy on a single device. */
const makeRing = (folder: string, server: string, port: number) => `
from swift.common.ring import RingBuilder
b = RingBuilder(4, 1, 1)
b.add_dev(dict(region=1, zone=1, weight=1, device="sdv", meta="", ip="127.0.0.1", port=${port},
  replication_ip="127.0.0.1", replication_port=${port}))
b.rebalance()
b.get_ring().save("${folder}/${server}.ring.gz")
`;

/**
 * Starts a private OpenStack Swift with its S3 API, a store independent of this project: memcached and four servers on free
 * ports of loopback. All state is in a folder that is removed at the end.
 */
export async function startSwift() {
  const folder = await Deno.makeTempDir({ dir: DISK, prefix: "swift-" });
  for (const name of ["device/sdv", "cache"]) await Deno.mkdir(join(folder, name), { recursive: true });
  const ports = { account: freePort(), container: freePort(), object: freePort(), proxy: freePort() };
  const memcached = freePort();
  const rings = SERVERS.filter((name) => name !== "proxy").map((name) => makeRing(folder, name, ports[name]));
  await python(rings.join(""));
  for (const name of SERVERS) {
    const text = common(folder, ports[name]) + (name === "proxy" ? proxy(memcached) : storage(name, folder));
    await Deno.writeTextFile(join(folder, `${name}.conf`), text);
  }
  const user = Deno.uid() === 0 ? ["-u", "root"] : [];
  const children = [
    start("memcached", ["-l", "127.0.0.1", "-p", `${memcached}`, "-U", "0", "-m", "16", "-t", "1", ...user]),
    ...SERVERS.map((name) => start(`swift-${name}-server`, [join(folder, `${name}.conf`)])),
  ];
  let ended = false;
  for (const child of children) void child.status.then(() => ended = true);
  const complaints = Promise.all(children.map((child) => new Response(child.stderr).text()));
  const stop = async () => {
    for (const child of children) {
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended by itself */ }
    }
    await Promise.all([complaints, ...children.map((child) => child.status)]);
    await Deno.remove(folder, { recursive: true });
  };
  const endpoint = `http://127.0.0.1:${ports.proxy}`;
  for (const port of [memcached, ...Object.values(ports)]) {
    while (!await listens(port) && !ended) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  if (ended) {
    await stop();
    throw new Error(`Swift did not start: ${(await complaints).join("")}`);
  }
  return {
    /** An empty bucket that pages of any origin may use. */
    async bucket(): Promise<ObjectStoreConfig> {
      const bucket = `steward-${crypto.randomUUID()}`;
      const config = { endpoint, publicEndpoint: endpoint, bucket, pathStyle: true, ...ACCESS };
      await connectObjectStore(config).ensureBucket();
      await openToPages(endpoint, bucket);
      return config;
    },
    stop,
  };
}

/** Swift's own way to set CORS rules; it does not have PutBucketCors. */
async function openToPages(endpoint: string, bucket: string): Promise<void> {
  const signIn = await fetch(`${endpoint}/auth/v1.0`, {
    headers: { "x-storage-user": ACCESS.accessKey, "x-storage-pass": ACCESS.secretKey },
  });
  await signIn.body?.cancel();
  for (const container of [bucket, `${bucket}+segments`]) { // parts have their own container
    const answer = await fetch(`${endpoint}/v1/AUTH_test/${container}`, {
      method: "PUT",
      headers: {
        "x-auth-token": signIn.headers.get("x-auth-token") ?? "",
        "x-container-meta-access-control-allow-origin": "*",
        "x-container-meta-access-control-expose-headers": "etag content-disposition",
      },
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`Swift answered ${answer.status} to the CORS rules of a container`);
  }
}

const common = (folder: string, port: number) => `
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
user = ${Deno.uid() === 0 ? "root" : Deno.env.get("USER") ?? "nobody"}
workers = 0
swift_dir = ${folder}
devices = ${folder}/device
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = ERROR
log_address = ${folder}/no-log
`;

const storage = (name: string, folder: string) => `
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
recon_cache_path = ${folder}/cache
replication_server = false
`;

const FILTERS = "catch_errors gatekeeper healthcheck listing_formats bulk copy slo dlo symlink".split(" ");

const proxy = (memcached: number) => `
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo dlo symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:s3api]
use = egg:swift#s3api
location = ${ACCESS.region}
s3_acl = false
cors_preflight_allow_origin = *
min_segment_size = 5242880
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = ${ACCESS.secretKey} .admin
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${memcached}
${FILTERS.map((name) => `[filter:${name}]\nuse = egg:swift#${name}\n`).join("")}`;

function start(program: string, args: string[]): Deno.ChildProcess {
  return new Deno.Command(programs.get(program) ?? program, {
    args,
    env: { PYTHONDONTWRITEBYTECODE: "1", EVENTLET_NO_GREENDNS: "yes" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

function python(script: string): Promise<string> {
  return run(interpreter(), ["-c", script], { env: { PYTHONDONTWRITEBYTECODE: "1" } });
}
