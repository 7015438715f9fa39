import { join } from "node:path";
import { type Ground, type MeasuredProcess, median, rounded, tell } from "./ground.ts";
import { load } from "./load.ts";
import { signIn } from "./people.ts";

const MESSAGES = 10_000;
const WARM_UP = 3_000;
const CONCURRENCY = 50;
const ROUNDS = 3;

const SUBJECT = "Your order has been sent";
const HTML = `<h1>Hello Ann</h1><p>${"Your order is on its way. ".repeat(20)}</p>`;
const TEXT = `Hello Ann\n\n${"Your order is on its way. ".repeat(20)}`;

interface Taken {
  messages: number;
  firstAt: number;
  lastAt: number;
  smtpPort: number;
}

/**
 * 10,000 emails from the accepted request to the mail server's 250, against nodemailer's own pool sending as many of the
 * same content to the same server through as many connections. Also with the requests being taken meanwhile.
 */
export async function notificationsMail(ground: Ground): Promise<void> {
  const sink = await ground.startPeer("smtp_sink.mjs", []);
  const taken = async (method = "GET"): Promise<Taken> =>
    await (await fetch(`http://127.0.0.1:${sink.port}/`, { method })).json();
  const { smtpPort } = await taken();
  const start = (concurrency: number) =>
    ground.startService({
      ...{ SMTP_URL: `smtp://127.0.0.1:${smtpPort}`, MAIL_FROM: "Bench <bench@example.test>" },
      JOB_CONCURRENCY: String(concurrency),
    });
  const allTaken = async (count: number): Promise<Taken> => {
    for (;;) {
      const now = await taken();
      if (now.messages >= count) return now;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  /** Takes requests without sending anything, then sends and takes none. */
  const acceptThenSend = async (count: number): Promise<{ rate: number; working: MeasuredProcess }> => {
    await taken("DELETE");
    const accepting = await start(0);
    await request(accepting.port, count);
    await accepting.stop();
    const working = await start(CONCURRENCY);
    return { rate: rateOf(await allTaken(count)), working };
  };

  let { working } = await acceptThenSend(WARM_UP);
  await ground.sql`analyze`; // as the database does by itself once it has been in use for a minute
  const ratios: number[] = [];
  const rates: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await working.stop();
    const ours = await acceptThenSend(MESSAGES);
    working = ours.working;
    await taken("DELETE");
    await runNodemailer(smtpPort, MESSAGES);
    const theirs = rateOf(await taken());
    ratios.push(ours.rate / theirs);
    rates.push(`${Math.round(ours.rate)}/s against ${Math.round(theirs)}/s`);
  }
  tell("10,000 accepted emails, against nodemailer's pool alone", rounded(median(ratios)), " ×", {
    least: 0.7,
  });
  console.log(`    rounds: ${rates.join("; ")}`);

  await taken("DELETE");
  const started = performance.timeOrigin + performance.now();
  await request(working.port, MESSAGES);
  const { lastAt } = await allTaken(MESSAGES);
  console.log(`    with the requests taken meanwhile: ${Math.round(MESSAGES / (lastAt - started) * 1000)}/s`);
  await working.stop();
}

/** From the first to the last 250. */
const rateOf = ({ messages, firstAt, lastAt }: Taken): number => (messages - 1) / (lastAt - firstAt) * 1000;

async function request(port: number, count: number): Promise<void> {
  const token = await signIn(port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({
    ...{ channel: "Email", recipients: [{ address: "ann@example.test", displayName: "Ann" }] },
    ...{ subject: SUBJECT, htmlBody: HTML, textBody: TEXT },
  });
  const { statuses } = await load({
    ...{ port, connections: 32, seconds: 600, requests: count },
    next: () => ({ method: "POST", path: "/api/v1/notifications/send", headers, body }),
  });
  if (statuses[200] !== count) throw new Error(`sending answered ${JSON.stringify(statuses)}`);
}

async function runNodemailer(smtpPort: number, count: number): Promise<void> {
  const message = {
    ...{ from: { name: "Bench", address: "bench@example.test" }, subject: SUBJECT, html: HTML, text: TEXT },
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
