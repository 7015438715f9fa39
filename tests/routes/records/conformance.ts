import assert from "node:assert/strict";
import { recordNamed } from "../../../domain/records/define_record.ts";
import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { invalid } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { changeOf, creationOf } from "../../support/record_samples.ts";
import { type Actor, type TestService } from "../../support/setup.ts";

/** Tests every rule of the routes of a record, with samples from its declaration. */
export function conformsToRecordContract(record: DefinedRecord, service: () => TestService): void {
  const { many: name, notFound, softDeleted, readBy, title } = record;
  const path = `/api/v1/${pathOfRecord(record)}`;
  /** Rows of other records that the samples refer to, by their singular. */
  const parents = new Map<Actor, Record<string, string>>();
  const body = (n: number, by = manager) =>
    creationOf(record, n, { id: (one) => parents.get(by)?.[one] ?? "" });
  const change = () => changeOf(record, 90, { id: (one) => parents.get(manager)?.[one] ?? "" });
  const required = record.members.find(({ isRequired, kind }) => isRequired && kind !== "number")?.name ??
    title;
  let manager: Actor;
  let reader: Actor;
  let onlooker: Actor;
  let stranger: Actor;

  Deno.test.beforeAll(async () => {
    const t = service();
    const tenantId = await t.tenant();
    const referred = record.members.flatMap(({ refersTo }) =>
      refersTo === null ? [] : [recordNamed(refersTo, name)]
    );
    const managing = [
      ...new Set(
        [record, ...referred].flatMap((each) => [each.managedBy, ...each.readBy ? [each.readBy] : []]),
      ),
    ];
    manager = await t.actor({ tenantId, permissions: managing });
    reader = await t.actor({ tenantId, permissions: readBy ? [readBy] : [] });
    onlooker = await t.actor({ tenantId, permissions: [] });
    stranger = await t.actor({ permissions: managing });
    for (const by of [manager, stranger]) {
      const ids: Record<string, string> = {};
      parents.set(by, ids);
      for (const parent of referred) {
        ids[parent.one] =
          (await accepted(by.post(`/api/v1/${pathOfRecord(parent)}`, creationOf(parent, 1)), 201)).id;
      }
    }
  });
  const make = async (n: number) => {
    return await accepted(manager.post(path, body(n)), 201);
  };

  Deno.test(`${name}: creating answers 201 with the object and its Location`, async () => {
    const made = await manager.post(path, body(1));
    assert.equal(made.status, 201);
    assert.equal(made.headers.get("location"), `${path}/${made.body.id}`);
    const read = await reader.get(`${path}/${made.body.id}`);
    assert.equal(read.status, 200);
    assert.deepEqual(read.body, made.body);
    assert.equal(read.headers.get("etag"), made.headers.get("etag"));
  });

  Deno.test(`${name}: an invalid body is rejected field by field`, async () => {
    const { [required]: _, ...lacking } = body(2);
    for (const wrong of [lacking, { ...body(2), [required]: {} }]) {
      invalid(await manager.post(path, wrong), required);
    }
  });

  Deno.test(`${name}: changing answers the new state, and an outdated If-Match is rejected`, async () => {
    const { id } = await make(3);
    const before = await reader.get(`${path}/${id}`);
    const etag = before.headers.get("etag") ?? "";
    const changed = await manager.put(`${path}/${id}`, change(), { "if-match": etag });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    for (const [field, value] of Object.entries(change())) {
      assert.equal(changed.body[field], value);
    }
    assert.equal(changed.body.createdAt, before.body.createdAt);
    const stale = { "if-match": etag };
    const writes = [
      manager.put(`${path}/${id}`, change(), stale),
      manager.delete(`${path}/${id}`, stale),
    ];
    await refused("412 PRECONDITION_FAILED", ...writes);
  });

  Deno.test(`${name}: a deleted object is gone, and a second deletion is not found`, async () => {
    const { id } = await make(4);
    assert.equal((await manager.delete(`${path}/${id}`)).status, 204);
    await refused(
      `404 ${notFound}`,
      manager.delete(`${path}/${id}`),
      reader.get(`${path}/${id}`),
      manager.put(`${path}/${id}`, change()),
      manager.put(`${path}/${id}`, { [required]: 7 }), // the object is looked up before the body is checked
      manager.put(`${path}/${id}`, "{"),
    );
    const all = await reader.get(`${path}?includeDeleted=true&pageSize=100`);
    const kept = all.body.items.find((item: { id: string }) => item.id === id);
    if (!softDeleted) return assert.equal(kept, undefined);
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
        `page=${at}&pageSize=2&sortBy=${record.sortable[0]}`,
      );
      assert.deepEqual([pageNumber, pageSize, totalPages], [at, 2, Math.ceil(total / 2)]);
      assert.deepEqual([hasPrevious, hasNext], [at > 1, at < totalPages]);
      seen.push(...items.map((item: { id: string }) => item.id));
    }
    assert.equal(new Set(seen).size, total);
    const down = await page(`pageSize=100&sortBy=${record.sortable[0]}&sortDirection=Descending`);
    assert.deepEqual(down.items.map((item: { id: string }) => item.id), seen.toReversed());
    assert.equal((await page(`search=${encodeURIComponent(String(body(12)[title]))}`)).totalCount, 1);
    const wrong = ["sortBy=nonsense", "pageSize=101", "page=0", "sortDirection=Sideways"];
    await refused("400 VALIDATION_ERROR", ...wrong.map((query) => reader.get(`${path}?${query}`)));
  });

  Deno.test(`${name}: a bulk request creates all objects, or the valid ones`, async () => {
    const bad = { ...body(21), [required]: null };
    const unstorable = (text: string) => ({ ...body(23), [required]: text });
    const all = await manager.post(`${path}/bulk`, { items: [body(20), bad] });
    invalid(all, `items.1.${required}`);
    const some = await manager.post(`${path}/bulk`, {
      items: [body(20), bad, body(22), ...["a\0b", "\ud800"].map(unstorable)],
      continueOnError: true,
    });
    assert.equal(some.status, 200, JSON.stringify(some.body));
    assert.deepEqual([some.body.total, some.body.succeeded, some.body.failed], [5, 2, 3]);
    assert.deepEqual(some.body.failures.map(({ index }: { index: number }) => index), [1, 3, 4]);
    for (const { code, errors } of some.body.failures) {
      assert.deepEqual([code, Object.keys(errors)], ["VALIDATION_ERROR", [required]]);
    }
    assert.equal((await reader.get(`${path}/${some.body.results[1].id}`)).status, 200);
    for (const items of [[], Array(1001).fill(body(23))]) {
      assert.equal((await manager.post(`${path}/bulk`, { items })).status, 400);
    }
  });

  if (record.isUnique) {
    const code = `${notFound.slice(0, -"_NOT_FOUND".length)}_ALREADY_EXISTS`;
    Deno.test(`${name}: of many simultaneous equal requests one creates an object`, async () => {
      const answers = await Promise.all(Array.from({ length: 6 }, () => manager.post(path, body(30))));
      assert.equal(answers.filter(({ status }) => status === 201).length, 1);
      for (const { status, body } of answers) {
        if (status !== 201) assert.deepEqual([status, body.code], [409, code]);
      }
      const bulk = await manager.post(`${path}/bulk`, {
        items: [body(31), body(31)],
        continueOnError: true,
      });
      assert.deepEqual([bulk.body.succeeded, bulk.body.failures[0].code], [1, code]);
      assert.equal((await stranger.post(path, body(30, stranger))).status, 201, "another tenant has its own");
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
      ...readBy ? [onlooker.get(path), onlooker.get(one)] : [],
    );
    const theirs = [stranger.get(one), stranger.put(one, change()), stranger.delete(one)];
    await refused(`404 ${notFound}`, ...theirs);
    assert.equal((await manager.get(`${path}/not-a-uuid`)).body.code, "VALIDATION_ERROR");
    assert.equal((await reader.get(`${path}/${id}`)).status, 200);
  });

  const filters = record.members.filter(({ filter }) => filter);
  if (filters.length > 0) {
    Deno.test(`${name}: each filter shows the rows with its value`, async () => {
      const rows = await Promise.all([50, 51, 52].map(make));
      for (const { name } of filters) {
        for (const value of new Set(rows.map((row) => row[name]))) {
          const page = await reader.get(`${path}?${name}=${encodeURIComponent(value)}&pageSize=100`);
          const ids = new Set(page.body.items.map(({ id }: { id: string }) => id));
          assert.ok(page.body.items.every((row: Record<string, unknown>) => row[name] === value));
          for (const row of rows) assert.equal(ids.has(row.id), row[name] === value);
        }
      }
    });
  }

  const references = record.members.filter(({ refersTo, set }) => refersTo !== null && set !== "never");
  if (references.length > 0) {
    Deno.test(`${name}: a reference to nothing, or to another tenant's row, is refused at its member`, async () => {
      const { id } = await make(60);
      for (const { name, refersTo } of references) {
        const theirs = parents.get(stranger)?.[recordNamed(refersTo ?? "", name).one];
        for (const wrong of [crypto.randomUUID(), theirs]) {
          invalid(await manager.post(path, { ...body(61), [name]: wrong }), name);
          invalid(await manager.put(`${path}/${id}`, { ...change(), [name]: wrong }), name);
        }
      }
    });
  }
}
