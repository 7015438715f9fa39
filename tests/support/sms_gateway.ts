// A fake of Twilio's Messages API on loopback.

export interface SmsTaken {
  to: string;
  sender: string;
  text: string;
}

export interface SmsGateway {
  /** The value of SMS_URL for this gateway. */
  smsUrl: string;
  taken: SmsTaken[];
  /** Numbers in the order of their requests. */
  asked: string[];
  mostAtOnce: number;
  connections: Set<string>;
  retryAfter: string | null;
  /** Every request gets this status and code; null: the number decides. */
  fault: { status: number; code?: number; message: string } | null;
  gate: () => Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const ACCOUNT = "AC00000000000000000000000000000001";
const TOKEN = "t0ken/with:odd@signs";

/** The end of the number decides: …21211 and the like give that error, …429 too many requests, …500 a failure; others 201. */
const CODES: Record<string, string> = {
  "21211": "Invalid 'To' Phone Number",
  "21408": "Permission to send an SMS has not been enabled for the region",
  "21610": "Attempt to send to unsubscribed recipient",
  "21614": "'To' number is not a valid mobile number",
};

/** Starts a gateway that requires Basic credentials and answers as documented. */
export function startSmsGateway(o: { sender?: string } = {}): SmsGateway {
  let underWay = 0;
  const failure = (
    status: number,
    code: number | undefined,
    message: string,
    headers: Record<string, string> = {},
  ) =>
    Response.json({
      ...(code === undefined ? {} : { code, more_info: `https://www.twilio.com/docs/errors/${code}` }),
      message,
      status,
    }, {
      status,
      headers,
    });
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const form = new URLSearchParams(await request.text());
    await gateway.gate();
    if (request.headers.get("authorization") !== `Basic ${btoa(`${ACCOUNT}:${TOKEN}`)}`) {
      return failure(401, 20003, "Authenticate");
    }
    if (request.method !== "POST" || pathname !== `/gateway/2010-04-01/Accounts/${ACCOUNT}/Messages.json`) {
      return failure(404, 20404, `The requested resource ${pathname} was not found`);
    }
    const [to, text] = [form.get("To"), form.get("Body")];
    const sender = form.get("From") ?? form.get("MessagingServiceSid");
    if (!to) return failure(400, 21604, "A 'To' phone number is required.");
    if (!sender) return failure(400, 21603, "A 'From' phone number is required.");
    if (!text) return failure(400, 21602, "Message body is required.");
    gateway.asked.push(to);
    const { fault } = gateway;
    if (fault) return failure(fault.status, fault.code, fault.message);
    if (text.length > 1600) {
      return failure(400, 21617, "The concatenated message body exceeds the 1600 character limit.");
    }
    const code = Object.keys(CODES).find((code) => to.endsWith(code));
    if (code) return failure(400, Number(code), CODES[code] ?? "");
    const pause: Record<string, string> = gateway.retryAfter === null
      ? {}
      : { "retry-after": gateway.retryAfter };
    if (to.endsWith("429")) return failure(429, 20429, "Too Many Requests", pause);
    if (to.endsWith("500")) return failure(500, 20500, "Internal Server Error");
    gateway.taken.push({ to, sender, text });
    const sid = `SM${crypto.randomUUID().replaceAll("-", "")}`;
    return Response.json({ sid, status: "queued", to, body: text, error_code: null }, { status: 201 });
  };
  const cut = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: cut.signal, onListen: () => {} };
  const server = Deno.serve(options, async (request, info) => {
    gateway.connections.add(`${info.remoteAddr.port}`);
    gateway.mostAtOnce = Math.max(gateway.mostAtOnce, ++underWay);
    try {
      return await answer(request);
    } finally {
      underWay--;
    }
  });
  const credentials = `${ACCOUNT}:${encodeURIComponent(TOKEN)}`;
  const gateway: SmsGateway = {
    smsUrl: `http://${credentials}@127.0.0.1:${server.addr.port}/gateway?${o.sender ?? "from=+15550100"}`,
    taken: [],
    asked: [],
    mostAtOnce: 0,
    connections: new Set<string>(),
    retryAfter: null,
    fault: null,
    gate: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => (cut.abort(), server.finished),
  };
  return gateway;
}
