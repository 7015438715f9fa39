import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";

/** The types of complete messages. */
function typesOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let types = "";
  for (let at = 0; at + 5 <= bytes.length; at += 1 + view.getUint32(at + 1)) {
    types += String.fromCharCode(bytes[at] ?? 0);
  }
  return types;
}

Deno.test("behind a pooler, a query is sent after the end of the one before", async () => {
  const url = new URL(await createTestDatabase());
  const { hostname, port } = url;
  const sent: string[] = [];
  const proxy = createServer((client) => {
    client.on("data", (bytes: Uint8Array) => sent.push(typesOf(bytes)));
    client.pipe(connect(Number(port), hostname)).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  url.port = String((proxy.address() as { port: number }).port);
  const sql = connectPostgres(url.href, { max: 1, pooled: true });
  await sql`select 0`; // opens the connection
  sent.length = 0;
  const answers = await Promise.all([sql`select 1 as n`, sql`select ${2}::int as n`, sql`select 3 as n`]);
  assert.deepEqual(answers.map(([row]) => row?.n), [1, 2, 3]);
  // a query with a parameter has two steps: its description, and its execution
  assert.deepEqual(sent.map((types) => types.slice(0, 1)), ["P", "P", "B", "P"]);
  await sql.end();
  proxy.close();
});
