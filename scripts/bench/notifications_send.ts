import { type BenchSetup, median, printResult } from "./bench_setup.ts";
import { load } from "./load.ts";
import { signIn } from "./sample_users.ts";

const ROUNDS = 3;
const MIN_PER_SECOND = 2_000;

/** Rate of POST /api/v1/notifications/send over 32 connections: one recipient, with given texts and with a template. */
export async function notificationsSend(setup: BenchSetup): Promise<void> {
  const service = await setup.startService({ JOB_CONCURRENCY: "0" });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const recipients = [{ address: "ann@example.test", displayName: "Ann" }];
  const bodies = {
    "with a subject and two bodies": {
      channel: "Email",
      recipients,
      subject: "Your order has been sent",
      htmlBody: `<h1>Hello Ann</h1><p>${"Your order is on its way. ".repeat(20)}</p>`,
      textBody: `Hello Ann\n\n${"Your order is on its way. ".repeat(20)}`,
    },
    "with a template": {
      channel: "Email",
      recipients,
      templateSlug: "report-ready",
      templateData: { reportName: "Users", firstName: "Ann", downloadUrl: "https://example.test/1" },
    },
  };
  for (const [name, body] of Object.entries(bodies)) {
    const rates: number[] = [];
    let p95 = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      const result = await load({
        port: service.port,
        connections: 32,
        seconds: 3,
        next: () => ({
          method: "POST",
          path: "/api/v1/notifications/send",
          headers,
          body: JSON.stringify(body),
        }),
      });
      if (Object.keys(result.statuses).join() !== "200") {
        throw new Error(`sending answered ${JSON.stringify(result.statuses)}`);
      }
      if (round > 0) rates.push(result.perSecond);
      p95 = result.p95;
    }
    printResult(`POST /api/v1/notifications/send ${name}, 32 connections`, median(rates), "/s", {
      min: MIN_PER_SECOND,
    });
    console.log(`    rounds: ${rates.join("/s, ")}/s; last p95 ${p95} ms`);
  }
  await service.stop();
}
