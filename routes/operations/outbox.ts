import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import type { OutboxMessage } from "../../infra/mail/outbox.ts";
import { ok, text } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { escapeHtml, page } from "./page.ts";

const OutboxMessageDto = z.object({
  id: z.string(),
  channel: z.string(),
  to: z.array(z.string()),
  subject: z.string().nullable(),
  htmlBody: z.string().nullable(),
  textBody: z.string().nullable(),
  attachments: z.array(z.object({ fileName: z.string(), contentType: z.string(), sizeBytes: z.int() })),
  sentAt: z.iso.datetime(),
}).meta({ id: "OutboxMessageDto" });

/** `GET /dev/outbox`: the messages that development keeps instead of sending them. Served only if there is an outbox. */
export const outboxRoutes = [
  endpoint({
    method: "get",
    path: "/dev/outbox",
    area: "Operations",
    id: "listOutbox",
    summary: "List the messages in the development outbox, newest first",
    access: anyone,
    answers: {
      200: {
        description: "The messages, or an HTML page, depending on Accept",
        schema: z.array(OutboxMessageDto),
        alsoAs: ["text/html"],
      },
    },
    problems: [],
    async run({ platform, call }) {
      const messages = await platform.outbox?.list() ?? [];
      if (!call.request.headers.get("accept")?.includes("text/html")) return ok(messages);
      const articles = messages.map(article).join("") || "<p>Nothing was sent yet.</p>";
      return text(page("Outbox", `<h1>Outbox</h1>${articles}`), "text/html; charset=utf-8");
    },
  }),
] as const;

function article(message: OutboxMessage): string {
  const attachments = message.attachments.map(({ fileName, contentType, sizeBytes }) =>
    `<li>${escapeHtml(fileName)} (${escapeHtml(contentType)}, ${sizeBytes} bytes)</li>`
  ).join("");
  return `<article><p class="code">${message.channel} &middot; ${message.sentAt}</p>
<h2>${escapeHtml(message.subject ?? "(no subject)")}</h2><p>to ${escapeHtml(message.to.join(", "))}</p>
<pre>${escapeHtml(message.textBody ?? message.htmlBody ?? "")}</pre>${
    attachments && `<ul>${attachments}</ul>`
  }</article>`;
}
