// Schemas that parse environment variables.
import { createPublicKey } from "node:crypto";
import { z } from "zod";
import { ARCHIVE_KINDS, AREA_NAMES } from "./areas.ts";
import { readAllowList } from "./http_out/addresses.ts";
import { algorithmOf } from "./signing_keys.ts";
import { parseSmsUrl } from "./sms/sms.ts";
import { SIGNING_SECRET, SIGNING_SECRET_EXPECTED } from "./http_out/signing_secret.ts";
import { parseMailFrom } from "./mail/mail_address.ts";

// Of a refused key of a record, zod says only that it is invalid. This tells what the shape of the key expects.
z.config({ customError: (issue) => issue.code === "invalid_key" ? issue.issues[0]?.message : undefined });

/** One setting. Without a value for production, and without `optional`, an absent variable is an error there. */
export interface Setting {
  schema: z.ZodType;
  meaning: string;
  /** The value if the variable is absent. */
  default?: string;
  /** The value if it is absent in development. "": the service creates or embeds it. */
  development?: string;
  /** The value if it is absent in production. */
  production?: string;
  /** True if it may be absent in production (then the feature is off, or the value is derived). */
  optional?: true;
  /** True if production does not need it while no area keeps files; it then has the value of development. */
  ofFiles?: true;
}

/** True for a public key: the base64 of its SPKI form. */
function isPublicKey(text: string): boolean {
  try {
    createPublicKey({ key: Uint8Array.fromBase64(text) as never, format: "der", type: "spki" });
    return true;
  } catch {
    return false;
  }
}

/** A secret that others choose. */
export const secretText = z.string().min(16, "expected at least 16 characters");
export const flag = z.stringbool();
export const port = z.coerce.number().int().min(0).max(65_535);
export const positive = z.coerce.number().int().min(1);
export const url = (protocols: string[]) =>
  z.url().refine((value) => protocols.includes(URL.parse(value)?.protocol ?? ""), {
    error: `expected a URL beginning with ${protocols.join(" or ")}`,
  });

/** Connection URL of Postgres. It may name several hosts, separated by commas. */
export const databaseUrl = z.string().refine((value) => {
  const isOneHost = url(["postgres:", "postgresql:"]);
  const [, start = "", hosts = "", end = ""] = /^(\w+:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/s.exec(value) ?? [];
  return hosts.split(",").every((host) => isOneHost.safeParse(start + host + end).success);
}, {
  error:
    "expected a URL such as postgres://user:password@host:5432/database; several hosts: host1:5432,host2:5432",
});

/** Text that contains JSON with the shape of `schema`. */
export const json = <T extends z.ZodType>(schema: T) =>
  z.string().transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: "custom", message: "expected JSON" }); // the parser's message would quote secrets
      return z.NEVER;
    }
  }).pipe(schema);

const IP_ADDRESS = z.union([z.ipv4(), z.ipv6()]);

/** A name server: an IP address, with a port if it is not 53. */
const nameServer = z.string().transform((text, context) => {
  const [, bracketed, plain, port = "53"] =
    /^(?:\[([^\]]+)\]|([^:]+|[^:]*:[^:]*:.*?))(?::(\d+))?$/.exec(text) ?? [];
  const hostname = bracketed ?? plain ?? "";
  if (IP_ADDRESS.safeParse(hostname).success && Number(port) <= 65_535) {
    return { hostname, port: Number(port) };
  }
  context.addIssue({ code: "custom", message: "expected an IP address such as 192.0.2.1 or 192.0.2.1:53" });
  return z.NEVER;
});

/** A URL that credentials are sent to: https, or http only for localhost. */
const safeUrl = z.url().refine((value) => {
  const at = URL.parse(value);
  return at?.protocol === "https:" ||
    at?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(at.hostname);
}, { error: "expected an https URL (http only for localhost)" });

