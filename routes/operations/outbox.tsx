import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import type { OutboxMessage } from "../../infra/mail/outbox.ts";
import { languageOf } from "../shared/html.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { docsAsset } from "./docs.ts";
import { servicePage } from "./service_page.tsx";

const endpoint = endpointsIn("Operations");

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

const SHOWN = 50;
const TEXTS = {
  en: {
    title: "Outbox",
    intro: "Messages that development keeps instead of sending them.",
    search: "Search recipients, subjects and texts",
    find: "Search",
    empty: "Nothing was sent yet.",
    nothing: "No message matches.",
    to: "to",
    noSubject: "(no subject)",
    html: "HTML",
    attachments: "Attachments",
    count: (shown: number, all: number) => `The newest ${shown} of ${all} messages`,
  },
  pt: {
    title: "Caixa de saída",
    intro: "Mensagens que o desenvolvimento guarda em vez de enviar.",
    search: "Buscar destinatários, assuntos e textos",
    find: "Buscar",
    empty: "Nada foi enviado ainda.",
    nothing: "Nenhuma mensagem corresponde.",
    to: "para",
    noSubject: "(sem assunto)",
    html: "HTML",
    attachments: "Anexos",
    count: (shown: number, all: number) => `As ${shown} mensagens mais recentes de ${all}`,
  },
};
type Texts = typeof TEXTS["en"];

/** `GET /dev/outbox`: the messages that development keeps instead of sending them. Served only if there is an outbox. */
export const outboxRoutes = [
  endpoint("GET /dev/outbox", {
    id: "listOutbox",
    summary: "List the messages in the development outbox, newest first",
    access: anyone,
    query: z.object({
      search: z.string().max(200).optional().describe("In recipients, subject and texts"),
    }),
    answers: {
      200: {
        description: "The messages, or an HTML page, depending on Accept",
        schema: z.array(OutboxMessageDto),
        alsoAs: ["text/html"],
      },
    },
    async run({ platform, query: { search = "" }, call: { request: { headers } } }) {
      const all = await platform.outbox?.list() ?? [];
      const messages = all.filter((message) => hasText(message, search.trim().toLowerCase()));
      if (!headers.get("accept")?.includes("text/html")) return ok(messages);
      const language = languageOf(headers.get("accept-language"));
      const t = TEXTS[language];
      const shown = messages.slice(0, SHOWN);
      return servicePage({
        title: t.title,
        root: "../",
        language,
        styles: [`../${docsAsset("docs.css")}`],
        showsMail: true,
        body: (
          <>
            <div class="page-head">
              <div>
                <h1>{t.title}</h1>
                <p class="muted">{t.intro}</p>
              </div>
            </div>
            <form class="row" role="search">
              <label class="sr-only" for="outbox-search">{t.search}</label>
              <input id="outbox-search" type="search" name="search" value={search} placeholder={t.search} />
              <button type="submit" class="button">{t.find}</button>
            </form>
            {shown.length > 0
              ? <p class="muted">{t.count(shown.length, messages.length)}</p>
              : <p class="card">{all.length > 0 ? t.nothing : t.empty}</p>}
            {shown.map((message) => <Message t={t} message={message} />)}
          </>
        ),
      });
    },
  }),
] as const;

const hasText = ({ to, subject, textBody, htmlBody }: OutboxMessage, text: string): boolean =>
  [...to, subject ?? "", textBody ?? "", htmlBody ?? ""].some((part) => part.toLowerCase().includes(text));

function Message({ t, message }: { t: Texts; message: OutboxMessage }) {
  const { channel, to, subject, textBody, htmlBody, attachments, sentAt } = message;
  return (
    <article class="card message">
      <h2>{subject ?? t.noSubject}</h2>
      <p class="muted">
        {`${channel} · ${t.to} ${to.join(", ")} · `}
        <time datetime={sentAt}>{`${sentAt.slice(0, 10)} ${sentAt.slice(11, 19)} UTC`}</time>
      </p>
      {textBody && <pre tabindex={0}>{linked(textBody)}</pre>}
      {htmlBody && (
        <details open={!textBody}>
          <summary>{t.html}</summary>
          <iframe
            sandbox="allow-popups"
            title={`${t.html}: ${subject ?? ""}`}
            srcdoc={htmlBody}
            loading="lazy"
          >
          </iframe>
        </details>
      )}
      {attachments.length > 0 && (
        <p>
          {`${t.attachments}: `}
          {attachments.map(({ fileName, contentType, sizeBytes }) =>
            `${fileName} (${contentType}, ${sizeBytes} B)`
          )
            .join(", ")}
        </p>
      )}
    </article>
  );
}

/** Addresses in the text become links. */
const linked = (text: string) =>
  text.split(/(https?:\/\/[^\s<>"]+)/).map((part, index) =>
    index % 2 === 1 ? <a href={part}>{part}</a> : part
  );
