import { createHmac } from "node:crypto";
import { addressMistake } from "../addresses.ts";
import {
  equalsInConstantTime,
  type Feedback,
  type FeedbackAdapter,
  type Reply,
  reportOf,
  requireValid,
} from "./feedback.ts";

/** Twilio's keywords. A reply counts only if the keyword is its whole text. */
const KEYWORDS = new Map<string, Reply["wants"]>([
  ...["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"].map((word) =>
    [word, "stop"] as const
  ),
  ...["START", "YES", "UNSTOP"].map((word) => [word, "start"] as const),
]);
/** Error codes of a number that no longer exists or is no mobile number. */
const DEAD = ["30005", "30006"];
/** Error code of a number that has sent STOP. */
const OPTED_OUT = "21610";

/**
 * Status callbacks and replies of Twilio. The secret is the account's auth token. The callback URL of each text message
 * names its recipient (`?recipient=`).
 */
export const twilio: FeedbackAdapter = {
  read({ url, headers, body }, secret) {
    const form = new URLSearchParams(new TextDecoder().decode(body));
    const signature = headers.get("x-twilio-signature");
    requireValid(
      equalsInConstantTime(signature, twilioSignature(secret, url, form)),
      "X-Twilio-Signature does not match the form",
    );
    return form.has("Body") ? readReply(form) : readStatus(form, new URL(url).searchParams.get("recipient"));
  },
};

/** The signature of a form: the URL, then names and values in the order of the names; repeated values once. */
export function twilioSignature(token: string, url: string, form: URLSearchParams): string {
  const names = [...new Set(form.keys())].sort();
  const text = names.flatMap((name) => [...new Set(form.getAll(name))].sort().map((value) => name + value))
    .join("");
  return createHmac("sha1", token).update(url + text).digest("base64");
}

function readStatus(form: URLSearchParams, reference: string | null): Feedback {
  const status = form.get("MessageStatus") ?? form.get("SmsStatus");
  const code = form.get("ErrorCode");
  const common = { address: null, detail: code && `${code} ${form.get("ErrorMessage") ?? ""}`.trim() };
  if (status === "delivered") {
    return { reports: reportOf([reference], { ...common, state: "Delivered" }) };
  }
  if (status !== "undelivered" && status !== "failed") return { reports: [] };
  const dead = DEAD.includes(code ?? "") ? "HardBounce" as const : null;
  const suppression = code === OPTED_OUT ? "Unsubscribed" as const : dead;
  return { reports: reportOf([reference], { ...common, state: "Bounced", suppression }) };
}

function readReply(form: URLSearchParams): Feedback {
  const keyword = (form.get("OptOutType") ?? form.get("Body") ?? "").trim().toUpperCase();
  const [wants, number, receipt] = [KEYWORDS.get(keyword), form.get("From"), form.get("MessageSid")];
  if (!wants || !number || !receipt || addressMistake("Sms", number)) return { reports: [] };
  return { reports: [], reply: { number, wants }, receipt };
}
