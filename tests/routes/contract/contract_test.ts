// One table for all endpoints. It is derived from their declarations (`ENDPOINTS`): access, shapes, headers. The base of each
// check is a valid request for the objects of one tenant, the victim's.
//
// A new endpoint needs:
// - what `../isolation/` asks for: the kind of object that its path names, or its body, in the request of an outsider, which is
//   also the base here,
// - a line in `asks.ts` if that request is not valid for the owner of the objects,
// - `deno run -A tests/routes/contract/declared.ts`, which adds it to the stored contract; review the difference. If it is
//   audited, add ` | audit ` and the action to its line.
// A rule that cannot be derived belongs to the tests of the area.
import assert from "node:assert/strict";
import { hasRowForEachRoute } from "../../support/isolation.ts";
import { setupFile } from "../../support/setup.ts";
import { ROWS } from "../isolation/all_rows.ts";
import { Contract } from "./contract.ts";
import { declaredContract, storedAudits, storedContract } from "./declared.ts";
import { accountMistakes, contextMistakes, outsiderMistakes, takenNames } from "./isolation.ts";
import { filterMistakes, orderMistakes, pageMistakes, searchMistakes } from "./lists.ts";
import { makeMany } from "./many.ts";
import { memberMistakes } from "./members.ts";
import {
  auditMistakes,
  locationMistakes,
  repeatMistakes,
  roundTripMistakes,
  writeAll,
  type Writes,
} from "./writes.ts";
import {
  makeHolders,
  missingPermissionMistakes,
  ofEachDeclaration,
  ofOtherKinds,
  refusalMistakes,
  solePermissionMistakes,
  withoutSession,
} from "./refusals.ts";
import { changedTables } from "./state.ts";

// No worker runs jobs, so every change comes from a request.
const t = await setupFile({ JOB_CONCURRENCY: "0", LOG_LEVEL: "error" });
const c = await Contract.build(t);
const holders = await makeHolders(c);
const { sql } = t;

/** Fails with all mistakes, and with answers that are not in the API document. */
function requireNone(mistakes: string[]): void {
  assert.deepEqual([...mistakes, ...c.takeUnfit()], []);
}

/** Also fails if the requests, which must all be refused, change a table. */
async function requireRefusals(find: () => Promise<string[]>): Promise<void> {
  const [mistakes, tables] = await changedTables(sql, find);
  requireNone([...mistakes, ...tables.map((table) => `refused requests changed the table ${table}`)]);
}

Deno.test("the declarations of all endpoints are those of the stored contract", async () => {
  const [declared, stored] = [declaredContract(await storedAudits(), c.document), await storedContract()];
  const differences = [
    ...declared.filter((line) => !stored.includes(line)).map((line) => `declared: ${line}`),
    ...stored.filter((line) => !declared.includes(line)).map((line) => `stored: ${line}`),
  ];
  assert.deepEqual(differences, [], "if intended, run `deno run -A tests/routes/contract/declared.ts`");
});

Deno.test("the table of rows contains every registered route and no other", () => {
  hasRowForEachRoute(c.endpoints, ROWS);
});

Deno.test("every route that needs a caller refuses a missing, invalid, expired or ended session before any other check", async () => {
  const [nobody, ...others] = await withoutSession(c);
  await requireRefusals(() =>
    refusalMistakes(
      c,
      c.withCaller,
      (nth) => [nobody, others[nth % others.length]].filter((caller) => caller !== undefined),
    )
  );
});

Deno.test("every route refuses tenants, kinds of callers and sessions that it does not accept, and no others", async () => {
  const callers = await ofOtherKinds(c);
  requireNone(await refusalMistakes(c, ofEachDeclaration(c), () => callers));
});

Deno.test("every route is refused to callers who hold everything but its permissions, and nothing changes", async () => {
  await requireRefusals(() => missingPermissionMistakes(c, holders));
});

Deno.test("each of a route's permissions admits alone", async () => {
  requireNone(await solePermissionMistakes(c, holders));
});

Deno.test("every member of a body and every parameter that is wrong is named, and nothing changes", async () => {
  await requireRefusals(() => memberMistakes(c));
});

Deno.test("every route that needs no caller answers as documented", async () => {
  for (const spec of c.endpoints.filter(({ access }) => !access.needsCaller)) {
    for (const ask of [{}, c.ask(spec)]) await c.send(null, spec, ask);
  }
  requireNone([]);
});

Deno.test("a global token cannot use a tenant without a link, by header or by query", async () => {
  requireNone(await contextMistakes(c));
});

Deno.test("a service account reaches no other tenant, and without a tenant only routes that need none", async () => {
  requireNone(await accountMistakes(c));
});

Deno.test("an outsider gets and changes nothing of another tenant on any route", async () => {
  requireNone(await outsiderMistakes(c));
});

Deno.test("names are unique per tenant, so a conflict reveals nothing of another tenant", async () => {
  for (const [id, body] of takenNames(c)) {
    const answer = await c.send(c.world.outsider, c.endpoint(id), { body });
    assert.equal(answer.status, 201, `${id}: ${JSON.stringify(answer.body)}`);
  }
});

let many: Promise<void> | undefined;
const withMany = () => many ??= makeMany(c);

Deno.test("the pages of every list contain each item once, and say which of how many they are", async () => {
  await withMany();
  requireNone(await pageMistakes(c));
});

Deno.test("every order of a list sorts by its member, both ways, and ties by id", async () => {
  await withMany();
  requireNone(await orderMistakes(c));
});

Deno.test("every filter of a list that names a member of its items answers exactly the items with that value", async () => {
  await withMany();
  requireNone(await filterMistakes(c));
});

Deno.test("every search of a list finds the items with the text, in any case, and no others", async () => {
  await withMany();
  requireNone(await searchMistakes(c));
});

let writes: Promise<Writes> | undefined;
const withWrites = () => writes ??= writeAll(c);

Deno.test("every route succeeds with a valid request", async () => {
  requireNone((await withWrites()).failures);
});

Deno.test("a stale version is refused and changes nothing; the current one is accepted", async () => {
  requireNone((await withWrites()).versions);
});

Deno.test("a Location can be read by the caller who got it", async () => {
  requireNone(await locationMistakes(await withWrites()));
});

Deno.test("a repeat with the same Idempotency-Key gets the first answer and does nothing; another request with it is refused", async () => {
  requireNone(await repeatMistakes(c, await withWrites()));
});

Deno.test("the audit log has the rows of every request that changed something, and no others", async () => {
  requireNone(await auditMistakes(c, await withWrites()));
});

Deno.test("a PUT of what the GET answers succeeds and changes nothing", async () => {
  requireNone(await roundTripMistakes(c, await withWrites()));
});
