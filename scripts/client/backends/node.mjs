// A backend that asks Steward what users may do. Its service account holds check:access and read:events.
// STEWARD_URL=https://steward.example STEWARD_SECRET=sk_… PORT=8080 node node.mjs
import { createServer } from "node:http";
import process from "node:process";

async function steward(path, body) {
  const response = await fetch(`${process.env.STEWARD_URL}/api/v1${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${process.env.STEWARD_SECRET}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(2_000),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return await response.json();
}

// The answers that hold until an event says that the user's rights changed.
const answers = new Map();
async function may(userId, tenantId, permission) {
  if (!answers.has(userId)) answers.set(userId, new Map());
  const [known, key] = [answers.get(userId), `${tenantId} ${permission}`];
  if (!known.has(key)) {
    const { results } = await steward("/access/check", { checks: [{ userId, tenantId, permission }] });
    known.set(key, results[0].allowed); // unused if the map was dropped meanwhile
  }
  return known.get(key);
}
async function follow(after) {
  const { items, next } = await steward(`/events?types=user.access-changed&waitSeconds=1&after=${after}`);
  for (const { data } of items) answers.delete(data.userId);
  return next;
}
// End of the part that a backend needs.

const { next } = await steward("/events?types=none");
(async () => {
  for (let after = next;;) {
    try {
      after = await follow(after);
      if (answers.size > 100_000) answers.clear();
    } catch (error) {
      console.error(error.message);
      answers.clear(); // without events, no answer is kept
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
})();

const server = createServer(async (request, response) => {
  const { searchParams: asked } = new URL(request.url, "http://backend");
  try {
    const allowed = await may(asked.get("user"), asked.get("tenant"), asked.get("permission"));
    response.writeHead(allowed ? 200 : 403).end(allowed ? "Approved.\n" : "Refused.\n");
  } catch (error) {
    console.error(error.message);
    response.writeHead(503).end();
  }
});
server.listen(
  Number(process.env.PORT ?? 0),
  "127.0.0.1",
  () => console.log(`listening on ${server.address().port}`),
);
