// Every endpoint succeeds once with a valid request; what its declaration says of versions and repeated requests is checked
// with the same request, and its audit rows are found by their trace.
import { type Endpoint, takesKey } from "../../../routes/shared/endpoint.ts";
import type { HttpAnswer } from "../../support/http.ts";
import type { Ask } from "../../support/isolation.ts";
import type { Actor } from "../../support/setup.ts";
import { type Kind, makeObjects } from "../isolation/world.ts";
import { CASES } from "./asks.ts";
import { storedAudits } from "./declared.ts";
import { codeOf, namedMembers } from "./calls.ts";
import type { Contract } from "./contract.ts";
import { changedTables } from "./state.ts";

/** Kinds with one object only. */
const SINGLE: Kind[] = ["tenant", "factor", "session"];
/** Kinds that belong together. */
const WITH: Partial<Record<Kind, Kind[]>> = {
  user: ["email"],
  email: ["user"],
  permission: ["permissionCode"],
  permissionCode: ["permission"],
  template: ["templateSlug"],
  templateSlug: ["template"],
  reference: ["file"],
  webhookDelivery: ["webhookEndpoint"],
  deadLetter: ["job"],
};
/** The distance between the numbers of two requests. Objects take values in turn; after this distance, the first is next. */
const STEP = 30;
let n = 0;

interface Ready {
  by: Actor;
  ask: Ask;
}

/** A valid request. What is changed or prepared is new, so that requests do not depend on each other. */
async function newRequest(c: Contract, spec: Endpoint): Promise<Ready> {
  const { by: who, prepare } = CASES[spec.id] ?? {};
  const used = new Set<Kind>();
  const recorder = new Proxy(c.world.ids, {
    get: (ids, kind) => {
      if (typeof kind === "string" && kind in ids) used.add(kind as Kind);
      return ids[kind as Kind];
    },
  });
  c.ask(spec, recorder);
  const kinds = [...used].flatMap((kind) => [kind, ...WITH[kind] ?? []]);
  n += STEP;
  const isNew = spec.method !== "get" || prepare !== undefined;
  const made = isNew ? kinds.filter((kind) => !SINGLE.includes(kind)) : [];
  const ids = await makeObjects(c.world, made, c.world.ids, n);
  const { t, world } = c;
  const permissions = ["admin:system", "read:files"];
  const by = who === "self"
    ? await t.actor({ tenantId: ids.tenant })
    : who === "system with files"
    ? await t.actor({ tenantId: t.platformTenantId, permissions })
    : c.by(spec) ?? world.victim;
  const [parts, ask] = [await prepare?.({ c, ids, by, n }), c.ask(spec, ids)];
  return { by, ask: { ...ask, ...parts, params: { ...ask.params, ...parts?.params } } };
}

/** A request that succeeded. */
interface Written extends Ready {
  spec: Endpoint;
  key: string;
  traceId: string;
  answer: HttpAnswer;
}

export interface Writes {
  written: Written[];
  /** Requests that failed. */
  failures: string[];
  /** Mistakes with If-Match. */
  versions: string[];
}

const hex = (value: number, length: number) => value.toString(16).padStart(length, "0");

/** Sends a valid request to every endpoint, the reads first. Those that change a version are also sent with a stale one. */
export async function writeAll(c: Contract): Promise<Writes> {
  const result: Writes = { written: [], failures: [], versions: [] };
  const isRead = ({ method }: Endpoint) => method === "get";
  const order = [...c.withCaller.filter(isRead), ...c.withCaller.filter((spec) => !isRead(spec))];
  for (const [index, spec] of order.entries()) {
    if (CASES[spec.id]?.special) continue;
    const { by, ask } = await newRequest(c, spec);
    const { mistakes, headers, etag } = await withVersion(c, spec, { by, ask });
    result.versions.push(...mistakes);
    const [key, traceId] = [`key-${index}`, hex(index + 1, 32)];
    if (takesKey(spec)) headers["idempotency-key"] = key;
    const answer = await c.send(by, spec, ask, {
      headers: { ...headers, ...traced(traceId) },
    });
    const reader = etag && spec.method === "put" ? readerOf(c, spec) : undefined;
    if (reader && (await read(c, reader, { by, ask })).headers.get("etag") === etag) {
      result.versions.push(`${spec.id} made no new version`);
    }
    if (answer.status < 400) result.written.push({ spec, by, ask, key, traceId, answer });
    else result.failures.push(`${spec.id}: ${codeOf(answer)} ${JSON.stringify(answer.body)?.slice(0, 200)}`);
  }
  return result;
}

