import assert from "node:assert/strict";
import { type Difference, reconcileFiles } from "../../../domain/files/reconcile.ts";
import { ALL, aPdf, Uploading } from "../../routes/files/uploading.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupFile } from "../../support/setup.ts";
import { utf8 } from "../../support/samples.ts";
import {
  connectObjectStore,
  type ObjectStore,
  ObjectStoreRefused,
} from "../../../infra/objectstore/objectstore.ts";

const t = await setupFile(); // its bucket is compared as a whole
const files = new Uploading(t);
const actor = await t.actor({ permissions: [...ALL, "read:users"] });
const p = t.platform;
const { sql, objects } = p;
/** Objects of any age are compared. */
const AT_ONCE = -60_000;
const HOUR_MS = 3_600_000;

async function reconcile(o: { apply?: boolean; safeAgeMs?: number; objects?: ObjectStore } = {}) {
  const found: Difference[] = [];
  const seen = await reconcileFiles({ ...p, objects: o.objects ?? objects }, {
    apply: o.apply ?? false,
    safeAgeMs: o.safeAgeMs ?? AT_ONCE,
    found: (difference) => found.push(difference),
  });
  return { found, seen };
}
const kinds = (found: Difference[]) => found.map((difference) => difference.kind).toSorted();
const write = (key: string, text = "x") =>
  objects.write(key, new Blob([text]).stream(), { contentType: "text/plain" });
const finalKeyOf = async (id: string): Promise<string> =>
  (await sql`select final_key from files where id = ${id}`)[0]?.finalKey;
const purge = (id: string) => accepted(actor.post(`/api/v1/files/${id}/purge`, { reason: "x" }));

Deno.test("registry and bucket agree for files in every state, including deliveries", async () => {
  await files.uploadAndScan(actor);
  await files.uploadAndScan(actor, { bytes: utf8("two") });
  await files.reserveAndPut(actor, aPdf);
  await files.reserve(actor, aPdf);
  const { id } = await files.uploadAndScan(actor);
  await purge(id);
  await write(`deliveries/${actor.tenantId}/report.csv`);
  const { found, seen } = await reconcile({ apply: true });
  assert.deepEqual(found, []);
  assert.ok(seen.objects >= 3 && seen.files === 2, JSON.stringify(seen));
});

Deno.test("objects without a row are reported by a hash, kept in a dry run and while young, and deleted with --apply", async () => {
  for (const key of ["staging/stranger", "files/stranger"]) await write(key);
  assert.deepEqual((await reconcile({ safeAgeMs: HOUR_MS, apply: true })).found, []);
  const dry = (await reconcile()).found;
  assert.deepEqual(kinds(dry), ["orphan", "orphan"]);
  assert.doesNotMatch(JSON.stringify(dry), /stranger/);
  assert.ok(dry.every((each) => "object" in each && /^[0-9a-f]{12}$/.test(each.object)));
  assert.ok(await objects.head("files/stranger"));
  assert.deepEqual((await reconcile({ apply: true })).found, dry);
  assert.equal(await objects.head("files/stranger"), null);
  assert.equal(await objects.head("staging/stranger"), null);
  assert.deepEqual((await reconcile()).found, []);
});

