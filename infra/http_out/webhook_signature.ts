import { Webhook } from "standardwebhooks";

/**
 * The headers that sign a message (Standard Webhooks).
 * @param secrets all of them sign: the current one and those replaced less than a day ago
 * @param id the same at each repetition of the message
 */
export const signatureHeaders = (
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): Record<string, string> => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
});
