import assert from "node:assert/strict";
import { deliveryJob } from "../../../domain/notifications/delivery/deliver.ts";
import {
  type ChannelChoices,
  type Preferences,
  writePreferences,
} from "../../../domain/notifications/preferences.ts";
import { type NotificationDetail, readNotification } from "../../../domain/notifications/read.ts";
import { sendNotification } from "../../../domain/notifications/sending/send.ts";
import { MailDeliveryFailed, type MailMessage, type MailTransport } from "../../../infra/mail/mail.ts";
import { recipientsOf } from "../../../infra/mail/message_safety.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { jobContext } from "../../support/job_context.ts";
import { setupShared, type TestService } from "../../support/setup.ts";

/** A clock that shows a fixed time until it is set. */
class SetClock {
  #now = new Date("2026-05-04T12:00:00Z");
  now = (): Date => this.#now;
  set(now: string): void {
    this.#now = new Date(now);
  }
}
export const clock = new SetClock();

/** A service without a worker, with `clock`. */
export const setupWithClock = () => setupShared({ JOB_CONCURRENCY: "0" }, { clock });

/** A mail server whose answer per address is configured, and which remembers the accepted mail. */
export class FakeServer implements MailTransport {
  readonly took: MailMessage[] = [];
  /** Its answer to an address, such as `550 5.1.1 unknown`; default: it accepts the mail. */
  readonly refusals = new Map<string, string>();

  constructor(
    readonly name = "fake",
    public before: (message: MailMessage) => Promise<unknown> | void = () => {},
  ) {}

  async send(message: MailMessage) {
    await this.before(message);
    const all = recipientsOf(message);
    const refused = all.flatMap((address) => {
      const reason = this.refusals.get(address);
      return reason ? [{ address, reason, permanent: reason.startsWith("5") }] : [];
    });
    if (refused.length === all.length) {
      const permanent = refused.every((refusal) => refusal.permanent);
      throw new MailDeliveryFailed("all refused", { permanent, code: "EENVELOPE", refused });
    }
    this.took.push(message);
    const accepted = all.filter((address) => !this.refusals.has(address));
    return { accepted, refused, response: "250 ok" };
  }
  ping = () => Promise.resolve();
  close = () => Promise.resolve();
  takenBy = (address: string): MailMessage[] =>
    this.took.filter((mail) => mail.to.some((to) => to.address === address));
}

/** Runs delivery jobs by hand on a service without a worker. Without a given server, each test of the file uses a new one. */
export function deliveringBy(t: TestService, tenantId: string | null, given?: FakeServer) {
  const p = t.steward.platform;
  const server = given ?? new FakeServer();
  if (!given) Deno.test.beforeEach(() => void p.mail.splice(0, p.mail.length, server));
  const read = (id: string): Promise<NotificationDetail> => readNotification(p.sql, tenantId, id);
  const jobOf = async (id: string): Promise<string> => {
    const [row] = await p.sql<{ jobId: string }[]>`select job_id from notifications where id = ${id}`;
    return row?.jobId ?? "";
  };

  return {
    server,
    read,
    jobOf,
    queue: async (message: Parameters<typeof sendNotification>[3]): Promise<string> => {
      const sender = { tenantId, userId: null, traceId: null };
      return (await transact(p.sql, (tx) => sendNotification(p, tx, sender, message))).notificationId;
    },
    /** Runs the message's present job once; returns its error or its result. */
    async run(id: string, o: { attempt?: number; failures?: number; waits?: boolean; jobId?: string } = {}) {
      const context = jobContext(p, {
        jobId: o.jobId ?? await jobOf(id),
        tenantId,
        attempt: o.attempt ?? 1,
        failures: o.failures ?? 0,
        waitsForDependencies: o.waits ?? true,
      });
      return await deliveryJob.run({ notificationId: id }, context).catch((error) => error);
    },
    /** The outcome of each recipient by address: status, and the reason of a skip. */
    async outcomes(id: string): Promise<Record<string, string>> {
      const { recipients } = await read(id);
      return Object.fromEntries(
        recipients.map(({ address, status, reason }) => [address, reason ? `${status} ${reason}` : status]),
      );
    },
    /** A user of the tenant, with these preferences. */
    async person(change: Partial<Preferences> | null = null): Promise<{ userId: string; email: string }> {
      const { userId, email } = await t.actor({ tenantId: tenantId ?? "" });
      if (change) await this.prefer(userId, change);
      return { userId, email };
    },
    async prefer(userId: string, change: Partial<Preferences>): Promise<void> {
      const digest = { isEnabled: false, at: "08:00", locale: null };
      const defaults = { timeZoneId: "UTC", quietHours: null, categories: [], digest };
      await writePreferences(p.sql, userId, { ...defaults, ...change }, null);
    },
  };
}

/** A message to users by mail; `change` overrides. */
export const mailTo = (users: { userId: string }[], change: Record<string, unknown> = {}) => ({
  channel: "Email" as const,
  recipients: [],
  userIds: users.map(({ userId }) => userId),
  subject: "S",
  textBody: "T",
  ...change,
});

const CHANNELS = ["email", "push", "inApp", "sms"] as const;
/** A category, and the channels on which the user does not want it. */
export const without = (
  category: string,
  ...channels: (typeof CHANNELS)[number][]
): Preferences["categories"][number] => ({
  category,
  channels: Object.fromEntries(
    CHANNELS.map((channel) => [channel, !channels.includes(channel)]),
  ) as ChannelChoices,
});

/** The job's error message about an unsent message, for tests that expect one. */
export const failure = (thrown: unknown, pattern: RegExp): void => assert.match(String(thrown), pattern);
