// The channel Webhook: messages as signed HTTP requests (https://www.standardwebhooks.com).
import { Webhook } from "standardwebhooks";
import { defineChannel, defineExtension } from "@steward/steward";
import { isWebUrl, problemOf } from "../http_answer.ts";

const secret = Deno.env.get("WEBHOOK_CHANNEL_SECRET")?.trim();
if (!secret || !/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)) {
  throw new Error("expected WEBHOOK_CHANNEL_SECRET: whsec_ and at least 24 random bytes in base64");
}
const signer = new Webhook(secret);

const webhook = defineChannel({
  name: "Webhook",
  displayName: "Webhook",
  address: { expected: "a URL such as https://example.com/notifications", fits: isWebUrl },
  providers: [{
    name: "webhook",
    async send({ notificationId, subject, text, html, data, recipient }, { tenantId, signal, steward }) {
      const now = new Date();
      const content = { notificationId, tenantId, subject, text, html, data };
      const body = JSON.stringify({ type: "notification", timestamp: now.toISOString(), data: content });
      const answer = await steward.fetchOutbound({
        url: recipient.address,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "webhook-id": notificationId, // the same at every attempt, so that the receiver can drop repetitions
          "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
          "webhook-signature": signer.sign(notificationId, now, body),
        },
        body,
        signal,
      });
      const problem = problemOf("The receiver", answer);
      return problem ? { problem } : { providerMessageId: notificationId };
    },
  }],
});

export default defineExtension({ name: "webhook", channels: [webhook] });