/** Endpoints that answer the ETag of what another path changes. Usually it is the path, or one above. */
const READ_BY: Record<string, string> = { cancelScheduledNotification: "readNotification" };

/** The endpoint that answers the ETag for the If-Match of `spec`. */
function readerOf(c: Contract, { id, path }: Endpoint): Endpoint | undefined {
  const named = READ_BY[id];
  if (named) return c.endpoint(named);
  for (let above = path; above.includes("/"); above = above.slice(0, above.lastIndexOf("/"))) {
    const found = c.endpoints.find((spec) =>
      spec.method === "get" && spec.path === above && spec.answers[200]?.etag
    );
    if (found) return found;
  }
}

/** A stale version is refused and changes nothing. @returns If-Match with the current version, if the endpoint has one */
async function withVersion(c: Contract, spec: Endpoint, { by, ask }: Ready) {
  const mistakes: string[] = [];
  const headers: Record<string, string> = {};
  if (!spec.problems.includes("PRECONDITION_FAILED")) return { mistakes, headers };
  const reader = readerOf(c, spec);
  if (!reader) return { mistakes: [`${spec.id}: no endpoint answers its ETag`], headers };
  const before = await read(c, reader, { by, ask });
  const etag = before.headers.get("etag");
  if (etag) headers["if-match"] = `"987653", ${etag}`; // any of a list may be the current one
  else mistakes.push(`${spec.id}: ${reader.id} answers ${codeOf(before)} without an ETag`);
  const stale = await c.send(by, spec, ask, { headers: { "if-match": '"987654"' } });
  if (codeOf(stale) !== "412 PRECONDITION_FAILED") {
    mistakes.push(`${spec.id} with a stale version: ${codeOf(stale)}`);
  }
  const after = await read(c, reader, { by, ask });
  if (after.headers.get("etag") !== etag || JSON.stringify(after.body) !== JSON.stringify(before.body)) {
    mistakes.push(`${spec.id} with a stale version changed something`);
  }
  return { mistakes, headers, etag };
}

/** The object of the request, as `reader` answers it. */
const read = (c: Contract, reader: Endpoint, { by, ask }: Ready) =>
  c.send(by, reader, { params: ask.params ?? {}, query: ask.query ?? {} });

/** A repeat of a keyed request gets the first answer and does nothing; the key with another request is refused. */
export async function repeatMistakes(c: Contract, { written }: Writes): Promise<string[]> {
  const [mistakes, tables] = await changedTables(c.world.sql, async () => {
    const found: string[] = [];
    for (const { spec, by, ask, key, answer } of written) {
      const headers = { "idempotency-key": key };
      if (spec.creates === "a secret") {
        const refused = await c.send(by, spec, ask, { headers });
        const isNamed = namedMembers(spec, refused)?.includes("Idempotency-Key");
        if (codeOf(refused) !== "400 VALIDATION_ERROR" || !isNamed) {
          found.push(`${spec.id} with a key: ${codeOf(refused)}`);
        }
      }
      if (!takesKey(spec)) continue;
      const repeat = await c.send(by, spec, ask, { headers });
      const isReplayed = repeat.headers.get("idempotency-replayed") === "true" &&
        repeat.status === answer.status;
      if (!isReplayed || JSON.stringify(repeat.body) !== JSON.stringify(answer.body)) {
        found.push(`${spec.id} repeated: ${codeOf(repeat)} ${repeat.headers.get("idempotency-replayed")}`);
      }
      const other = await c.send(by, spec, otherThan(ask), { headers });
      if (codeOf(other) !== "422 IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE") {
        found.push(`${spec.id} with the key of another request: ${codeOf(other)}`);
      }
    }
    return found;
  });
  return [...mistakes, ...tables.map((table) => `repeated requests changed the table ${table}`)];
}

function otherThan(ask: Ask): Ask {
  const { body } = ask;
  if (body instanceof FormData) {
    const form = new FormData();
    form.set("file", new File(["code,description,category\r\n"], "other.csv", { type: "text/csv" }));
    return { ...ask, body: form };
  }
  if (body === undefined) return { ...ask, query: { ...ask.query, colour: "red" } };
  return { ...ask, body: { ...body as object, colour: "red" } };
}

const traced = (traceId: string) => ({ traceparent: `00-${traceId}-${hex(1, 16)}-01` });

