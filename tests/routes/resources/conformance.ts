import assert from "node:assert/strict";
import { invalid } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, type TestService } from "../../support/setup.ts";

/** What the conformance test needs to test a resource's standard routes. */
export interface Sample {
  path: string;
  managedBy: string;
  /** The permission that reading needs, if any. */
  readBy?: string;
  notFound: string;
  softDeleted: boolean;
  /** The body that creates the n-th object; different n never conflict. */
  body(n: number): Record<string, unknown>;
  /** A change of an object created by `body`, and the resulting members of the answer. */
  change: { body: Record<string, unknown>; shows: Record<string, unknown> };
  /** A field that is required at creation. */
  required: string;
  /** A field and the error when two objects share its value; default: nothing is unique. */
  unique?: { code: string };
  /** A `sortBy` with the order of `n`. */
  sortBy: string;
  /** A field that only the answer of the creation has. */
  once?: string;
  /** Text that finds only the n-th object. */
  search(n: number): string;
}

/** Tests every rule of the standard resource routes. */
export function conformsToGenericContract(name: string, sample: Sample, service: () => TestService): void {
  const { path } = sample;
  let manager: Actor;
  let reader: Actor;
  let onlooker: Actor;
  let stranger: Actor;

  Deno.test.beforeAll(async () => {
    const t = service();
    const tenantId = await t.tenant();
    const managing = [...new Set([sample.managedBy, ...sample.readBy ? [sample.readBy] : []])];
    manager = await t.actor({ tenantId, permissions: managing });
    reader = await t.actor({ tenantId, permissions: sample.readBy ? [sample.readBy] : [] });
    onlooker = await t.actor({ tenantId, permissions: [] });
    stranger = await t.actor({ permissions: managing });
  });
  const make = async (n: number) => {
    return await accepted(manager.post(path, sample.body(n)), 201);
  };

  Deno.test(`${name}: creating answers 201 with the object and its Location`, async () => {
    const made = await manager.post(path, sample.body(1));
    assert.equal(made.status, 201);
    assert.equal(made.headers.get("location"), `${path}/${made.body.id}`);
    const read = await reader.get(`${path}/${made.body.id}`);
    assert.equal(read.status, 200);
    const { [sample.once ?? ""]: once, ...lasting } = made.body;
    assert.deepEqual(read.body, lasting);
    if (sample.once) assert.ok(once);
    assert.equal(read.headers.get("etag"), made.headers.get("etag"));
  });

  Deno.test(`${name}: an invalid body is rejected field by field`, async () => {
    const { [sample.required]: _, ...lacking } = sample.body(2);
    for (const body of [lacking, { ...sample.body(2), [sample.required]: 7 }]) {
      invalid(await manager.post(path, body), sample.required);
    }
  });

  Deno.test(`${name}: changing answers the new state, and an outdated If-Match is rejected`, async () => {
    const { id } = await make(3);
    const before = await reader.get(`${path}/${id}`);
    const etag = before.headers.get("etag") ?? "";
    const changed = await manager.put(`${path}/${id}`, sample.change.body, { "if-match": etag });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    for (const [field, value] of Object.entries(sample.change.shows)) {
      assert.equal(changed.body[field], value);
    }
    assert.equal(changed.body.createdAt, before.body.createdAt);
    const stale = { "if-match": etag };
    const writes = [
      manager.put(`${path}/${id}`, sample.change.body, stale),
      manager.delete(`${path}/${id}`, stale),
    ];
    await refused("412 PRECONDITION_FAILED", ...writes);
  });

  Deno.test(`${name}: a deleted object is gone, and a second deletion is not found`, async () => {
    const { id } = await make(4);
    assert.equal((await manager.delete(`${path}/${id}`)).status, 204);
    await refused(
      `404 ${sample.notFound}`,
      manager.delete(`${path}/${id}`),
      reader.get(`${path}/${id}`),
      manager.put(`${path}/${id}`, sample.change.body),
      manager.put(`${path}/${id}`, { [sample.required]: 7 }), // the object is looked up before the body is checked
      manager.put(`${path}/${id}`, "{"),
    );
    const all = await reader.get(`${path}?includeDeleted=true&pageSize=100`);
    const kept = all.body.items.find((item: { id: string }) => item.id === id);
    if (!sample.softDeleted) return assert.equal(kept, undefined);
    assert.equal(kept.isDeleted, true);
    assert.ok(Date.parse(kept.deletedAt) > 0);
    const shown = await reader.get(`${path}?pageSize=100`);
    assert.ok(!shown.body.items.some((item: { id: string }) => item.id === id));
  });

  Deno.test(`${name}: lists are paged, sorted both ways and searched, and reject unknown values`, async () => {
    const numbers = [10, 11, 12, 13, 14];
    for (const n of numbers) await make(n);
    const page = async (query: string) => (await reader.get(`${path}?${query}`)).body;
    const total = (await page("pageSize=1")).totalCount;
    const seen: string[] = [];
    for (let at = 1; at <= Math.ceil(total / 2); at++) {
      const { items, hasNext, hasPrevious, totalPages, pageNumber, pageSize } = await page(
        `page=${at}&pageSize=2&sortBy=${sample.sortBy}`,
      );
      assert.deepEqual([pageNumber, pageSize, totalPages], [at, 2, Math.ceil(total / 2)]);
      assert.deepEqual([hasPrevious, hasNext], [at > 1, at < totalPages]);
      seen.push(...items.map((item: { id: string }) => item.id));
    }
    assert.equal(new Set(seen).size, total);
    const down = await page(`pageSize=100&sortBy=${sample.sortBy}&sortDirection=Descending`);
    assert.deepEqual(down.items.map((item: { id: string }) => item.id), seen.toReversed());
    assert.equal((await page(`search=${encodeURIComponent(sample.search(12))}`)).totalCount, 1);
    const wrong = ["sortBy=nonsense", "pageSize=101", "page=0", "sortDirection=Sideways"];
    await refused("400 VALIDATION_ERROR", ...wrong.map((query) => reader.get(`${path}?${query}`)));
  });

  Deno.test(`${name}: a bulk request creates all objects, or the valid ones`, async () => {
    const bad = { ...sample.body(21), [sample.required]: null };
    const unstorable = (text: string) => ({ ...sample.body(23), [sample.required]: text });
    const all = await manager.post(`${path}/bulk`, { items: [sample.body(20), bad] });
    invalid(all, `items.1.${sample.required}`);
    const some = await manager.post(`${path}/bulk`, {
      items: [sample.body(20), bad, sample.body(22), ...["a\0b", "\ud800"].map(unstorable)],
      continueOnError: true,
    });
    assert.equal(some.status, 200, JSON.stringify(some.body));
    assert.deepEqual([some.body.total, some.body.succeeded, some.body.failed], [5, 2, 3]);
    assert.deepEqual(some.body.failures.map(({ index }: { index: number }) => index), [1, 3, 4]);
    for (const { code, errors } of some.body.failures) {
      assert.deepEqual([code, Object.keys(errors)], ["VALIDATION_ERROR", [sample.required]]);
    }
    assert.equal((await reader.get(`${path}/${some.body.results[1].id}`)).status, 200);
    for (const items of [[], Array(1001).fill(sample.body(23))]) {
      assert.equal((await manager.post(`${path}/bulk`, { items })).status, 400);
    }
  });

  if (sample.unique) {
    const { code } = sample.unique;
    Deno.test(`${name}: of many simultaneous equal requests one creates an object`, async () => {
      const answers = await Promise.all(Array.from({ length: 6 }, () => manager.post(path, sample.body(30))));
      assert.equal(answers.filter(({ status }) => status === 201).length, 1);
      for (const { status, body } of answers) {
        if (status !== 201) assert.deepEqual([status, body.code], [409, code]);
      }
      const bulk = await manager.post(`${path}/bulk`, {
        items: [sample.body(31), sample.body(31)],
        continueOnError: true,
      });
      assert.deepEqual([bulk.body.succeeded, bulk.body.failures[0].code], [1, code]);
      assert.equal((await stranger.post(path, sample.body(30))).status, 201, "another tenant has its own");
    });
  }

  Deno.test(`${name}: reading needs a tenant, changing the permission, and other tenants' objects are not found`, async () => {
    const t = service();
    const { id } = await make(40);
    const one = `${path}/${id}`;
    await refused("401 TOKEN_MISSING", t.nobody.get(path));
    await refused("403 FORBIDDEN", (await t.actor({ permissions: [], global: true })).get(path));
    await refused(
      "403 MISSING_PERMISSION",
      onlooker.post(path, {}),
      onlooker.post(`${path}/bulk`, {}),
      onlooker.put(one, {}),
      onlooker.delete(one),
      ...sample.readBy ? [onlooker.get(path), onlooker.get(one)] : [],
    );
    const theirs = [stranger.get(one), stranger.put(one, sample.change.body), stranger.delete(one)];
    await refused(`404 ${sample.notFound}`, ...theirs);
    assert.equal((await manager.get(`${path}/not-a-uuid`)).body.code, "VALIDATION_ERROR");
    assert.equal((await reader.get(`${path}/${id}`)).status, 200);
  });
}
