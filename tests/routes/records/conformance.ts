import assert from "node:assert/strict";
import { recordNamed } from "../../../domain/records/define_record.ts";
import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { invalid, pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { changeOf, creationOf } from "../../support/record_samples.ts";
import { type Actor, type TestService } from "../../support/setup.ts";

/** Tests the rules of the routes of a record that `../contract/` does not, with samples from its declaration. */
export function conformsToRecordContract(record: DefinedRecord, service: () => TestService): void {
  const { many: name, notFound, softDeleted, title } = record;
  const path = `/api/v1/${pathOfRecord(record)}`;
  const referred = record.members.flatMap(({ refersTo }) =>
    refersTo === null ? [] : [recordNamed(refersTo, name)]
  );
  /** Rows of other records that the samples refer to, by their singular. */
  const parents = new Map<Actor, Record<string, string>>();
  const body = (n: number, by = manager) =>
    creationOf(record, n, { id: (one) => parents.get(by)?.[one] ?? "" });
  const change = () => changeOf(record, 90, { id: (one) => parents.get(manager)?.[one] ?? "" });
  const make = (n: number) => accepted(manager.post(path, body(n)), 201);
  const required = record.members.find(({ isRequired, kind }) => isRequired && kind !== "number")?.name ??
    title;
  let manager: Actor;
  let stranger: Actor;

  Deno.test.beforeAll(async () => {
    const t = service();
    const managing = [record, ...referred].flatMap(({ managedBy, readBy }) =>
      readBy ? [managedBy, readBy] : managedBy
    );
    manager = await t.actor({ permissions: [...new Set(managing)] });
    stranger = await t.actor({ permissions: [...new Set(managing)] });
    for (const by of [manager, stranger]) {
      const ids: Record<string, string> = {};
      parents.set(by, ids);
      for (const parent of referred) {
        ids[parent.one] =
          (await accepted(by.post(`/api/v1/${pathOfRecord(parent)}`, creationOf(parent, 1)), 201)).id;
      }
    }
  });

  Deno.test(`${name}: a deleted object is gone, and a second deletion is not found`, async () => {
    const { id } = await make(4);
    await accepted(manager.delete(`${path}/${id}`), 204);
    await refused(
      `404 ${notFound}`,
      manager.delete(`${path}/${id}`),
      manager.get(`${path}/${id}`),
      manager.put(`${path}/${id}`, change()),
      manager.put(`${path}/${id}`, { [required]: 7 }), // the object is looked up before the body is checked
      manager.put(`${path}/${id}`, "{"),
    );
    assert.deepEqual((await manager.get(path)).body.items, []);
    const { items } = (await manager.get(`${path}?includeDeleted=true`)).body;
    assert.deepEqual(pluck(items, "isDeleted"), softDeleted ? [true] : []);
    assert.ok(items.every(({ deletedAt }: { deletedAt: string }) => Date.parse(deletedAt) > 0));
  });

  Deno.test(`${name}: a bulk request creates all objects, or the valid ones`, async () => {
    const bad = { ...body(21), [required]: null };
    const unstorable = (text: string) => ({ ...body(23), [required]: text });
    invalid(await manager.post(`${path}/bulk`, { items: [body(20), bad] }), `items.1.${required}`);
    const items = [body(20), bad, body(22), ...["a\0b", "\ud800"].map(unstorable)];
    const some = await accepted(manager.post(`${path}/bulk`, { items, continueOnError: true }), 200);
    assert.deepEqual([some.total, some.succeeded, some.failed], [5, 2, 3]);
    assert.deepEqual(pluck(some.failures, "index"), [1, 3, 4]);
    for (const { code, errors } of some.failures) {
      assert.deepEqual([code, Object.keys(errors)], ["VALIDATION_ERROR", [required]]);
    }
    await accepted(manager.get(`${path}/${some.results[1].id}`), 200);
  });

  if (record.isUnique) {
    const code = `${notFound.slice(0, -"_NOT_FOUND".length)}_ALREADY_EXISTS`;
    Deno.test(`${name}: of many simultaneous equal requests one creates an object`, async () => {
      const answers = await Promise.all(Array.from({ length: 6 }, () => manager.post(path, body(30))));
      const others = answers.filter(({ status }) => status !== 201);
      assert.equal(others.length, 5);
      await refused(`409 ${code}`, ...others);
      const twice = { items: [body(31), body(31)], continueOnError: true };
      const bulk = await accepted(manager.post(`${path}/bulk`, twice));
      assert.deepEqual([bulk.succeeded, bulk.failures[0].code], [1, code]);
      await accepted(stranger.post(path, body(30, stranger)), 201); // another tenant has its own
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
