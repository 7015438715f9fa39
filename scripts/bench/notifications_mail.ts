import { setTimeout as delay } from "node:timers/promises";
import { type BenchSetup, type MeasuredProcess, runPeer } from "./bench_setup.ts";
import { compare, scaled } from "./compare.ts";
import { repeat } from "./load.ts";
import { EMAIL } from "./notifications.ts";
import { signInAdministrator } from "./sample_users.ts";

const MESSAGES = scaled(10_000);
const CONNECTIONS = 50;

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
  const waitForMessages = async (): Promise<SinkCounts> => {
    for (;;) {
      const counts = await readSink();
      if (counts.messages >= MESSAGES) return counts;
      await delay(100);
    }
  };
  const { smtpPort } = await readSink();
  const startService = (concurrency: number) =>
    setup.startService({
      SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      MAIL_FROM: "Bench <bench@example.test>",
      JOB_CONCURRENCY: String(concurrency),
    });
  await compare({
    name: `${MESSAGES} accepted emails, against nodemailer's pool alone`,
    unit: "/s",
    /** One service accepts all requests without sending. Another one then sends. */
    async ours() {
      await readSink("DELETE");
      const accepting = await startService(0);
      await requestEmails(accepting);
      await accepting.stop();
      const sending = await startService(CONNECTIONS);
      const rate = rateOf(await waitForMessages());
      await sending.stop();
      await setup.sql`analyze`; // autovacuum does this after about a minute
      return rate;
    },
    async baseline() {
      await readSink("DELETE");
      const { subject, htmlBody: html, textBody: text } = EMAIL;
      const message = {
        subject,
        html,
        text,
        from: "Bench <bench@example.test>",
        to: "Ann <ann@example.test>",
      };
      await runPeer("nodemailer_peer.mjs", [String(smtpPort), String(MESSAGES), JSON.stringify(message)]);
      return rateOf(await readSink());
    },
    minSpeed: 0.8,
  });
  await readSink("DELETE");
  const service = await startService(CONNECTIONS);
  const started = performance.timeOrigin + performance.now();
  await requestEmails(service);
  const { lastAt } = await waitForMessages();
  console.log(`    while requests are accepted: ${Math.round(MESSAGES / (lastAt - started) * 1000)}/s`);
}

/** Messages per second between the first and the last 250 response. */
const rateOf = ({ messages, firstAt, lastAt }: SinkCounts): number =>
  (messages - 1) / (lastAt - firstAt) * 1000;

async function requestEmails({ port }: MeasuredProcess): Promise<void> {
  const request = {
    path: "/api/v1/notifications/send",
    headers: await signInAdministrator(port),
    body: EMAIL,
  };
  await repeat(port, request, { connections: 32, requests: MESSAGES });
}
