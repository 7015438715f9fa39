import type { BenchSetup } from "./bench_setup.ts";
import { measure, scaled } from "./compare.ts";
import { rateOf, reportLatencies } from "./load.ts";
import { fillMessages } from "./sample_history.ts";
import { findAdministrator, signInAdministrator } from "./sample_users.ts";

const MESSAGES = scaled(1_000_000);

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

/** p95 of lists, stats and the unread count with a million messages of one tenant and a million of one user. */
export async function notificationsLists(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService({ JOB_CONCURRENCY: "0" });
  const headers = await signInAdministrator(port);
  const administrator = await findAdministrator(setup.sql);
  await fillMessages(setup.sql, MESSAGES, administrator);
  const ago = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString();
  const range = `fromDate=${ago(20.3)}&toDate=${ago(3.7)}`;
  const list = "/api/v1/notifications";
  const inApp = "/api/v1/user-notifications";
  const paths = {
    "list": list,
    "list by channel": `${list}?channel=Sms`,
    "list by status": `${list}?status=DeadLettered`,
    "list by channel and status": `${list}?channel=Push&status=Failed`,
    "list by dates": `${list}?${range}`,
    "list by channel, status and dates": `${list}?channel=Push&status=Failed&${range}`,
    "stats": `${list}/stats`,
    "stats by dates": `${list}/stats?${range}`,
    "stats of an afternoon": `${list}/stats?fromDate=${ago(5.6)}&toDate=${ago(5.4)}`,
    "unread count": `${inApp}/unread-count?userId=${administrator.userId}`,
    "in-app list": `${inApp}?userId=${administrator.userId}&isRead=false`,
    "last page": `${list}?page=${MESSAGES / 20}`,
  };
  await reportLatencies(port, headers, paths, { max: 10 });
}
