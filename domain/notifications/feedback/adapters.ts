import type { Config } from "../../../infra/config.ts";
import type { FeedbackAdapter } from "./feedback.ts";
import { mailgun } from "./mailgun.ts";
import { postmark } from "./postmark.ts";
import { sendgrid } from "./sendgrid.ts";
import { ses } from "./ses.ts";
import { standardWebhooks } from "./standard_webhooks.ts";
import { twilio } from "./twilio.ts";

/** The path that providers send feedback to, without the provider's name. */
export const FEEDBACK_PATH = "/api/v1/notification-feedback";

const ADAPTERS: { name: string; adapter: FeedbackAdapter; secret: (config: Config) => string | null }[] = [
  { name: "twilio", adapter: twilio, secret: (config) => config.NOTIFICATION_FEEDBACK_TWILIO },
  { name: "ses", adapter: ses, secret: (config) => config.NOTIFICATION_FEEDBACK_SES },
  { name: "sendgrid", adapter: sendgrid, secret: (config) => config.NOTIFICATION_FEEDBACK_SENDGRID },
  { name: "mailgun", adapter: mailgun, secret: (config) => config.NOTIFICATION_FEEDBACK_MAILGUN },
  { name: "postmark", adapter: postmark, secret: (config) => config.NOTIFICATION_FEEDBACK_POSTMARK },
  {
    name: "standard-webhooks",
    adapter: standardWebhooks,
    secret: (config) => config.NOTIFICATION_FEEDBACK_STANDARD_WEBHOOKS,
  },
];

/** The adapter of a provider and its secret; null if it is unknown or not configured. */
export function findAdapter(
  config: Config,
  name: string,
): { adapter: FeedbackAdapter; secret: string } | null {
  const found = ADAPTERS.find((each) => each.name === name);
  const secret = found?.secret(config);
  return found && secret ? { adapter: found.adapter, secret } : null;
}

/** The mail headers by which the configured providers repeat the reference of a mail in their reports. */
export function feedbackHeaders(config: Config, reference: string): Record<string, string> {
  const given = ADAPTERS.flatMap(({ adapter, secret }) => {
    const headers = secret(config) && adapter.headers?.(reference);
    return headers ? Object.entries(headers) : [];
  });
  return Object.fromEntries(given);
}

/** The URL that Twilio reports the status of a text message to; null: it does not. */
export const statusCallback = (config: Config, baseUrl: string, recipientId: string): string | null =>
  config.NOTIFICATION_FEEDBACK_TWILIO ? `${baseUrl}${FEEDBACK_PATH}/twilio?recipient=${recipientId}` : null;
