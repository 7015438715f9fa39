import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { createMany } from "../../domain/records/create_many.ts";
import { capitalNames, pathOfRecord, type RecordType } from "../../domain/records/record_type.ts";
import { createdVersioned, noContentAfter, ok, versionedAnswer } from "../shared/answer.ts";
import { bulkRequest, bulkResponseOf, readItems } from "../shared/bulk.ts";
import { type Area, type Endpoint, endpointsIn, type Operation } from "../shared/endpoint.ts";
import { listQuery, pagedResultOf } from "../shared/validation.ts";
import { uuid } from "../../domain/shared/shapes.ts";

/** The parts of a record that its routes have types of. */
export type Described = Pick<
  RecordType<z.ZodObject, z.ZodObject, z.ZodObject>,
  "one" | "many" | "result" | "create" | "update"
>;
type Params = z.ZodObject<{ id: typeof uuid }>;
type Paged<R extends z.ZodType> = ReturnType<typeof pagedResultOf<R>>;
type Answering<S> = { 200: { description: string; schema: S } };

/** The types of the routes of a record. */
export type RecordOperations<R extends Described> = readonly [
  Operation<`list${Capitalize<R["many"]>}`, undefined, z.ZodObject, undefined, Answering<Paged<R["result"]>>>,
  Operation<`read${Capitalize<R["one"]>}`, Params, undefined, undefined, Answering<R["result"]>>,
  Operation<`create${Capitalize<R["one"]>}`, undefined, undefined, R["create"], Answering<R["result"]>>,
  Operation<`update${Capitalize<R["one"]>}`, Params, undefined, R["update"], Answering<R["result"]>>,
  Operation<`delete${Capitalize<R["one"]>}`, Params, undefined, undefined, { 204: { description: string } }>,
  Operation<`create${Capitalize<R["many"]>}`, undefined, undefined, typeof bulkRequest, Answering<z.ZodType>>,
];

const made = new WeakMap<Described, Endpoint[]>();

/** The six routes of a record, made at the first call: pages of the console ask for them at each request. */
export function recordRoutes<R extends Described>(record: R): RecordOperations<R> {
  const routes = made.get(record) ?? routesOf(record as unknown as RecordType);
  made.set(record, routes);
  return routes as unknown as RecordOperations<R>;
}

function routesOf(r: RecordType): Endpoint[] {
  const endpoint = endpointsIn(r.area as Area);
  const path = `/api/v1/${pathOfRecord(r)}`;
  const { One, Many } = capitalNames(r);
  const [one, many] = [inWords(r.one), inWords(r.many)];
  const a = /^[aeiou]/.test(one) ? `an ${one}` : `a ${one}`;
  const creates = { creates: r.showsSecret ? "a secret" : "atomically" } as const;
  const params = z.object({ id: uuid });
  const changing = inTenant(r.managedBy);
  const reading = r.readBy === undefined ? inTenant() : inTenant(r.readBy);
  const common = listQuery(r.sortable);
  const bulk = bulkRequest.meta({
    id: `Bulk${Many}Request`,
    description: `Each item is a body of create${One}`,
  });
  return [
    endpoint(`GET ${path}`, {
      id: `list${Many}`,
      summary: `List the tenant's ${many}`,
      access: reading,
      query: z.object({ ...common, ...r.query.shape }),
      answers: { 200: { description: "A page", schema: pagedResultOf(r.result) } },
      async run({ db, caller, query }) {
        const filters = r.query.keyof().options.map((name: string) => [name, (query as never)[name]]);
        const request = { ...query, filters: Object.fromEntries(filters) };
        return ok(await r.source.list(db, caller, request));
      },
    }),
    endpoint(`GET ${path}/{id}`, {
      id: `read${One}`,
      service: "point read",
      summary: `Read ${a}`,
      access: reading,
      params,
      answers: { 200: { etag: true, description: `The ${one}`, schema: r.result } },
      problems: [r.notFound],
      run: async ({ db, caller, params }) => versionedAnswer(await r.source.read(db, caller, params.id)),
    }),
    endpoint(`POST ${path}`, {
      id: `create${One}`,
      summary: `Create ${a}`,
      access: changing,
      body: r.create,
      ...creates,
      answers: { 201: { etag: true, description: "Created; Location is its URL", schema: r.result } },
      problems: r.problems,
      async run({ platform, db, caller, body }) {
        const { value, version } = await transact(db, (tx) => r.source.create(platform, tx, caller, body));
        return createdVersioned(value, `${path}/${value.id}`, version);
      },
    }),
    endpoint(`POST ${path}/bulk`, {
      id: `create${Many}`,
      summary: `Create up to 1,000 ${many} at once`,
      access: changing,
      content: { json: bulk },
      ...creates,
      answers: {
        200: {
          description: "The created items and the failed ones",
          schema: bulkResponseOf(r.result).meta({ id: `Bulk${Many}Response` }),
        },
      },
      problems: r.problems,
      async run({ platform, caller, call }) {
        const { items, continueOnError } = await call.readJson(bulk, { anyText: true }); // each item is checked alone
        return ok(
          await createMany(platform, caller, r.source, readItems(call, r.create, items), continueOnError),
        );
      },
    }),
    endpoint(`PUT ${path}/{id}`, {
      id: `update${One}`,
      summary: `Change ${a}`,
      access: changing,
      params,
      content: { json: r.update },
      answers: { 200: { etag: true, description: `The changed ${one}`, schema: r.result } },
      problems: [r.notFound, "PRECONDITION_FAILED", ...r.problems],
      async run({ platform, db, caller, params, call }) {
        await r.source.read(db, caller, params.id); // an unknown id answers 404 before the body is checked
        const body = await call.readJson(r.update);
        return versionedAnswer(
          await transact(
            db,
            (tx) => r.source.update(platform, tx, caller, params.id, body, call.ifMatch),
          ),
        );
      },
    }),
    endpoint(`DELETE ${path}/{id}`, {
      id: `delete${One}`,
      summary: `Delete ${a}`,
      access: changing,
      params,
      answers: { 204: { description: "Deleted" } },
      problems: [r.notFound, "PRECONDITION_FAILED", ...r.deleteProblems],
      run: ({ db, caller, params, call }) =>
        noContentAfter(transact(db, (tx) => r.source.remove(tx, caller, params.id, call.ifMatch))),
    }),
  ];
}

/** A name as separate words: `webhookEndpoint` becomes `webhook endpoint`. */
const inWords = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
