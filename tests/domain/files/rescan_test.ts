import assert from "node:assert/strict";
import {
  notifyOwners,
  rescanBatch,
  rescanBatchJob,
  rescanFile,
  startRescan,
} from "../../../domain/files/rescan.ts";
import { generationOf } from "../../../domain/files/rescan_generation.ts";
import { PostponeJob } from "../../../domain/jobs/job_type.ts";
import { PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { scanFile } from "../../../domain/files/scan.ts";
import { ObjectNotFound, type ObjectStore } from "../../../infra/objectstore/objectstore.ts";
import type { Scanner, ScannerStatus, ScanVerdict } from "../../../infra/scanner/scanner.ts";
import { ScanUnavailable } from "../../../infra/scanner/scanner.ts";
import { ALL, Uploading } from "../../routes/files/uploading.ts";
import { has, pluck } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { utf8 } from "../../support/samples.ts";
import { type Actor, setupFile } from "../../support/setup.ts";

// There is no worker: the test runs every batch by hand, so that it can stop and repeat batches at any step.
const t = await setupFile({ JOB_CONCURRENCY: "0" });
const files = new Uploading(t);
const actor = await t.actor({ permissions: [...ALL, "read:users"] });
const { platform: p, sql } = t;
const never = new AbortController().signal;
/** Of a batch that runs by hand. */
const job = {
  jobId: crypto.randomUUID(),
  attempt: 1,
  signal: never,
  takeWorker: () => Promise.resolve(() => {}),
};
type Platform = typeof p;

/** An engine that knows the signature `bad` from version 2 on. */
class Engine implements Scanner {
  readonly name = "test";
  scans = 0;
  constructor(public version: number, readonly change: Partial<Scanner> = {}) {}
  async scan(content: ReadableStream<Uint8Array>, o?: { signal?: AbortSignal }): Promise<ScanVerdict> {
    this.scans++;
    if (this.change.scan) return await this.change.scan(content, o);
    const isBad = this.version >= 2 && (await textOf(content)).includes("bad");
    return isBad ? { verdict: "Infected", signatureName: "Test.Bad" } : { verdict: "Clean" };
  }
  status(): Promise<ScannerStatus> {
    if (this.change.status) return this.change.status();
    return Promise.resolve({ engine: "Test 1", databaseVersion: `${this.version}`, databaseDate: null });
  }
  close = () => Promise.resolve();
}
const textOf = (content: ReadableStream<Uint8Array>) =>
  new Response(content as ReadableStream<Uint8Array<ArrayBuffer>>).text();
/** The same service with another engine, and this much later. */
const withEngine = (scanner: Scanner, change: Partial<Platform> = {}) => ({ ...p, scanner, ...change });
const later = (ms: number) => ({ clock: { now: () => new Date(Date.now() + ms) } });
const storeWith = (change: Partial<ObjectStore>): ObjectStore => ({ ...p.objects, ...change });
const record = async (id: string) => (await actor.get(`/api/v1/files/${id}`)).body;
const statuses = async (...ids: string[]) => pluck(await Promise.all(ids.map(record)), "status");
const attempts = async (id: string) => (await actor.get(`/api/v1/files/${id}/scan-attempts`)).body;
const verdicts = async (id: string) => pluck(await attempts(id), "verdict");

async function available(text: string, engine: Scanner = new Engine(1), who = actor): Promise<string> {
  const { fileId } = await files.upload(who, { bytes: utf8(text) });
  assert.equal(await scanFile(withEngine(engine), fileId, never), "Available");
  return fileId;
}

/** The arguments of the batches enqueued so far, oldest first, with the priority of each job. */
async function batches(): Promise<Parameters<typeof rescanBatch>[1][]> {
  const rows = await sql<{ serializedArgs: string; priority: number }[]>`
    select serialized_args, priority from jobs where job_type_name = 'files.rescan-batch' order by id`;
  assert.ok(rows.every((row) => row.priority === PRIORITIES.indexOf("Low")), "low priority");
  return rows.map((row) => JSON.parse(row.serializedArgs));
}

/** The jobs that notify the owners of a file. */
const noticesOf = (id: string) =>
  sql`select tenant_id from jobs where job_type_name = 'files.tell-owners' and serialized_args like ${`%${id}%`}`;

/** Starts a rescan with this engine and runs it to its end. */
async function walk(platform: Platform): Promise<void> {
  assert.equal(await startRescan(platform), "started");
  for (let done = (await batches()).length - 1;; done++) {
    const batch = (await batches())[done];
    if (!batch) return;
    await rescanBatch(platform, batch, job);
  }
}

/** Marks all files of earlier tests as scanned with current signatures. */
async function upToDate(engine: Scanner): Promise<void> {
  const generation = await generationOf(sql, await engine.status());
  await sql`update files set scan_generation = ${generation} where status = 'Available'`;
  await sql`update scan_generations set walk_until = null`;
}

Deno.test("newer signatures mark an infected file as Infected and leave a clean one Available", async () => {
  const [clean, bad] = [await available("good"), await available("bad")];
  const { sha256 } = await record(bad);
  const { url } = (await actor.get(`/api/v1/files/${bad}/download-url`)).body;
  assert.equal(await startRescan(withEngine(new Engine(1))), "nothing outdated");
  await walk(withEngine(new Engine(2)));

  has(await record(bad), { status: "Infected", signatureName: "Test.Bad", sha256 });
  const seen = pluck(await attempts(bad), "verdict", "databaseVersion");
  assert.deepEqual(seen, [["Infected", "2"], ["Clean", "1"]]);
  const gone = await fetch(url);
  await gone.body?.cancel();
  assert.equal(gone.status, 404, "a URL given before leads nowhere");
  await refused("409 FILE_INFECTED_CONFLICT", actor.get(`/api/v1/files/${bad}/download-url`));
  assert.equal((await sql`select from file_objects where file_id = ${bad} and key like 'files/%'`).length, 0);
  const { items } = (await actor.get(`/api/v1/audit-log?targetId=${bad}&action=file.infected`)).body;
  has(items, [{ actorId: null, before: { status: "Available" }, after: { signatureName: "Test.Bad" } }]);

  assert.deepEqual(await statuses(clean), ["Available"]);
  assert.deepEqual(await verdicts(clean), ["Clean", "Clean"]);
  await accepted(actor.get(`/api/v1/files/${clean}/download-url`));
  for (const version of [2, 1]) {
    assert.equal(await startRescan(withEngine(new Engine(version))), "nothing outdated");
  }
  const engine = await new Engine(3).status();
  const generation = await generationOf(sql, engine);
  assert.equal(await rescanFile(withEngine(new Engine(1)), bad, { engine, generation }, never), "Gone");
  assert.deepEqual(await statuses(bad), ["Infected"], "it never becomes Available again");
});

Deno.test("an infected file under legal hold keeps its content until the hold is released", async () => {
  const held = await available("bad but evidence");
  const retention = `/api/v1/files/${held}/retention`;
  await accepted(actor.put(retention, { legalHold: true }));
  const objects = async () =>
    (await sql`select key from file_objects where file_id = ${held}
    and key like 'files/%' and delete_at is null`).length;
  await walk(withEngine(new Engine(4)));
  has(await record(held), { status: "Infected", legalHold: true });
  await refused("409 FILE_INFECTED_CONFLICT", actor.get(`/api/v1/files/${held}/download-url`));
  assert.equal(await objects(), 1);
  const admin = await t.actor({
    permissions: ["retain:files", "admin:system"],
    tenantId: actor.tenantId ?? "",
  });
  await accepted(admin.put(retention, { legalHold: false }));
  assert.equal(await objects(), 0);
});

Deno.test("the creators of the file and its references and their recipients are notified once, only in their own tenant", async () => {
  const tenantId = actor.tenantId ?? "";
  const [maker, holder, named, past]: (Actor | undefined)[] = await Promise.all(
    [1, 2, 3, 4].map(() => t.actor({ permissions: ALL, tenantId })),
  );
  const stranger = await t.actor();
  assert.ok(maker && holder && named && past);
  const id = await available("bad owners", new Engine(1), maker);
  const path = `/api/v1/files/${id}/references`;
  for (const ownerId of [named.userId, stranger.userId, "order 7"]) {
    await accepted(holder.post(path, { scope: "crm", ownerId }));
  }
  const { referenceId } = await accepted(past.post(path, { scope: "old", ownerId: "x" }));
  await accepted(past.delete(`${path}/${referenceId}`));
  await walk(withEngine(new Engine(2)));
  assert.deepEqual(pluck(await noticesOf(id), "tenantId"), [tenantId]);
  const counts = await Promise.all([1, 2, 3].map(() => notifyOwners(p, id)));
  assert.deepEqual(counts.toSorted(), [0, 0, 3]);
  const recipients = await sql<{ address: string; subject: string; textBody: string }[]>`
    select r.address, n.subject, n.text_body from notifications n join notification_recipients r on r.notification_id = n.id
    where n.category = 'files' and n.action_url = ${`/api/v1/files/${id}`} and n.tenant_id = ${tenantId}`;
  const told = [maker.userId, holder.userId, named.userId];
  assert.deepEqual(new Set(pluck(recipients, "address")), new Set(told));
  assert.match(recipients[0]?.subject ?? "", /"file" was found infected/);
  assert.match(recipients[0]?.textBody ?? "", /Test\.Bad/);
});

Deno.test("no rescan starts while the engine is down; if it goes down during a rescan, the rescan ends and starts again later", async () => {
  await upToDate(new Engine(2));
  const ids = [await available("one"), await available("two bad")];
  const away = new Engine(2, { status: () => Promise.reject(new ScanUnavailable("away")) });
  assert.equal(await startRescan(withEngine(away)), "engine unavailable");
  let asked = 0;
  const dying = new Engine(2, {
    status: () => ++asked <= 2 ? new Engine(2).status() : Promise.reject(new ScanUnavailable("died")),
    scan: () => Promise.reject(new ScanUnavailable("the connection to 10.1.2.3 broke")),
  });
  await walk(withEngine(dying));
  assert.equal(dying.scans, 1, "it stopped at the first file");
  assert.deepEqual(await statuses(...ids), ["Available", "Available"]);
  const errors = (await Promise.all(ids.map(attempts))).flat().filter((each) => each.verdict === "Error");
  assert.equal(errors.length, 1);
  assert.doesNotMatch(JSON.stringify(errors), /10\.1\.2\.3/);
  assert.equal(await startRescan(withEngine(new Engine(2))), "already running");
  await walk(withEngine(new Engine(2), later(61_000)));
  assert.deepEqual(await statuses(...ids), ["Available", "Infected"]);
});

Deno.test("a file that the engine cannot scan is skipped and tried again an hour later", async () => {
  await upToDate(new Engine(2));
  const [hard, easy] = [await available("hard", new Engine(2)), await available("easy", new Engine(2))];
  const limited = new Engine(4, {
    async scan(content) {
      if (await textOf(content) === "hard") throw new ScanUnavailable("INSTREAM size limit exceeded. ERROR");
      return { verdict: "Clean" };
    },
  });
  await walk(withEngine(limited));
  assert.deepEqual(await verdicts(hard), ["Error", "Clean"]);
  assert.deepEqual(await verdicts(easy), ["Clean", "Clean"]);
  await accepted(actor.get(`/api/v1/files/${hard}/download-url`));
  assert.equal(await startRescan(withEngine(limited, later(59 * 60_000))), "already running");
  await walk(withEngine(new Engine(4), later(61 * 60_000)));
  assert.deepEqual(await verdicts(hard), ["Clean", "Error", "Clean"]);
});

Deno.test("missing or changed content changes no state and is never reported clean", async () => {
  await upToDate(new Engine(4));
  const id = await available("steady", new Engine(4));
  const engine = await new Engine(5).status();
  const knowledge = { engine, generation: await generationOf(sql, engine) };
  const stores = [
    storeWith({ read: () => Promise.reject(new ObjectNotFound("gone")) }),
    storeWith({ read: () => Promise.resolve(new Blob(["stead"]).stream()) }),
    storeWith({ read: () => Promise.resolve(new Blob(["stEady"]).stream()) }),
  ];
  for (const objects of stores) {
    assert.equal(await rescanFile(withEngine(new Engine(5), { objects }), id, knowledge, never), "Error");
  }
  assert.deepEqual(await statuses(id), ["Available"]);
  assert.deepEqual(await verdicts(id), ["Error", "Error", "Error", "Clean"]);
});

class Killed extends Error {}
const die = () => Promise.reject(new Killed("kill -9"));
const KILLED: Record<string, () => Partial<Platform>> = {
  "before the content is read": () => ({ objects: storeWith({ read: die }) }),
  "after the engine's verdict": () => {
    const engine = new Engine(6);
    return { scanner: new Engine(6, { scan: (...args) => engine.scan(...args).then(die) }) };
  },
  "before the object is deleted": () => ({ objects: storeWith({ delete: die }) }),
};
for (const [where, change] of Object.entries(KILLED)) {
  Deno.test(`a batch killed ${where} runs again with the same result`, async () => {
    await upToDate(new Engine(1));
    const [good, bad] = [await available("good"), await available("bad")];
    await sql`update files set scan_generation = 0 where id = any(${[good, bad]}::uuid[])`;
    const platform = withEngine(new Engine(6));
    assert.equal(await startRescan(platform), "started");
    const batch = (await batches()).at(-1);
    assert.ok(batch);
    const killed = rescanBatch({ ...platform, ...change() }, batch, job);
    await killed.catch((error) => assert.ok(error instanceof Killed));
    await Promise.all([rescanBatch(platform, batch, job), rescanBatch(platform, batch, job)]);
    assert.deepEqual(await statuses(good, bad), ["Available", "Infected"]);
    assert.deepEqual((await verdicts(bad)).filter((verdict: string) => verdict === "Infected"), ["Infected"]);
    assert.equal((await noticesOf(bad)).length, 1);
    const kept = await sql`select from file_objects where file_id = ${bad} and delete_at is null`;
    assert.equal(kept.length, 0);
  });
}

Deno.test("many instances start only one rescan; of a batch that runs twice one continues; a lost rescan starts again", async () => {
  await upToDate(new Engine(7));
  await sql`insert into files (id, profile, file_name, declared_content_type, size_bytes, staging_key, upload_expires_at)
    select gen_random_uuid(), 'document', 'a', 'text/plain', 1, 'many/' || n, now() from generate_series(1, 101) n`;
  await sql`update files set status = 'Scanning', completed_at = now(), scan_due_at = now() - interval '1 ms', staged_etag = 'x',
    final_key = 'gone/' || id, final_etag = 'y' where staging_key like 'many/%'`;
  await sql`update files set status = 'Available', sha256 = encode(sha256('1'), 'hex'), available_at = now(),
    scan_due_at = null where staging_key like 'many/%'`;
  // A store that holds one byte for each file.
  const objects = storeWith({ read: () => Promise.resolve(new Blob(["1"]).stream()) });
  const before = (await batches()).length;
  const engine = new Engine(7);
  const platform = withEngine(engine, { objects });
  const begun = await Promise.all([1, 2, 3, 4].map(() => startRescan(platform)));
  assert.deepEqual(begun.filter((each) => each === "started").length, 1);
  const [first] = (await batches()).slice(before);
  assert.ok(first);
  const soon = withEngine(engine, { objects, ...later(60 * 60_000) });
  assert.equal(await startRescan(soon), "started", "the first one gave no sign of life for too long");
  assert.equal(await rescanBatch(platform, first, job), "superseded");
  const [, second] = (await batches()).slice(before);
  assert.ok(second);
  await Promise.all([rescanBatch(platform, second, job), rescanBatch(platform, second, job)]);
  const third = (await batches()).slice(before + 2);
  assert.equal(third.length, 1, "one next batch");
  await rescanBatch(platform, third[0]!, job);
  assert.equal((await batches()).length, before + 3);
  assert.equal(await startRescan(platform), "nothing outdated");
  await sql`update files set status = 'Purged', purge_reason = 'x', purged_at = now() where staging_key like 'many/%'`;
});

Deno.test("a file that kills workers is scanned alone, then skipped until the signatures change; lost leases of the batch count for nothing", async () => {
  await upToDate(new Engine(20));
  const ids = [await available("deadly one", new Engine(20)), await available("good two", new Engine(20))];
  const [deadly = ""] = ids;
  const missed = (isAlone: boolean) =>
    sql`insert into file_scan_runs (job_id, attempt_number, file_id, worker_id, is_alone)
      values (gen_random_uuid(), 1, ${deadly}, gen_random_uuid(), ${isAlone})`;
  const rows = async () => (await sql`select from file_scan_runs where file_id = any(${ids}::uuid[])`).length;
  const scanned: [text: string, isAlone: boolean][] = [];
  let isTaken = false;
  const takeWorker = () => {
    isTaken = true;
    return Promise.resolve(() => void (isTaken = false));
  };
  const engine = new Engine(21, {
    async scan(content) {
      const text = await textOf(content);
      if (["deadly one", "good two"].includes(text)) scanned.push([text, isTaken]);
      return { verdict: "Clean" };
    },
  });
  const platform = withEngine(engine);
  assert.equal(await startRescan(platform), "started");
  const batch = (await batches()).at(-1)!;
  for (const isAlone of [false, true, true]) await missed(isAlone);
  await rescanBatchJob.run(batch, jobContext(platform, { lostLeases: 5, takeWorker }));
  assert.deepEqual(scanned.splice(0), [["deadly one", true], ["good two", false]]);
  assert.equal(await rows(), 0);

  const newer = withEngine(new Engine(22, engine.change));
  assert.equal(await startRescan(newer), "started");
  const last = (await batches()).at(-1)!;
  for (let n = 0; n < 3; n++) await missed(true);
  await assert.rejects(rescanBatch(newer, last, job), PostponeJob);
  await rescanBatch(newer, last, job);
  assert.deepEqual([scanned, await rows()], [[["good two", false]], 0]);
  assert.deepEqual(await statuses(...ids), ["Available", "Available"]);
  assert.equal((await verdicts(deadly))[0], "Error");
  assert.equal(await startRescan(newer), "nothing outdated");
});

Deno.test("a running scan with newer signatures has a row while it runs", async () => {
  await upToDate(new Engine(22));
  const id = await available("seen", new Engine(22));
  const rows: number[] = [];
  const rowsOf = async () => (await sql`select from file_scan_runs where file_id = ${id}`).length;
  const platform = withEngine(
    new Engine(23, {
      async scan(content) {
        if (await textOf(content) === "seen") rows.push(await rowsOf());
        return { verdict: "Clean" };
      },
    }),
  );
  assert.equal(await startRescan(platform), "started");
  const worker = crypto.randomUUID();
  await sql`insert into job_workers (id, host) values (${worker}, 'test')`;
  const [claimed] = await sql<{ id: string }[]>`update jobs set status = 'Processing', worker_id = ${worker},
    attempts = 1, started_at = now() where id = (select id from jobs where job_type_name = 'files.rescan-batch'
    order by id desc limit 1) returning id`;
  assert.ok(claimed);
  await rescanBatch(platform, (await batches()).at(-1)!, { ...job, jobId: claimed.id });
  assert.deepEqual([rows, await rowsOf()], [[1], 0]);
});

Deno.test("a file that the engine does not read to its end stays Available and is not scanned again", async () => {
  const id = await available("an archive");
  const rejecting = new Engine(23, {
    scan: () => Promise.resolve({ verdict: "Rejected", reason: "Too deep." }),
  });
  await walk(withEngine(rejecting, later(2 * 60 * 60_000)));
  assert.deepEqual(await statuses(id), ["Available"]);
  has((await attempts(id))[0], { verdict: "Error", errorMessage: "Too deep." });
  const [file] = await sql<{ scanGeneration: number }[]>`select scan_generation from files where id = ${id}`;
  assert.equal(file?.scanGeneration, await generationOf(sql, await rejecting.status()), "outdated no more");
});
