// Calls every route with valid and mutated requests made from its documented shapes. Every request must be answered without
// a 500, a hanging request or leaked data. STEWARD_FUZZ_SECONDS makes the test longer.
import fc from "fast-check";
import assert from "node:assert/strict";
import { CATALOGUE } from "../../domain/problems/problem.ts";
import type { OpenApiDocument, Operation } from "../../routes/shared/openapi.ts";
import { parametersOf } from "../../routes/shared/openapi_sharing.ts";
import { documentedCodes } from "../support/documented_codes.ts";
import type { Ask } from "../support/isolation.ts";
import { type Actor, setup } from "../support/setup.ts";
import { RAW_BODIES, valuesBy } from "./fuzz/values.ts";
import { ROWS } from "./isolation/all_rows.ts";
import { buildWorld, type Kind } from "./isolation/world.ts";

const SECONDS = Number(Deno.env.get("STEWARD_FUZZ_SECONDS") ?? "4");
const SEED = Number(Deno.env.get("STEWARD_FUZZ_SEED") ?? Date.now() % 1_000_000_000);
const PATIENCE_MS = 30_000;
const AT_ONCE = 4;
const RENEWED_MS = 2_000;

const t = await setup({
  RATE_LIMIT_PER_MINUTE: "0",
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: "0",
  LOG_LEVEL: "error",
});
Deno.test.afterAll(() => t.stop());
let world = await buildWorld(t);
const document: OpenApiDocument = (await t.nobody.get("/openapi.json")).body;
const { schemas } = document.components;

interface Route {
  method: string;
  path: string;
  operation: Operation;
}
const routes: Route[] = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
);