export const openIdProviders = z.record(
  // `/auth/oidc/exchange` is a route of its own.
  z.string().regex(
    /^(?!exchange$)[a-z0-9][a-z0-9-]{0,39}$/,
    "expected a name of a-z, 0-9 and -, except exchange",
  ),
  z.strictObject({
    issuer: safeUrl,
    clientId: z.string().min(1),
    /** Absent: a public client. */
    clientSecret: z.string().min(1).optional(),
    displayName: z.string().min(1).max(100).optional(),
    scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/)).default(["openid", "email", "profile"])
      .refine((scopes) => scopes.includes("openid"), { error: "expected `openid` among the scopes" }),
    /** How the client secret is sent. */
    clientAuthentication: z.enum(["client_secret_basic", "client_secret_post"]).default(
      "client_secret_basic",
    ),
    /** True: creates a user, without tenant links, for a verified email that no user has. */
    autoProvision: z.boolean().default(false),
    /** True: its sign-ins count as two factors, even if its ID tokens do not say so (`amr` with `mfa`). */
    satisfiesSecondFactor: z.boolean().default(false),
  }),
);

/** Comma-separated keys of 32 bytes in base64. */
export const keys32 = z.string().transform((text) => text.split(",").map((key) => key.trim())).refine(
  (keys) => keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key)),
  "expected keys of 32 bytes in base64, comma-separated",
);

/** Comma-separated names. */
const someOf = <T extends string>(names: readonly T[]) =>
  z.string().transform((text) => text.split(",").map((name) => name.trim())).pipe(
    z.array(z.enum(names, { error: `expected some of ${names.join(", ")}` })),
  ).transform((given): ReadonlySet<T> => new Set(given));
export const areas = someOf(AREA_NAMES);
export const archiveKinds = someOf(ARCHIVE_KINDS);

/** Comma-separated paths. */
export const paths = z.string().transform((text) =>
  text.split(",").map((path) => path.trim()).filter((path) => path !== "")
);

/**
 * URLs separated by commas. A comma also separates an entry without a scheme, so that the mistake has the number of that
 * entry, unless the comma is within the user and password of the one before.
 */
const urlList = (protocols: string[]) =>
  z.string().transform((text) =>
    text.split(/\s*,\s*(?=[a-z][a-z0-9+.-]*:\/\/)/i).flatMap((entry) => {
      const [, userInfo = "", rest = ""] = /^([^@]*@)?(.*)$/s.exec(entry) ?? [];
      const [first = "", ...others] = rest.split(/\s*,\s*/);
      return [userInfo + first, ...others];
    })
  ).pipe(z.array(url(protocols)));

/** SMS gateways in failover order, each in the format of `parseSmsUrl`. */
const smsUrls = urlList(["http:", "https:"]).superRefine((urls, context) => {
  for (const [index, text] of urls.entries()) {
    try {
      parseSmsUrl(text);
    } catch (error) {
      context.addIssue({ code: "custom", path: [index], message: (error as Error).message });
    }
  }
});

/** The members of a Google service account key file that the service uses. */
const fcmServiceAccount = z.object({
  project_id: z.string().min(1),
  client_email: z.string().min(1),
  private_key_id: z.string().min(1),
  private_key: z.string().includes("-----BEGIN PRIVATE KEY-----", { error: "expected a PKCS #8 key in PEM" }),
  token_uri: safeUrl,
});
export type FcmServiceAccount = z.output<typeof fcmServiceAccount>;

/** Settings of one OpenID provider. */
export type OpenIdSettings = z.output<typeof openIdProviders>[string];

export const origins = z.string().transform((text) =>
  text.split(",").map((part) => part.trim()).filter(Boolean)
)
  .pipe(z.array(url(["http:", "https:"]).transform((value) => new URL(value).origin)));

/** `*`, or comma-separated origins. */
export const corsOrigins = z.union([z.string().trim().pipe(z.literal("*")), origins], {
  error: "expected `*` or comma-separated http(s) origins",
});

export function isResetUrl(value: string): boolean {
  return value.includes("{token}") && /^https?:$/.test(URL.parse(value)?.protocol ?? "");
}

const keyList = z.array(z.looseObject({ kty: z.string() })).refine((keys) => {
  const algorithms = keys.map((key) => algorithmOf(key));
  return algorithms.includes("EdDSA") && !algorithms.includes(null);
});

export function isKeyList(text: string): boolean {
  return json(keyList).safeParse(text).success;
}

export function isAllowList(text: string): boolean {
  try {
    readAllowList(text);
    return true;
  } catch {
    return false;
  }
}

