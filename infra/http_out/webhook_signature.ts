import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";

/**
 * The headers that sign a message (Standard Webhooks).
 * @param secrets all of them sign: the current one and those replaced less than a day ago
 * @param id the same at each repetition of the message
 */
export function signatureHeaders(
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signed = `${id}.${timestamp}.${body}`;
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => signature(secret, signed)).join(" "),
  };
}

const signature = (secret: string, signed: string): string => {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
};