interface Attempt {
  by: "nobody" | "victim" | "outsider" | "systemAdmin";
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** Ids of existing objects at the time of the request. */
const anyId = fc.nat().map((index) => {
  const ids = Object.values(world.ids);
  return ids[index % ids.length] ?? "";
});

/** The request that the isolation tests make of a route, with the caller's own objects. */
function ownAsk({ operation }: Route): Ask {
  const row = ROWS[operation.operationId];
  const id = (kind: Kind) => world.ids[kind];
  if (!row || "open" in row) return {};
  if ("own" in row) return row.own(world);
  return "refused" in row ? row.ask(id) : row.names(id, { ...world, outsider: world.victim });
}
const { hostile, hostileText, valueOf } = valuesBy(schemas, anyId);

/** The body of the isolation tests with at most one field replaced by `value`. */
const ownBody = (route: Route, value: unknown): fc.Arbitrary<string | undefined> =>
  fc.nat().map((index) => {
    const { body } = ownAsk(route);
    if (typeof body !== "object" || body === null || body instanceof FormData) {
      return JSON.stringify(body ?? {});
    }
    const names = Object.keys(body);
    const name = names[index % (2 * names.length)];
    return JSON.stringify(name === undefined ? body : { ...body, [name]: value });
  });

const OTHER_PARAMETERS = ["tenantId", "userId", "page", "search", "x", "__proto__"];
const FORM = "multipart/form-data; boundary=x";

/** Requests to one route. */
function attemptsAt(route: Route): fc.Arbitrary<Attempt> {
  const { path, operation } = route;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
  const params = fc.record(Object.fromEntries(names.map((name) => [
    name,
    fc.oneof(
      { arbitrary: fc.constant(name).map((name) => ownAsk(route).params?.[name] ?? ""), weight: 8 },
      { arbitrary: anyId, weight: 2 },
      { arbitrary: hostileText, weight: 1 },
    ),
  ])));
  const queries = parametersOf(document, operation).filter((parameter) => parameter.in === "query");
  const pair = fc.oneof(
    ...queries.map(({ name, schema }) => ({
      arbitrary: fc.tuple(fc.constant(name), valueOf(schema, 4).map(String)),
      weight: 3,
    })),
    { arbitrary: fc.tuple(fc.constantFrom(...OTHER_PARAMETERS), hostileText), weight: 1 },
  );
  const query = fc.tuple(
    fc.boolean().map((isOwn) => isOwn ? Object.entries(ownAsk(route).query ?? {}) : []),
    fc.array(pair, { maxLength: 3 }),
  ).map(([own, more]) => [...own, ...more]);
  const json = operation.requestBody?.content["application/json"];
  const form = operation.requestBody?.content["multipart/form-data"];
  const sound = json
    ? valueOf(json.schema).map((value) => JSON.stringify(value) ?? "")
    : fc.constant(undefined);
  const body = json || form
    ? fc.oneof(
      { arbitrary: sound, weight: 8 },
      { arbitrary: hostile.chain((value) => ownBody(route, value)), weight: 6 },
      { arbitrary: fc.constantFrom(...RAW_BODIES), weight: 1 },
    )
    : fc.constant(undefined);
  const latin = fc.string({ unit: fc.constantFrom(...'abcXYZ019"*,;=/-_~é'.split("")), maxLength: 40 });
  const rarely = (value: fc.Arbitrary<string>) =>
    fc.oneof({ arbitrary: fc.constant(undefined), weight: 12 }, { arbitrary: value, weight: 1 });
  const headers = fc.record({
    "idempotency-key": rarely(fc.oneof(fc.constant("the-same"), latin)),
    "if-match": rarely(fc.oneof(fc.constantFrom('"1"', "*", 'W/"1"', '"-1"', `"${"9".repeat(30)}"`), latin)),
    "x-tenant-id": rarely(fc.oneof(anyId, latin)),
    "last-event-id": rarely(fc.oneof(fc.constantFrom("1", "-1", "9".repeat(30)), latin)),
    "accept": rarely(fc.constantFrom("text/html", "*/*", "text/csv;q=0")),
    "content-type": rarely(fc.constantFrom("text/plain", FORM, "application/json;charset=x", ";")),
    "traceparent": rarely(latin),
  });
  return fc.record({
    by: fc.oneof(
      { arbitrary: fc.constant("victim" as const), weight: 3 },
      { arbitrary: fc.constant("systemAdmin" as const), weight: 2 },
      { arbitrary: fc.constantFrom("outsider" as const, "nobody" as const), weight: 2 },
    ),
    params,
    query,
    headers,
    body,
  }).map(({ by, params, query, headers, body }) => ({
    by,
    path: filled(path, params as Record<string, string>, query),
    headers: {
      ...body === undefined ? {} : { "content-type": form ? FORM : "application/json" },
      ...Object.fromEntries(
        Object.entries(headers).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
      ),
    },
    body,
  }));
}

function filled(path: string, params: Record<string, string>, query: [string, string][]): string {
  const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
  const at = path.replaceAll(/\{(\w+)\}/g, (_, name) => encoded(params[name] ?? "") || "%20");
  const search = query.map(([name, value]) => `${name}=${encoded(value)}`).join("&");
  return search ? `${at}?${search}` : at;
}

const callers: Record<"victim" | "outsider" | "systemAdmin", Actor> = {
  victim: world.victim,
  outsider: world.outsider,
  systemAdmin: t.systemAdmin,
};
/** Some requests end the caller's session or account; a new caller of the same kind replaces it. */
async function replace(by: keyof typeof callers): Promise<void> {
  if (by === "systemAdmin") callers.systemAdmin = await t.actor({ role: "SystemAdmin" });
  else await renew();
}

/** Creates two new tenants, because the requests destroyed much of the old ones. */
let renewing: Promise<void> | null = null;
function renew(): Promise<void> {
  return renewing ??= (async () => {
    const { sql } = t.steward.platform;
    await sql`update users set email = id || '@example.test' where email = ${world.ids.email}`;
    await sql`update tenants set name = id::text where id = ${world.ids.tenant}`;
    world = await buildWorld(t);
    Object.assign(callers, { victim: world.victim, outsider: world.outsider });
    renewing = null;
  })();
}

const { config } = t.steward.platform;
const SECRETS = [Deno.cwd(), config.DATA_DIR, config.S3_SECRET_KEY, config.DATABASE_URL].filter((text) =>
  typeof text === "string" && text !== ""
) as string[];
const TELLING =
  /\bat .+\.(ts|js):\d+|node_modules|file:\/\/\/|PostgresError|violates .* constraint|relation "|syntax error|column "|TypeError|ReferenceError|undefined is not|\$argon2|\$2b\$/;

/** The fault of one answer, or null. */
async function mistakeOf(route: Route, attempt: Attempt): Promise<string | null> {
  const { by, path, headers, body } = attempt;
  const token = by === "nobody" ? null : callers[by].token;
  const started = performance.now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(t.url + path, {
      method: route.method,
      redirect: "manual",
      headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body === undefined ? {} : { body }),
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    text = isStream ? "" : await response.text();
    if (isStream) await response.body?.cancel();
  } catch (error) {
    return `no answer after ${Math.round(performance.now() - started)} ms: ${error}`;
  }
  const { status } = response;
  if (status === 401 && by !== "nobody" && !path.includes("/auth/")) await replace(by);
  if (status === 500) return `500 ${text.slice(0, 300)}`;
  const code = /"code":"([A-Z_]+)"/.exec(text)?.[1] ?? "";
  const mayBeAway = code === "SIGN_IN_BUSY_UNAVAILABLE" || route.path === "/readyz";
  if (status === 503 && !mayBeAway) return `503 ${text.slice(0, 300)}`;
  if (!isDocumented(route, status, code) && code !== "ROUTE_NOT_FOUND") {
    return `undocumented: ${status} ${code}`;
  }
  const said = response.headers.get("content-type")?.includes("json") && route.path !== "/openapi.json"
    ? text
    : "";
  const sent = typeof body === "string" ? body + decodeURIComponent(path) : "";
  const told = TELLING.exec(said)?.[0];
  if (told && !sent.includes(told)) return `tells ${told}: ${text.slice(0, 300)}`;
  const secret = SECRETS.find((secret) => said.includes(secret));
  return secret ? `tells ${secret}` : null;
}

function isDocumented({ operation }: Route, status: number, code: string): boolean {
  if (status < 400) return operation.responses[status] !== undefined;
  const hasOwn = operation.responses[status] !== undefined;
  if (!Object.hasOwn(CATALOGUE, code)) return hasOwn || code === "";
  return documentedCodes(document, operation, status).includes(code);
}

Deno.test(`every request to every route is answered without leaking data (seed ${SEED})`, async () => {
  const until = performance.now() + SECONDS * 1000;
  const mistakes = new Map<string, string>();
  let tried = 0;
  const attemptsOf = routes.map(attemptsAt);
  let renewed = performance.now();
  for (let round = 0; round === 0 || performance.now() < until; round++) {
    if (performance.now() - renewed > RENEWED_MS) {
      await renew();
      t.logs.length = 0; // a long run writes many lines that nobody reads
      renewed = performance.now();
    }
    const numRuns = round === 0 ? 1 : 4;
    for (let at = 0; at < routes.length; at += AT_ONCE) {
      if (round > 0 && performance.now() > until) break;
      await Promise.all(
        routes.slice(at, at + AT_ONCE).map(async (route, offset) => {
          const attempts = attemptsOf[at + offset];
          if (!attempts) return;
          for (const attempt of fc.sample(attempts, { numRuns, seed: SEED + round })) {
            tried++;
            const mistake = await mistakeOf(route, attempt);
            if (!mistake) continue;
            const kind = `${route.operation.operationId} ${mistake.slice(0, 60)}`;
            if (!mistakes.has(kind)) mistakes.set(kind, `${mistake}\n${told(route, attempt)}`);
          }
        }),
      );
    }
  }
  console.log(`${tried} requests`);
  assert.deepEqual([...mistakes.values()], []);
});

const told = ({ method }: Route, { by, path, headers, body }: Attempt) =>
  `${method} ${path.slice(0, 400)} by ${by} ${JSON.stringify(headers)} ${String(body).slice(0, 1_500)}`;
