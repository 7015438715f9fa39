// A fake of Twilio's Messages API on loopback.

export interface AcceptedSms {
  to: string;
  sender: string;
  text: string;
}

const ACCOUNT = "AC00000000000000000000000000000001";
const TOKEN = "t0ken/with:odd@signs";

/** The answer depends on the end of the number: one of these codes gives that error, 429 too many requests, 500 a failure. */
const CODES: Record<string, string> = {
  "21211": "Invalid 'To' Phone Number",
  "21408": "Permission to send an SMS has not been enabled for the region",
  "21610": "Attempt to send to unsubscribed recipient",
  "21614": "'To' number is not a valid mobile number",
};

/** Starts a gateway that requires Basic credentials and answers as documented. */
export function startSmsGateway(o: { sender?: string } = {}) {
  let concurrent = 0;
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
    await gateway.beforeAnswer();
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
    gateway.requested.push(to);
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
    gateway.accepted.push({ to, sender, text });
    gateway.callbacks.push(form.get("StatusCallback"));
    const sid = `SM${crypto.randomUUID().replaceAll("-", "")}`;
    return Response.json({ sid, status: "queued", to, body: text, error_code: null }, { status: 201 });
  };
  const cut = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: cut.signal, onListen: () => {} };
  const server = Deno.serve(options, async (request, info) => {
    gateway.connections.add(`${info.remoteAddr.port}`);
    gateway.maxConcurrent = Math.max(gateway.maxConcurrent, ++concurrent);
    try {
      return await answer(request);
    } finally {
      concurrent--;
    }
  });
  const credentials = `${ACCOUNT}:${encodeURIComponent(TOKEN)}`;
  const gateway = {
    /** The value of SMS_URL for this gateway. */
    smsUrl: `http://${credentials}@127.0.0.1:${server.addr.port}/gateway?${o.sender ?? "from=+15550100"}`,
    accepted: [] as AcceptedSms[],
    /** The StatusCallback of each accepted message; null: none. */
    callbacks: [] as (string | null)[],
    /** Numbers of all requests, in order. */
    requested: [] as string[],
    maxConcurrent: 0,
    connections: new Set<string>(),
    retryAfter: null as string | null,
    /** Answer to every request; null: the answer depends on the number. */
    fault: null as { status: number; code?: number; message: string } | null,
    beforeAnswer: (): Promise<void> => Promise.resolve(),
    [Symbol.asyncDispose]: () => (cut.abort(), server.finished),
  };
  return gateway;
}