/** The actions in the audit log by trace, with their actors. */
async function actionsOf(c: Contract, traceIds: string[]) {
  const rows = await c.world.sql<{ traceId: string; action: string; actorId: string }[]>`
    select trace_id, action, actor_id from audit_log where trace_id = any(${traceIds}::text[]) order by action`;
  return Map.groupBy(rows, ({ traceId }) => traceId);
}

/** The audit rows of a request are those of the stored contract, and name its caller. */
export async function auditMistakes(c: Contract, { written }: Writes): Promise<string[]> {
  const rows = await actionsOf(c, written.map(({ traceId }) => traceId));
  const expected = await storedAudits();
  return written.flatMap(({ spec: { id }, by, traceId }) => {
    const own = rows.get(traceId) ?? [];
    const [found, wanted] = [own.map(({ action }) => action).join(" "), expected.get(id) ?? ""];
    return [
      ...found === wanted ? [] : [`${id}: ${found || "no audit row"}, expected ${wanted || "none"}`],
      ...own.every(({ actorId }) => actorId === by.userId) ? [] : [`${id}: another actor in the audit row`],
    ];
  });
}

/** The caller who got a Location can read it, if it is one of a thing that can be read. */
export async function locationMistakes({ written }: Writes): Promise<string[]> {
  const found: string[] = [];
  for (const { spec, by, answer: { status, headers } } of written) {
    const location = headers.get("location");
    if (!location?.startsWith("/") || status >= 300) continue;
    const read = await by.get(location);
    if (read.status !== 200 && read.status !== 405) found.push(`${spec.id}: ${location} ${codeOf(read)}`);
  }
  return found;
}

/** A PUT may change these by itself. */
const CHANGING = new Set(["updatedAt", "version"]);

/** PUTs that make a new version each time. */
const WITH_VERSIONS = new Set(["updateDocumentTemplate", "updateNotificationTemplate"]);

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** The answer of a PUT of what the POST of its collection has answered, if there is one. */
async function putOfNew(c: Contract, spec: Endpoint, { written }: Writes): Promise<HttpAnswer | null> {
  const [, collection, name = ""] = /^(.*)\/\{(\w+)\}$/.exec(spec.path) ?? [];
  const made = written.find(({ spec: { method, path } }) => method === "post" && path === collection);
  if (!made) return null;
  const { by, answer: { headers, body } } = made;
  const id = headers.get("location")?.split("/").at(-1) ?? "";
  return await c.send(by, spec, { params: { [name]: id }, body });
}

/** The PUT of what the GET, the PUT and the POST answer succeeds; that of the GET changes nothing and is not audited. */
export async function roundTripMistakes(c: Contract, writes: Writes): Promise<string[]> {
  const found: string[] = [];
  const sent: { spec: Endpoint; traceId: string }[] = [];
  for (const [index, spec] of c.withCaller.entries()) {
    const reader = c.endpoints.find(({ method, path }) => method === "get" && path === spec.path);
    if (spec.method !== "put" || !reader) continue;
    const { by, ask } = await newRequest(c, spec);
    const before = await read(c, reader, { by, ask });
    const traceId = hex(1_000_000 + index, 32);
    sent.push({ spec, traceId });
    const put = await c.send(by, spec, { ...ask, body: before.body }, { headers: traced(traceId) });
    const made = await putOfNew(c, spec, writes);
    const again = isObject(put.body) && await c.send(by, spec, { ...ask, body: put.body });
    for (const answer of [put, made, again]) {
      if (answer && answer.status >= 400) {
        found.push(`${spec.id}: ${codeOf(answer)} ${JSON.stringify(answer.body.errors)}`);
      }
    }
    const after = await read(c, reader, { by, ask });
    const [etag, now] = [before, after].map(({ headers }) => headers.get("etag"));
    if (etag !== now && !WITH_VERSIONS.has(spec.id)) found.push(`${spec.id}: ETag from ${etag} to ${now}`);
    for (const name of new Set([...Object.keys(before.body), ...Object.keys(after.body)])) {
      const [was, is] = [before.body, after.body].map((body) => JSON.stringify(body[name]));
      if (was !== is && !CHANGING.has(name)) found.push(`${spec.id}: ${name} from ${was} to ${is}`);
    }
  }
  const rows = await actionsOf(c, sent.map(({ traceId }) => traceId));
  const audited = sent.filter(({ spec, traceId }) => rows.has(traceId) && !WITH_VERSIONS.has(spec.id));
  return [...found, ...audited.map(({ spec }) => `${spec.id} without a change was audited`)];
}
