import type { BenchSetup } from "./bench_setup.ts";
import { measure } from "./compare.ts";
import { rateOf } from "./load.ts";
import { signInAdministrator } from "./sample_users.ts";

/** A request to send one email with given texts. */
export const EMAIL = {
  channel: "Email",
  recipients: [{ address: "ann@example.test", displayName: "Ann" }],
  subject: "Your order has been sent",
  htmlBody: `<h1>Hello Ann</h1><p>${"Your order is on its way. ".repeat(20)}</p>`,
  textBody: `Hello Ann\n\n${"Your order is on its way. ".repeat(20)}`,
};

/** Rate of POST /api/v1/notifications/send over 32 connections: one recipient, with given texts and with a template. */
export async function notificationsSend(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService({ JOB_CONCURRENCY: "0" });
  const headers = await signInAdministrator(port);
  const path = "/api/v1/notifications/send";
  const bodies = {
    "with a subject and two bodies": EMAIL,
    "with a template": {
      channel: EMAIL.channel,
      recipients: EMAIL.recipients,
      templateSlug: "report-ready",
      templateData: { reportName: "Users", firstName: "Ann", downloadUrl: "https://example.test/1" },
    },
  };
  for (const [name, body] of Object.entries(bodies)) {
    await measure({
      name: `POST ${path} ${name}, 32 connections`,
      unit: "/s",
      run: () => rateOf(port, { path, headers, body }, { connections: 32, seconds: 3 }),
      min: 2_000,
    });
  }
}
