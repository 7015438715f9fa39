import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t;

/** Error messages as servers and libraries write them, and their pattern. */
const PATTERNS: [message: string, pattern: string][] = [
  // codes stay
  ["HTTP 409 Conflict", "HTTP 409 Conflict"],
  ["HTTP/1.1 503 Service Unavailable", "HTTP/# 503 Service Unavailable"],
  ["409: already exists", "409: already exists"],
  ["Conflict (409)", "Conflict (409)"],
  ["Request failed with status code 409", "Request failed with status code 409"],
  ["http_status=500", "http_status=500"],
  ['{"status":422,"detail":"amount 10.50 exceeds 9.99"}', '{"status":422,"detail":"amount # exceeds #"}'],
  ['the server answered "429"', 'the server answered "429"'],
  ["error[500]", "error[500]"],
  ["process exited with exit code 137", "process exited with exit code 137"],
  ["errno: 111", "errno: 111"],
  ["S3: 503 SlowDown: please reduce your rate", "S#: 503 SlowDown: please reduce your rate"],
  [
    'POST api.example.com answered 409; expected 200 to 299; it said: {"error":"conflict","id":12345}',
    'POST api.example.com answered 409; expected # to #; it said: {"error":"conflict","id":#}',
  ],
  ["got 429 Too Many Requests from 10.0.0.7:8443", "got 429 Too Many Requests from #:#"],
  ["550 5.1.1 <ana@example.com>: User unknown", "550 # <#>: User unknown"],
  // ids, addresses, times and numbers do not
  ["Order #409 was cancelled", "Order ## was cancelled"],
  ["user 404 of 3b1c6f0e-9f8c-4a8a-9f0e-2f7a3f9a1b2c is gone", "user # of # is gone"],
  ["failed after 300 seconds, with 409 items", "failed after # seconds, with # items"],
  ["line 12, column 404", "line #, column #"],
  ["Key (email)=(ana.b+c@mail.example.co.uk) already exists.", "Key (email)=(#) already exists."],
  ["connect ETIMEDOUT 2001:db8::ff00:42:8329", "connect ETIMEDOUT #"],
  ["MAC 00:1b:44:11:3a:b7 unknown", "MAC # unknown"],
  ["deadline exceeded at 2026-11-22 10:11:12+02:00 for job 12", "deadline exceeded at # for job #"],
  ["Sun Nov 22 2026 10:11:12 GMT+0000: no answer", "#: no answer"],
  ["Date: Sun, 22 Nov 2026 10:11:12 GMT", "Date: #"],
  ["no such customer cus_9s6XKzkNRiz8i3", "no such customer cus_#"],
  ["ObjectId 507f1f77bcf86cd799439011 missing", "ObjectId # missing"],
  ["std::bad_alloc at 0x7ffde4a1", "std::bad_alloc at #"],
  ["took 1.5 s", "took # s"],
  // the rest stays
  ["getaddrinfo ENOTFOUND smtp.example.com", "getaddrinfo ENOTFOUND smtp.example.com"],
  [
    "violates unique constraint users_email_configuration",
    "violates unique constraint users_email_configuration",
  ],
  ["falhou às três: não há ligação", "falhou às três: não há ligação"],
];

Deno.test("errors that differ in ids, addresses, times and numbers have the same pattern; codes stay", async () => {
  const messages = PATTERNS.map(([message]) => message);
  const rows = await sql`select error_pattern(message) as pattern from unnest(${messages}::text[]) message`;
  assert.deepEqual(rows.map(({ pattern }, n) => [messages[n], pattern]), PATTERNS);
});

Deno.test("long messages of any kind get a pattern within 300 characters", async () => {
  const pieces = ["a:", "1", "a1b2c3 ", "error 409 ", "@", "a@b.", "1-", "2026-11-22 ", "😀", "((((", "\\"];
  for (const piece of pieces) {
    const [row] = await sql`select error_pattern(repeat(${piece}, 4000)) as pattern`;
    assert.ok([...row?.pattern].length <= 300, piece);
  }
});

Deno.test("a dead letter without an error is in the group of the empty pattern", async () => {
  await sql`insert into dead_letter_jobs (id, job_id, job_type_name, queue, serialized_args, attempts)
    values (${crypto.randomUUID()}, ${crypto.randomUUID()}, 'x', 'default', '{}', 1)`;
  const [row] = await sql`select error_pattern from dead_letter_jobs where job_type_name = 'x'`;
  assert.equal(row?.errorPattern, "");
});
