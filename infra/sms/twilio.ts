import { z } from "zod";
import { callProvider, type ProviderAnswer, ProviderUnreachable } from "../http_out/provider_http.ts";
import { parseSmsUrl, SmsRefused, type SmsTransport } from "./sms.ts";

/**
 * Error codes of a 400 that are permanent, because they are about the recipient or the text: invalid number, short code,
 * premium number, no text, no recipient, opted out, unreachable, not a mobile number, too long, landline. Other codes are
 * retried, because they may be about the sender or the account, which can be fixed.
 */
const PERMANENT = [21211, 21265, 21268, 21602, 21604, 21610, 21612, 21614, 21617, 21635];

const failure = z.object({ code: z.number().optional(), message: z.string().optional() });

/** A gateway that speaks Twilio's Messages API (see parseSmsUrl). */
export function createTwilio(smsUrl: string, name = "sms"): SmsTransport {
  const { endpoint, user, password, sender } = parseSmsUrl(smsUrl);
  const credentials = new TextEncoder().encode(`${user}:${password}`).toBase64();
  return {
    name,
    async send({ to, text, statusCallback }, signal) {
      const body = new URLSearchParams({ To: to, ...sender, Body: text });
      if (statusCallback) body.set("StatusCallback", statusCallback);
      let answer: ProviderAnswer;
      try {
        answer = await callProvider(
          endpoint,
          { headers: { authorization: `Basic ${credentials}` }, body },
          signal,
        );
      } catch (error) {
        if (error instanceof ProviderUnreachable) {
          throw new SmsRefused(error.message, { stopsBatch: true, isUnreachable: true });
        }
        throw error;
      }
      if (answer.status !== 201 && answer.status !== 200) throw refusalOf(answer);
    },
  };
}

function refusalOf({ status, json, retryAfterMs }: ProviderAnswer): SmsRefused {
  const { code, message } = failure.safeParse(json).data ?? {};
  const details = [code, message].filter((part) => part !== undefined).join(" ");
  const reason = `the gateway answered ${status}` + (details ? `: ${details}` : "");
  if (status === 400) {
    return new SmsRefused(reason, { permanent: code !== undefined && PERMANENT.includes(code) });
  }
  const isUnreachable = [401, 403, 429].includes(status) || status >= 500;
  return new SmsRefused(reason, { stopsBatch: true, retryAfterMs, isUnreachable });
}