/** The settings of mail, push and text messages: providers, senders, feedback and retention. */
export const MESSAGE_SETTINGS = {
  SMTP_URL: {
    schema: urlList(["smtp:", "smtps:"]),
    meaning:
      "Mail server URL, or several in failover order, comma-separated; absent in development: the outbox at /dev/outbox",
    development: "",
  },
  MAIL_FROM: {
    schema: z.string().refine(
      (text) => /^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(parseMailFrom(text).address),
      "expected an address such as steward@example.com, or a name with it: Steward <steward@example.com>",
    ),
    meaning: "Sender of mail: `Name <address>` or an address",
    development: "steward@localhost",
  },
  DNS_SERVER: {
    schema: nameServer,
    meaning:
      "Name server that checks the TXT records of sender addresses: `address` or `address:port`; absent: that of the system",
    optional: true,
  },
  PRODUCT_NAME: {
    schema: z.string().trim().min(1).max(100),
    meaning:
      "Name of the product in mails, hosted pages and documents of tenants that have set no other; absent: the tenant's name",
    optional: true,
  },
  PRIMARY_COLOUR: {
    schema: z.string().toLowerCase().regex(/^#[0-9a-f]{6}$/, "expected a colour such as #1f4fd8"),
    meaning: "Colour of buttons in mails, hosted pages and documents of tenants that have set no other",
    default: "#1f4fd8",
  },
  FCM_SERVICE_ACCOUNT: {
    schema: json(fcmServiceAccount),
    meaning:
      "Push: JSON key of the Firebase project's service account; absent: the outbox in development, no push in production",
    development: "",
    optional: true,
  },
  FCM_URL: { schema: safeUrl, meaning: "Push: endpoint; absent: https://fcm.googleapis.com", optional: true },
  SMS_URL: {
    schema: smsUrls,
    meaning:
      "SMS: Twilio-compatible gateway `https://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=NUMBER` (or `messagingService=MG…`), or several in failover order, comma-separated; absent: the outbox in development, no SMS in production",
    development: "",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_TWILIO: {
    schema: secretText,
    meaning:
      "Auth token (at least 16 characters) of the Twilio account, which signs status callbacks and replies (STOP, START); absent: text messages have no feedback",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_SES: {
    schema: z.string().regex(
      /^\s*arn:[^,\s]+:sns:[^,\s]+(\s*,\s*arn:[^,\s]+:sns:[^,\s]+)*\s*$/,
      "expected ARNs of SNS topics",
    ),
    meaning:
      "ARN of the SNS topic that Amazon SES sends its events to, or several, comma-separated; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_SENDGRID: {
    schema: z.string().refine(isPublicKey, "expected a public key (base64 of its SPKI form)"),
    meaning: "Verification key of SendGrid's signed event webhook; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_MAILGUN: {
    schema: secretText,
    meaning: "Webhook signing key of Mailgun, at least 16 characters; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_POSTMARK: {
    schema: z.string().regex(
      /^[^:]+:.{16,}$/,
      "expected user:password, with a password of at least 16 characters",
    ),
    meaning: "`user:password` of the basic authentication of Postmark's webhooks; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_STANDARD_WEBHOOKS: {
    schema: z.string().regex(SIGNING_SECRET, SIGNING_SECRET_EXPECTED),
    meaning: "Secret of feedback in the format of Standard Webhooks, for other providers; absent: none",
    optional: true,
  },
  NOTIFICATION_RETENTION_DAYS: {
    schema: positive.max(3650),
    meaning:
      "Days to keep messages that were sent, cancelled or have failed, with recipients and attempts, and in-app notifications",
    default: "365",
  },
  NOTIFICATION_BODY_RETENTION_DAYS: {
    schema: positive.max(3650),
    meaning:
      "Days to keep the texts, template data and attached files of such messages, and in-app notifications that were read",
    default: "90",
  },
  NOTIFICATION_ATTACHMENTS_MAX_BYTES: {
    schema: positive,
    meaning:
      "Largest total size of a message's attachments, in bytes. In the mail they are a third larger: stay below the limit of the mail servers",
    default: "10485760",
  },
} as const satisfies Record<string, Setting>;
