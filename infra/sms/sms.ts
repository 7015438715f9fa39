import type { Outbox } from "../mail/outbox.ts";

/** A text message for one number (E.164). */
interface SmsMessage {
  to: string;
  text: string;
  /** URL that the provider reports the delivery to; absent: it does not. */
  statusCallback?: string | null;
}

/** A way to send text messages. */
export interface SmsTransport {
  readonly name: string;
  /** Sends the message. Throws SmsRefused, or another error if the provider could not be used at all. */
  send(message: SmsMessage, signal?: AbortSignal): Promise<void>;
}

/**
 * The provider did not accept a message. `permanent`: the same message would be refused again. `stopsBatch`: other
 * messages would fail now too; `retryAfterMs` is the provider's Retry-After. `isUnreachable`: the provider could not be
 * reached, did not answer, or answered that it is overloaded, has failed itself or refuses the credentials.
 */
export class SmsRefused extends Error {
  override readonly name = "SmsRefused";
  readonly permanent: boolean;
  readonly stopsBatch: boolean;
  readonly retryAfterMs: number | null;
  readonly isUnreachable: boolean;

  constructor(
    message: string,
    o: { permanent?: boolean; stopsBatch?: boolean; retryAfterMs?: number | null; isUnreachable?: boolean },
  ) {
    super(message);
    this.isUnreachable = o.isUnreachable ?? false;
    this.permanent = o.permanent ?? false;
    this.stopsBatch = o.stopsBatch ?? false;
    this.retryAfterMs = o.retryAfterMs ?? null;
  }
}

/** Stores text messages in the development outbox. */
export function outboxSms(outbox: Outbox): SmsTransport {
  return {
    name: "outbox",
    async send({ to, text }) {
      await outbox.add({ channel: "Sms", to: [to], subject: null, htmlBody: null, textBody: text });
    },
  };
}

/** The settings of one Twilio-compatible gateway, parsed from SMS_URL. */
interface SmsGatewaySettings {
  /** URL that messages are posted to. */
  endpoint: string;
  user: string;
  password: string;
  /** Either a sender number (or name), or a messaging service: a pool of senders configured at the provider. */
  sender: { From: string } | { MessagingServiceSid: string };
}

const KNOWN = ["from", "messagingService", "account"];
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Parses `https://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=+15550100`. `messagingService=MG…` can replace `from`. With
 * an API key as user and password, `account=AC…` is the account. Throws an Error that describes the mistake but does not
 * contain the URL, because it has a password.
 */
export function parseSmsUrl(text: string): SmsGatewaySettings {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url?.protocol === "https:" || url?.protocol === "http:" && LOOPBACK.includes(url.hostname);
  if (!url || !isSafe) throw new Error("expected https://ACCOUNT_SID:AUTH_TOKEN@host?from=NUMBER");
  if (!url.username || !url.password) throw new Error("expected the account and its token before the host");
  // keep the + of a phone number, which would decode to a space
  const parameters = new URLSearchParams(url.search.replaceAll("+", "%2B"));
  const unknown = [...parameters.keys()].find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) {
    throw new Error(`the parameter \`${unknown}\` is unknown; the parameters are ${KNOWN.join(", ")}`);
  }
  const [from, service] = [parameters.get("from"), parameters.get("messagingService")];
  if (!from === !service) throw new Error("expected either `from` or `messagingService`");
  const user = decodeURIComponent(url.username);
  const account = encodeURIComponent(parameters.get("account") ?? user);
  return {
    endpoint: `${url.origin}${url.pathname.replace(/\/+$/, "")}/2010-04-01/Accounts/${account}/Messages.json`,
    user,
    password: decodeURIComponent(url.password),
    sender: from ? { From: from } : { MessagingServiceSid: service ?? "" },
  };
}
