// Renders invoices: STEWARD_URL=https://steward.example STEWARD_KEY=sk_... node example.mjs
import process from "node:process";
// @ts-ignore: the client is built by `deno task client` and installed by the product
import { HopelessJob, Postpone, Steward } from "@steward/client";

async function render(invoice, { progress, log, signal, traceparent }) {
  const { number, pages = 0, secondsPerPage = 0 } = invoice;
  if (!number) throw new HopelessJob("an invoice needs a number");
  if (invoice.paid === false) throw new Postpone(60);
  if (pages < 0) throw new Error("an invoice cannot have fewer than 0 pages");
  for (let page = 1; page <= pages; page++) {
    await new Promise((resolve) => setTimeout(resolve, secondsPerPage * 1000));
    signal.throwIfAborted();
    log("info", `rendered page ${page} of ${number}`, { page });
    progress(100 * page / pages, `page ${page}`);
  }
  return { number, traceparent };
}

const { STEWARD_URL = "", STEWARD_KEY = "", STEWARD_QUEUE } = process.env;
const steward = new Steward({ baseUrl: STEWARD_URL, token: STEWARD_KEY });
const stopping = new AbortController();
for (const name of ["SIGTERM", "SIGINT"]) process.once(name, () => stopping.abort());

await steward.work({ "invoice.render": render }, {
  concurrency: 100,
  ...(STEWARD_QUEUE ? { queues: [STEWARD_QUEUE] } : {}),
  graceSeconds: 5,
  signal: stopping.signal,
});