Deno.test("missing or changed content is reported and noted for the tenant; the state of the file does not change", async () => {
  const [gone, other, lost] = await Promise.all([1, 2, 3].map(() => files.uploadAndScan(actor)));
  assert.ok(gone && other && lost);
  await objects.delete(await finalKeyOf(gone.id));
  await write(await finalKeyOf(other.id), "something else");
  await sql`delete from file_objects where key = ${await finalKeyOf(lost.id)}`;
  const expected = [
    { kind: "altered", fileId: other.id },
    { kind: "missing", fileId: gone.id },
    { kind: "unregistered", fileId: lost.id },
  ];
  const byKind = (found: Difference[]) => found.toSorted((a, b) => a.kind < b.kind ? -1 : 1);
  assert.deepEqual(byKind((await reconcile()).found), expected);
  assert.deepEqual(byKind((await reconcile({ apply: true })).found), expected);
  for (const [{ id }, action] of [[gone, "file.content-missing"], [other, "file.content-altered"]] as const) {
    assert.equal((await actor.get(`/api/v1/files/${id}`)).body.status, "Available");
    const { items } = (await actor.get(`/api/v1/audit-log?targetId=${id}&action=${action}`)).body;
    assert.ok(items.length > 0, action);
  }
  assert.deepEqual(kinds((await reconcile()).found), ["altered", "missing"], "the row is back");
  for (const { id } of [lost, gone, other]) await purge(id);
  assert.deepEqual((await reconcile()).found, []);
});

Deno.test("during uploads, scans and purges it finds no differences and deletes nothing", async () => {
  const work = Promise.all(Array.from({ length: 2 }, async (_, n) => {
    const kept: string[] = [];
    for (let round = 0; round < 2; round++) {
      const { id } = await files.uploadAndScan(actor, { bytes: utf8(`content ${n} ${round}`) });
      if (round % 2 === 0) kept.push(id);
      else await purge(id);
    }
    return kept;
  }));
  let running = true;
  work.finally(() => running = false);
  do assert.deepEqual((await reconcile({ apply: true })).found, []); while (running);
  for (const id of (await work).flat()) {
    const { body } = await actor.get(`/api/v1/files/${id}/download-url`);
    const content = await (await fetch(body.url)).text();
    assert.match(content, /^content \d \d$/);
  }
});

Deno.test("unfinished uploads are paged through; uploads of files stay, others are aborted; a store without the list is fine", async () => {
  assert.equal((await reconcile()).seen.uploads, null, "the embedded store lists none");
  const { fileId } = await files.reserve(actor, aPdf);
  const [row] = await sql<{ key: string }[]>`select key from file_objects where file_id = ${fileId}`;
  await sql`update file_objects set upload_id = 'mine', part_count = 1 where file_id = ${fileId}`;
  const all = [[row?.key, "mine"], [row?.key, "not-mine"], ["staging/nobody", "left &amp; over"]];
  const asked: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { searchParams } = new URL(request.url);
    asked.push(`${searchParams.get("prefix")} ${searchParams.get("upload-id-marker")}`);
    const at = Number(searchParams.get("upload-id-marker") ?? 0);
    const [key, id] = all[at] ?? [];
    return new Response(
      `<?xml version="1.0"?><ListMultipartUploadsResult xmlns="x"><Upload><Key>${key}</Key><UploadId>${id}</UploadId>
        <Initiated>2020-01-01T00:00:00.000Z</Initiated></Upload><IsTruncated>${at < 2}</IsTruncated>
        <NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>${
        at + 1
      }</NextUploadIdMarker></ListMultipartUploadsResult>`,
    );
  });
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  const place = { endpoint, publicEndpoint: endpoint, region: "r", bucket: "bucket", pathStyle: true };
  const listing = connectObjectStore({ ...place, accessKey: "a", secretKey: "b" });
  const ended: string[] = [];
  const store: ObjectStore = {
    ...objects,
    listUploads: listing.listUploads,
    abortParts: (_key, uploadId) => Promise.resolve(void ended.push(uploadId)),
  };
  const { found, seen } = await reconcile({ objects: store, apply: true });
  assert.deepEqual(kinds(found), ["upload", "upload"]);
  assert.deepEqual([ended, seen.uploads], [["not-mine", "left & over"], 3]);
  assert.deepEqual(asked, ["staging/ null", "staging/ 1", "staging/ 2"]);
  const refusing = () => Promise.reject(new ObjectStoreRefused("denied", 403, "AccessDenied"));
  const denying = { ...store, abortParts: refusing }; // not a store that does not list
  await assert.rejects(reconcile({ objects: denying, apply: true }), ObjectStoreRefused);
});
