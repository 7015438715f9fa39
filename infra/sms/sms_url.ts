/** The settings of one Twilio-compatible gateway, parsed from SMS_URL. */
export interface SmsGatewaySettings {
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
