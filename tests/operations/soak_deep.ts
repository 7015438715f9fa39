// Three instances under a steady load over all areas: what they hold stays flat, and tables grow with their rows alone.
// SOAK_MINUTES sets how long; the scheduled workflow runs half an hour.
import assert from "node:assert/strict";
import postgres from "postgres";
import deno from "../../deno.json" with { type: "json" };
import { signInAdministrator } from "../support/service_process.ts";
import { Load } from "../trouble/load.ts";
import { type Instance, startSystem } from "../trouble/system.ts";

/** The instances run with the V8 flags of users. */
Deno.env.set("DENO_V8_FLAGS", /--v8-flags=(\S+)/.exec(deno.tasks.start)?.[1] ?? "");

const MINUTES = Number(Deno.env.get("SOAK_MINUTES") ?? 5);
const SAMPLE_MS = 2_000;
/** The part of the time after which caches and pools are filled. */
const WARM = 1 / 2;
/** Memory that V8 keeps before it collects, and that a burst of work needs. */
const SPARE_MB = 48;
const SPARE_HANDLES = 24;
/** Room that Postgres keeps in a table for new rows. */
const SPARE_TABLE_BYTES = 4 * 1024 ** 2;

const READS = [
  "/api/v1/users",
  "/api/v1/roles/with-permissions",
  "/api/v1/audit-log",
  "/api/v1/jobs",
  "/api/v1/dead-letter-jobs/groups",
  "/api/v1/files",
  "/api/v1/notifications",
  "/api/v1/reports/history",
  "/api/v1/operations/overview",
  "/openapi.json",
  "/metrics",
];
/** A token lives for a quarter of an hour. */
const READS_OF_TOKEN = 100;

/** Memory and open files of an instance. */
interface Held {
  megabytes: number;
  handles: number;
}

async function heldBy({ process: { pid } }: Instance): Promise<Held> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const handles = [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
  return { megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024, handles };
}

const greatest = (samples: Held[][], of: keyof Held): number =>
  Math.max(...samples.flat().map((held) => held[of]));

interface Table {
  name: string;
  bytes: number;
  rows: number;
}

/** Size and number of rows of all tables. */
const tablesOf = (sql: postgres.Sql) =>
  sql<Table[]>`
    select relname as name, pg_table_size(oid)::float8 as bytes, (xpath('/row/n/text()', query_to_xml(
      format('select count(*) as n from %I', relname), false, true, '')))[1]::text::float8 as rows
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`;

/** Tables that grew by more than their new rows need, if these are twice as large as those before. */
function bloatedTables(before: readonly Table[], after: readonly Table[]): string[] {
  return after.flatMap(({ name, bytes, rows }) => {
    const then = before.find((table) => table.name === name);
    if (!then) return [];
    const each = then.rows > 0 ? then.bytes / then.rows : 0;
    const allowed = then.bytes + Math.max(0, rows - then.rows) * each * 2 + SPARE_TABLE_BYTES;
    return bytes > allowed ? [`${name}: ${then.bytes} B, ${then.rows} rows → ${bytes} B, ${rows} rows`] : [];
  });
}

Deno.test("memory, handles, connections and tables stay flat under a steady load", async () => {
  const system = await startSystem();
  const sql = postgres(system.databaseUrl, { max: 1 });
  try {
    const [first] = system.instances;
    assert.ok(first);
    const load = new Load(system);
    const ends = Date.now() + MINUTES * 60_000;
    const isWarm = () => Date.now() > ends - (1 - WARM) * MINUTES * 60_000;
    const reading = (async () => {
      let token = "";
      for (let n = 0; Date.now() < ends; n++) {
        if (n % READS_OF_TOKEN === 0) token = await signInAdministrator(first.url);
        const { url } = system.instances[n % system.instances.length] ?? first;
        const answer = await fetch(`${url}${READS[n % READS.length]}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        assert.ok(answer.ok, `${answer.url}: ${answer.status}`);
        await answer.body?.cancel();
      }
    })();
    const samples: Held[][] = [];
    const connections: number[] = [];
    let warmTables: readonly Table[] = [];
    while (Date.now() < ends) {
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
      if (!isWarm()) continue;
      if (warmTables.length === 0) warmTables = await tablesOf(sql);
      samples.push(await Promise.all(system.instances.map(heldBy)));
      const [open] = await sql<{ n: number }[]>`select count(*)::int as n from pg_stat_activity`;
      connections.push(open?.n ?? 0);
    }
    await Promise.all([load.end(), reading]);
    assert.deepEqual([load.refused, load.givenUp], [[], []]);
    const third = Math.floor(samples.length / 3);
    const [early, late] = [samples.slice(0, third), samples.slice(-third)];
    for (const [of, spare] of [["megabytes", SPARE_MB], ["handles", SPARE_HANDLES]] as const) {
      const [before, after] = [greatest(early, of), greatest(late, of)];
      console.log(`${of}: ${before.toFixed(0)}, at the end ${after.toFixed(0)}`);
      assert.ok(after <= before + spare, `${of} rose from ${before} to ${after}`);
    }
    const [before, after] = [connections.slice(0, third), connections.slice(-third)].map((n) =>
      Math.max(...n)
    );
    console.log(`connections: ${before}, at the end ${after}; ${load.accepted.length} operations accepted`);
    assert.ok((after ?? 0) <= (before ?? 0) + 3, `connections rose from ${before} to ${after}`);
    assert.deepEqual(bloatedTables(warmTables, await tablesOf(sql)), []);
  } finally {
    await sql.end();
    await system.stop();
  }
});
