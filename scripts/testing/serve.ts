// Runs the service for tests in other languages. Prints one JSON line, `{ url, control }`, and ends when its stdin closes.
import { startServerAhead } from "./database.ts";

const HELP = `Usage: deno run -A scripts/testing/serve.ts [SETTING=VALUE…]

Starts a service with a database of its own, prints {"url", "control"}, and ends when its stdin closes. Requests to
CONTROL, a loopback URL with a secret: POST /clock/advance {"by": "3 days"}, POST /jobs/drain, POST /users {"role": "Admin"},
POST /tokens {"id", "tenantId"}, POST /tenants {}, POST /outbox/last {"to": "…", "channel": "Email"}.

Example: deno run -A scripts/testing/serve.ts STEWARD_EXTENSIONS=./acme/mod.ts`;

const settings = Deno.args.map((word) => /^([A-Z0-9_]+)=(.*)$/s.exec(word)?.slice(1) ?? [word]);
if (settings.some(([, value]) => value === undefined)) {
  console.log(HELP);
  Deno.exit(Deno.args.includes("--help") ? 0 : 64);
}
startServerAhead(); // while the modules of the service are read
const { startSteward } = await import("./steward.ts");
const steward = await startSteward(Object.fromEntries(settings));
const { clock, jobs, outbox, users, tenants } = steward;
const secret = `/${crypto.randomUUID()}${crypto.randomUUID()}`;

// deno-lint-ignore no-explicit-any -- bodies come from the test, and the functions refuse wrong ones
const operations: Record<string, (body: any) => unknown> = {
  "/clock/advance": async ({ by }) => ({ now: await clock.advance(by) }),
  "/jobs/drain": () => jobs.drain(),
  "/users": (body) => users.create(body),
  "/tokens": async (user) => ({ token: await users.token(user) }),
  "/tenants": (body) => tenants.create(body),
  "/outbox/last": (body) => outbox.last(body),
};

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const isKnown = request.method === "POST" && pathname.startsWith(`${secret}/`);
  const operation = isKnown ? operations[pathname.slice(secret.length)] : undefined;
  if (!operation) return Response.json({ error: "not found" }, { status: 404 });
  try {
    const body = JSON.parse(await request.text() || "{}");
    return Response.json(await operation(body) ?? null);
  } catch (error) {
    return Response.json({ error: (error as Error).message }, { status: 400 });
  }
}

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
console.log(JSON.stringify({ url: steward.url, control: `http://127.0.0.1:${server.addr.port}${secret}` }));
await Deno.stdin.readable.pipeTo(new WritableStream()).catch(() => {});
await server.shutdown();
await steward.stop();
