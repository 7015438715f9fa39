import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { deleteDueObjects } from "../../../domain/files/objects.ts";
import { startRescan } from "../../../domain/files/rescan.ts";
import { scanFile } from "../../../domain/files/scan.ts";
import { PostponeJob } from "../../../domain/jobs/job_type.ts";
import {
  ObjectNotFound,
  type ObjectStore,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "../../../infra/objectstore/objectstore.ts";
import { ScanBeyondLimits, type Scanner, ScanUnavailable } from "../../../infra/scanner/scanner.ts";
import { ALL, aPdf, type Content, Uploading } from "../../routes/files/uploading.ts";
import { eicar } from "../../support/content.ts";
import { pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { pdf, utf8 } from "../../support/samples.ts";

// There is no worker: the test makes every attempt by hand, so that it can stop and repeat attempts at any step.
const t = await setupShared({ JOB_CONCURRENCY: "0" });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const { platform: p, sql } = t;
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const never = new AbortController().signal;
const attempt = (id: string, change: Partial<typeof p> = {}) => scanFile({ ...p, ...change }, id, never);
const storeWith = (change: Partial<ObjectStore>): ObjectStore => ({ ...p.objects, ...change });
const scannerWith = (change: Partial<Scanner>): Scanner => ({ ...p.scanner, ...change });

interface Row {
  stagingKey: string;
  finalKey: string | null;
  status: string;
  sha256: string | null;
}
async function rowOf(id: string): Promise<Row> {
  const [row] = await sql<Row[]>`select staging_key, final_key, status, sha256 from files where id = ${id}`;
  assert.ok(row);
  return row;
}
const attempts = async (id: string) => await accepted(actor.get(`/api/v1/files/${id}/scan-attempts`));
const verdicts = async (id: string): Promise<string[]> => pluck(await attempts(id), "verdict");
/** This many attempts are postponed. */
async function postponed(times: number, id: string, change: Partial<typeof p> = {}): Promise<void> {
  for (let n = 0; n < times; n++) await assert.rejects(attempt(id, change), PostponeJob);
}
const upload = async (content?: Content) => (await files.upload(actor, content)).fileId;
async function finalKeys(id: string): Promise<string[]> {
  return pluck(await sql`select key from file_objects where file_id = ${id} and key like 'files/%'`, "key");
}
async function served(id: string): Promise<Uint8Array> {
  const { url } = await accepted(actor.get(`/api/v1/files/${id}/download-url`));
  return await (await fetch(url)).bytes();
}

Deno.test("five attempts at once give one verdict, one copy and one stored attempt", async () => {
  const id = await upload();
  const states = await Promise.all([1, 2, 3, 4, 5].map(() => attempt(id)));
  assert.ok(states.every((state) => state === "Available"), states.join());
  assert.deepEqual(await verdicts(id), ["Clean"]);
  const row = await rowOf(id);
  assert.deepEqual(await finalKeys(id), [row.finalKey]);
  assert.equal(row.sha256, sha256(await served(id)));
  assert.equal(await attempt(id), "Available");
  assert.deepEqual(await verdicts(id), ["Clean"]);
});

/** Where an attempt may be killed: the call during or after which it stops. */
const KILLED: Record<string, (die: () => Promise<never>) => Partial<typeof p>> = {
  "before the copy": (die) => ({ objects: storeWith({ copy: die }) }),
  "after the copy": (die) => ({
    objects: storeWith({ copy: async (...args) => await p.objects.copy(...args).then(die) }),
  }),
  "before the final copy is read": (die) => ({ objects: storeWith({ read: die }) }),
  "after the engine's verdict": (die) => ({
    scanner: scannerWith({ scan: async (...args) => await p.scanner.scan(...args).then(die) }),
  }),
  "before staging is cleared": (die) => ({ objects: storeWith({ delete: die }) }),
};
class Killed extends Error {}

for (const [where, change] of Object.entries(KILLED)) {
  Deno.test(`an attempt killed ${where} runs again with the same result`, async () => {
    const isBeforeVerdict = /copy/.test(where);
    const contents = [[aPdf, "Available"], [{ bytes: eicar() }, "Infected"]] as const;
    for (const [content, end] of isBeforeVerdict ? contents.slice(0, 1) : contents) {
      const id = await upload(content);
      const die = () => Promise.reject(new Killed("kill -9"));
      await attempt(id, change(die)).catch((error) => assert.ok(error instanceof Killed));
      assert.equal(await attempt(id), end);
      const row = await rowOf(id);
      assert.equal(row.sha256, sha256(content.bytes));
      if (end === "Available") assert.deepEqual(await served(id), content.bytes);
      // Every object of the killed attempt has a row that leads to its deletion.
      await sql`update file_objects set delete_at = now() - interval '1 minute', writable_until = null
        where file_id = ${id} and delete_at is not null`;
      await deleteDueObjects(p);
      assert.equal(await p.objects.head(row.stagingKey), null);
      assert.deepEqual(await finalKeys(id), end === "Available" ? [row.finalKey] : []);
    }
  });
}

Deno.test("a copy that ends after another attempt's verdict is deleted", async () => {
  const id = await upload({ bytes: eicar() });
  let copyKey = "";
  const copy: ObjectStore["copy"] = async (from, to, o) => {
    copyKey = to;
    const content = await new Response(await p.objects.read(from)).bytes();
    assert.equal(await attempt(id), "Infected");
    return await p.objects.write(to, new Blob([content]).stream(), { contentType: "text/plain", ...o });
  };
  assert.equal(await attempt(id, { objects: storeWith({ copy }) }), "Infected");
  assert.equal(await p.objects.head(copyKey), null);
  assert.deepEqual(await finalKeys(id), []);
});

Deno.test("bytes changed between confirmation and copy are never accepted; the file ends Failed", async () => {
  const reservation = await files.upload(actor, { bytes: utf8("good") });
  assert.equal(await files.put(reservation, utf8("evil")), 200);
  const id = reservation.fileId;
  await postponed(4, id);
  assert.equal(await attempt(id), "Failed");
  assert.equal((await rowOf(id)).finalKey, null);
  assert.deepEqual(await verdicts(id), Array(5).fill("Error"));
  await refused("409 FILE_NOT_AVAILABLE_CONFLICT", actor.get(`/api/v1/files/${id}/download-url`));
});

Deno.test("bytes uploaded again while the engine reads change neither verdict nor content", async () => {
  const reservation = await files.upload(actor, aPdf);
  const evil = new Uint8Array(pdf().length).fill(7);
  const scanner = scannerWith({
    async scan(content, o) {
      assert.equal(await files.put(reservation, evil), 200);
      return await p.scanner.scan(content, o);
    },
  });
  assert.equal(await attempt(reservation.fileId, { scanner }), "Available");
  assert.equal(await files.put(reservation, evil), 200);
  assert.deepEqual(await served(reservation.fileId), pdf());
});

Deno.test("an engine that is down, slow or failing postpones the scan without limit and never gives clean", async () => {
  const id = await upload({ bytes: eicar() });
  const away = scannerWith({
    status: () => Promise.reject(new ScanUnavailable("engine at 10.1.2.3:99 away")),
  });
  const broken = scannerWith({
    scan: () => Promise.reject(new ScanBeyondLimits("INSTREAM size limit exceeded")),
  });
  const halfway = scannerWith({
    async scan(content) {
      const reader = content.getReader();
      await reader.read();
      reader.cancel();
      throw new ScanUnavailable("the connection broke");
    },
  });
  let longest = 0;
  for (let n = 0; n < 18; n++) {
    const scanner = [away, broken, halfway][n % 3] ?? away;
    const error = await attempt(id, { scanner }).catch((error) => error);
    assert.ok(error instanceof PostponeJob);
    assert.doesNotMatch(error.message, /10\.1\.2\.3/);
    assert.ok(error.delayMs <= 600_000);
    longest = Math.max(longest, error.delayMs);
  }
  assert.equal(longest, 600_000);
  assert.equal((await rowOf(id)).status, "Scanning");
  const made = await attempts(id);
  assert.deepEqual(pluck(made, "attemptNumber"), Array.from({ length: 18 }, (_, n) => 18 - n));
  assert.ok(pluck(made, "verdict").every((verdict) => verdict === "Error"));
  assert.doesNotMatch(JSON.stringify(made), /10\.1\.2\.3/);
  assert.equal(made[17].engine, null);
  assert.match(made[16].errorMessage, /beyond a limit of the scan engine/);
  assert.match(made[16].engine, /YARA/);
  assert.equal(await attempt(id), "Infected");
});

Deno.test("all attempts during a long outage of the engine are kept under their own numbers", async () => {
  const id = await upload();
  await sql`insert into file_scan_attempts (file_id, attempt_number, started_at, completed_at, verdict, error_message)
    select ${id}, n, now(), now(), 'Error', 'The scan engine gave no definite answer.' from generate_series(1, 104) n`;
  assert.equal(await attempt(id), "Available");
  const list = await attempts(id);
  assert.deepEqual([list.length, list[0]?.attemptNumber, list.at(-1)?.attemptNumber], [100, 105, 6]);
  assert.equal(list[0]?.verdict, "Clean");
});

Deno.test("an engine that answers before it has read everything does not shorten the hash", async () => {
  const id = await upload();
  const scanner = scannerWith({
    async scan(content) {
      await content.cancel();
      return { verdict: "Infected", signatureName: "Early" };
    },
  });
  assert.equal(await attempt(id, { scanner }), "Infected");
  assert.equal((await rowOf(id)).sha256, sha256(pdf()));
});

Deno.test("an object that is unreadable after all retries makes the file Failed; a missing object does so sooner", async () => {
  const gone = await upload();
  const objects = storeWith({ read: () => Promise.reject(new ObjectNotFound("gone")) });
  await postponed(4, gone, { objects });
  assert.equal(await attempt(gone, { objects }), "Failed");

  const silent = await upload();
  const unanswered = storeWith({ read: () => Promise.reject(new ObjectStoreUnavailable("timeout")) });
  await postponed(13, silent, { objects: unanswered });
  assert.equal(await attempt(silent, { objects: unanswered }), "Failed");
  assert.equal(await attempt(silent), "Failed", "no way back by itself");
});

Deno.test("temporary rejections of the store, or one 404 after an outage, fail no file", async () => {
  const reading = (error: Error) => ({ objects: storeWith({ read: () => Promise.reject(error) }) });
  const denied = await upload();
  await postponed(15, denied, reading(new ObjectStoreRefused("denied", 403, "InvalidAccessKeyId")));
  assert.equal(await attempt(denied), "Available");

  const after = await upload();
  await postponed(6, after, reading(new ObjectStoreUnavailable("timeout")));
  await postponed(1, after, reading(new ObjectNotFound("gone")));
  assert.equal(await attempt(after), "Available");
});

Deno.test("while the store as a whole does not answer, no attempt counts, however many there are", async () => {
  const away = () => Promise.reject(new ObjectStoreUnavailable("timeout"));
  for (const error of [new ObjectStoreUnavailable("timeout"), new ObjectNotFound("gone")]) {
    const id = await upload();
    await postponed(15, id, { objects: storeWith({ read: () => Promise.reject(error), ping: away }) });
    assert.equal(await attempt(id), "Available");
  }
});

Deno.test("if the engine gets newer signatures during a scan, the file is scanned again with them", async () => {
  const id = await upload();
  const { databaseVersion: before } = await p.scanner.status();
  let databaseVersion = before;
  const scanner = scannerWith({
    status: async () => ({ ...await p.scanner.status(), databaseVersion }),
    scan: async (...args) => {
      databaseVersion = "newer";
      return await p.scanner.scan(...args);
    },
  });
  assert.equal(await attempt(id, { scanner }), "Available");
  const [latest] = await attempts(id);
  assert.equal(latest.databaseVersion, before, "the version before the scan");
  assert.equal(await startRescan({ ...p, scanner }), "started");
});

Deno.test("an aborted attempt leaves no stored attempt", async () => {
  const id = await upload();
  const controller = new AbortController();
  const scanner = scannerWith({
    scan: () => {
      controller.abort(new Error("the service stops"));
      return Promise.reject(new ScanUnavailable("closed"));
    },
  });
  await assert.rejects(scanFile({ ...p, scanner }, id, controller.signal), /the service stops/);
  assert.deepEqual(await verdicts(id), []);
  assert.equal(await attempt(id), "Available");
});
