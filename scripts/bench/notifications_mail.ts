import { join } from "node:path";
import { type BenchSetup, type MeasuredProcess, median, printResult, rounded } from "./bench_setup.ts";
import { load } from "./load.ts";
import { signIn } from "./sample_users.ts";

const MESSAGES = 10_000;
const WARM_UP = 3_000;
const CONCURRENCY = 50;
const ROUNDS = 3;

const SUBJECT = "Your order has been sent";
const HTML = `<h1>Hello Ann</h1><p>${"Your order is on its way. ".repeat(20)}</p>`;
const TEXT = `Hello Ann\n\n${"Your order is on its way. ".repeat(20)}`;

/** Counters of the SMTP sink; times in ms since the epoch. */
interface SinkCounts {
  messages: number;
  firstAt: number;
  lastAt: number;
  smtpPort: number;
}

/**
 * Rate of sending 10,000 accepted emails, against nodemailer's own pool sending the same emails to the same server
 * over as many connections. Also the rate while the requests are still being accepted.
 */
export async function notificationsMail(setup: BenchSetup): Promise<void> {
  const sink = await setup.startPeer("smtp_sink.mjs", []);
  const readSink = async (method = "GET"): Promise<SinkCounts> =>
    await (await fetch(`http://127.0.0.1:${sink.port}/`, { method })).json();
  const { smtpPort } = await readSink();
  const start = (concurrency: number) =>
    setup.startService({
      SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      MAIL_FROM: "Bench <bench@example.test>",
      JOB_CONCURRENCY: String(concurrency),
    });
  const waitForMessages = async (count: number): Promise<SinkCounts> => {
    for (;;) {
      const now = await readSink();
      if (now.messages >= count) return now;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  /** Accepts all requests without sending, then restarts the service and measures the sending. */
  const acceptThenSend = async (count: number): Promise<{ rate: number; working: MeasuredProcess }> => {
    await readSink("DELETE");
    const accepting = await start(0);
    await request(accepting.port, count);
    await accepting.stop();
    const working = await start(CONCURRENCY);
    return { rate: rateOf(await waitForMessages(count)), working };
  };

  let { working } = await acceptThenSend(WARM_UP);
  await setup.sql`analyze`; // autovacuum does this after about a minute
  const ratios: number[] = [];
  const rates: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await working.stop();
    const ours = await acceptThenSend(MESSAGES);
    working = ours.working;
    await readSink("DELETE");
    await runNodemailer(smtpPort, MESSAGES);
    const theirs = rateOf(await readSink());
    ratios.push(ours.rate / theirs);
    rates.push(`${Math.round(ours.rate)}/s against ${Math.round(theirs)}/s`);
  }
  printResult("10,000 accepted emails, against nodemailer's pool alone", rounded(median(ratios)), " ×", {
    min: 0.7,
  });
  console.log(`    rounds: ${rates.join("; ")}`);

  await readSink("DELETE");
  const started = performance.timeOrigin + performance.now();
  await request(working.port, MESSAGES);
  const { lastAt } = await waitForMessages(MESSAGES);
  console.log(`    while requests are accepted: ${Math.round(MESSAGES / (lastAt - started) * 1000)}/s`);
  await working.stop();
}

/** Messages per second between the first and the last 250 response. */
const rateOf = ({ messages, firstAt, lastAt }: SinkCounts): number =>
  (messages - 1) / (lastAt - firstAt) * 1000;

async function request(port: number, count: number): Promise<void> {
  const token = await signIn(port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({
    channel: "Email",
    recipients: [{ address: "ann@example.test", displayName: "Ann" }],
    subject: SUBJECT,
    htmlBody: HTML,
    textBody: TEXT,
  });
  const { statuses } = await load({
    port,
    connections: 32,
    seconds: 600,
    requests: count,
    next: () => ({ method: "POST", path: "/api/v1/notifications/send", headers, body }),
  });
  if (statuses[200] !== count) throw new Error(`sending answered ${JSON.stringify(statuses)}`);
}

async function runNodemailer(smtpPort: number, count: number): Promise<void> {
  const message = {
    from: { name: "Bench", address: "bench@example.test" },
    subject: SUBJECT,
    html: HTML,
    text: TEXT,
    to: { name: "Ann", address: "ann@example.test" },
  };
  const script = join(import.meta.dirname ?? ".", "nodemailer_peer.mjs");
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, String(smtpPort), String(count), JSON.stringify(message)],
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the nodemailer peer failed");
}
