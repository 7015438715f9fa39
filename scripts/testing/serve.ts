// Runs the service for tests in other languages. Prints one JSON line, `{ url, control }`, and ends when its stdin closes.
import { serverUrl } from "./database.ts";

const HELP = `Usage: deno run -A scripts/testing/serve.ts [SETTING=VALUE…]

Starts a service with a database of its own, prints {"url", "control"}, and ends when its stdin closes. Requests to
CONTROL, a loopback URL with a secret: POST /clock/advance {"by": "3 days"}, POST /jobs/drain, POST /users {"role": "Admin"},
POST /tokens {"id", "tenantId"}, POST /tenants {}, GET /outbox/last?to=…&channel=Email, POST /stop.

Example: deno run -A scripts/testing/serve.ts STEWARD_EXTENSIONS=./acme/mod.ts`;

const settings = Deno.args.map((word) => /^([A-Z0-9_]+)=(.*)$/s.exec(word)?.slice(1) ?? [word]);
if (settings.some(([, value]) => value === undefined)) {
  console.log(HELP);
  Deno.exit(Deno.args.includes("--help") ? 0 : 64);
}
serverUrl().catch(() => {}); // starts while the modules of the service are read; `startSteward` reports a failure
const { startSteward } = await import("./steward.ts");
const steward = await startSteward(Object.fromEntries(settings));
const { clock, jobs, outbox, users, tenants } = steward;
const ended = Promise.withResolvers<void>();
const secret = `/${crypto.randomUUID()}${crypto.randomUUID()}`;

// deno-lint-ignore no-explicit-any -- bodies come from the test, and the functions refuse wrong ones
const operations: Record<string, (body: any, query: Record<string, string>) => unknown> = {
  "POST /clock/advance": async ({ by }) => ({ now: await clock.advance(by) }),
  "POST /jobs/drain": () => jobs.drain(),
  "POST /users": (body) => users.create(body),
  "POST /tokens": async (user) => ({ token: await users.token(user) }),
  "POST /tenants": (body) => tenants.create(body),
  "GET /outbox/last": (_, query) => outbox.last(query),
  "POST /stop": () => ended.resolve(),
};

async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const isKnown = pathname.startsWith(`${secret}/`);
  const operation = isKnown ? operations[`${request.method} ${pathname.slice(secret.length)}`] : undefined;
  if (!operation) return Response.json({ error: "not found" }, { status: 404 });
  try {
    const body = JSON.parse(await request.text() || "{}");
    return Response.json(await operation(body, Object.fromEntries(searchParams)) ?? null);
  } catch (error) {
    return Response.json({ error: (error as Error).message }, { status: 400 });
  }
}

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
console.log(JSON.stringify({ url: steward.url, control: `http://127.0.0.1:${server.addr.port}${secret}` }));
const closed = Deno.stdin.readable.pipeTo(new WritableStream());
await Promise.race([closed.catch(() => {}), ended.promise]);
await server.shutdown();
await steward.stop();
Deno.exit(); // stdin may still be open
