import { ActionButton } from "../components/forms.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, DataTable } from "../components/table.tsx";
import { CopyValue, duration, Facts, shortId, Time } from "../components/values.tsx";
import { searchOf } from "../shared/api.ts";
import { type Outcome, type View, type Visit } from "../shared/page.ts";
import { framedHtml, HtmlFrame } from "./frame.tsx";
import {
  channelWords,
  type Detail,
  isCancellable,
  isRetriable,
  priorityWords,
  reasonWords,
  RecipientBadge,
  StatusBadge,
} from "./status.tsx";
import { words } from "./words.ts";

type Recipient = Detail["recipients"][number];

/** One message: its recipients, every attempt to deliver it, and what it says. */
export async function detailPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const message = await v.api.get<Detail>(`notifications/${v.params.id}`);
  return {
    title: message.subject || w.noSubject,
    crumbs: [{ href: "notifications", label: w.title }],
    actions: (
      <>
        {isRetriable(message) && (
          <ActionButton
            v={v}
            action={`notifications/${message.id}/retry`}
            label={w.retry}
            icon="retry"
            tone="primary"
          />
        )}
        {isCancellable(message) && (
          <ActionButton
            v={v}
            action={`notifications/${message.id}/cancel`}
            label={w.cancelSending}
            tone="danger"
            confirm={w.cancelConfirm}
          />
        )}
      </>
    ),
    body: (
      <>
        {message.lastError && message.status !== "Sent" && (
          <Notice tone={message.status === "DeadLettered" ? "bad" : "warn"} title={w.lastError}>
            {message.lastError}
          </Notice>
        )}
        <Card>
          <MessageFacts v={v} message={message} />
        </Card>
        <div class="grid-2">
          <Card title={w.recipients}>
            <DataTable
              caption={w.recipientsCaption}
              columns={recipientColumns(v, message)}
              rows={message.recipients}
              empty={null}
            />
          </Card>
          <Card title={w.attempts}>
            <Attempts v={v} message={message} />
          </Card>
        </div>
        <Card title={w.content}>
          <Content v={v} message={message} />
        </Card>
      </>
    ),
  };
}

function MessageFacts({ v, message }: { v: Visit; message: Detail }) {
  const w = words[v.locale];
  const { templateSlug: slug, templateLocale, templateVersion, fromAddress, fromName } = message;
  const sender = [fromName, fromAddress && `<${fromAddress}>`].filter(Boolean).join(" ");
  return (
    <Facts
      facts={[
        [w.status, <StatusBadge locale={v.locale} status={message.status} />],
        [w.channel, channelWords[v.locale][message.channel]],
        [w.priority, priorityWords[v.locale][message.priority]],
        [w.category, message.category],
        [w.created, <Time v={v} at={message.createdAt} />],
        ...message.scheduledAt
          ? [[w.scheduledFor, <Time v={v} at={message.scheduledAt} />] as [string, never]]
          : [],
        [w.sent, <Time v={v} at={message.sentAt} />],
        [w.retries, w.of(message.retryCount, message.maxRetries)],
        ...slug
          ? [[
            w.template,
            <a href={`templates${searchOf({ search: slug })}`}>
              {templateVersion === null
                ? w.templateUnfilled(slug)
                : w.templateVersion(slug, templateLocale ?? "", templateVersion)}
            </a>,
          ] as [string, never]]
          : [],
        ...sender ? [[w.sender, sender] as [string, never]] : [],
        [w.id, <CopyValue v={v} value={message.id} shown={shortId(message.id)} />],
      ]}
    />
  );
}

function recipientColumns(v: Visit, message: Detail): Column<Recipient>[] {
  const w = words[v.locale];
  return [
    {
      head: w.address,
      cell: ({ address, displayName, kind }) => (
        <>
          {displayName ?? address}
          {kind !== "to" && ` (${kind})`}
          {displayName && <span class="sub">{address}</span>}
        </>
      ),
    },
    {
      head: w.outcome,
      cell: ({ status, reason, errorMessage, deliverAfter, sentAt }) => (
        <>
          <RecipientBadge locale={v.locale} message={message} status={status} />{" "}
          {sentAt && <Time v={v} at={sentAt} />}
          {reason && <span class="sub">{reasonWords[v.locale][reason]}</span>}
          {deliverAfter && status === "Owed" && (
            <span class="sub">
              {w.waits} <Time v={v} at={deliverAfter} />
            </span>
          )}
          {errorMessage && <span class="sub">{errorMessage}</span>}
        </>
      ),
    },
  ];
}

function Attempts({ v, message: { deliveryAttempts } }: { v: Visit; message: Detail }) {
  const w = words[v.locale];
  if (deliveryAttempts.length === 0) return <Empty icon="notifications" title={w.noAttempts} />;
  return (
    <ol class="timeline" reversed>
      {deliveryAttempts.toReversed().map((attempt) => (
        <li class={`tone-${attempt.isSuccess ? "ok" : "bad"}`}>
          <strong>
            {w.attempt(attempt.attemptNumber)}: {attempt.isSuccess ? w.accepted : w.failed}
          </strong>
          <span class="muted">
            <code>{attempt.providerName}</code> · {w.took(duration(v, attempt.durationMs))} ·{" "}
            <Time v={v} at={attempt.attemptedAt} />
          </span>
          {attempt.errorMessage && <p class="break">{attempt.errorMessage}</p>}
        </li>
      ))}
    </ol>
  );
}

function Content({ v, message }: { v: Visit; message: Detail }) {
  const w = words[v.locale];
  const { id, htmlBody, textBody, templateSlug, sentAt } = message;
  if (htmlBody === null && textBody === null) {
    return <p class="muted">{templateSlug && sentAt === null ? w.inDigestOrTemplate : w.noContent}</p>;
  }
  return (
    <>
      {htmlBody !== null && (
        <>
          <h3>{w.htmlBody}</h3>
          <HtmlFrame label={w.htmlFrame} src={`notifications/${id}/body`} />
        </>
      )}
      {textBody !== null && (
        <>
          <h3>{w.textBody}</h3>
          <pre class="code-block" tabindex={0} role="region" aria-label={w.textBody}>{textBody}</pre>
        </>
      )}
    </>
  );
}

/** The HTML body alone, for the frame. */
export async function bodyPage(v: Visit): Promise<Outcome> {
  const { htmlBody } = await v.api.get<Detail>(`notifications/${v.params.id}`);
  return framedHtml(htmlBody ?? "");
}

export async function retryPage(v: Visit): Promise<Outcome> {
  await v.api.send("POST", `notifications/${v.params.id}/retry`);
  return {
    goTo: `notifications/${v.params.id}`,
    flash: { tone: "ok", text: words[v.locale].retried },
  };
}

export async function cancelPage(v: Visit): Promise<Outcome> {
  await v.api.send("DELETE", `notifications/schedule/${v.params.id}`);
  return {
    goTo: `notifications/${v.params.id}`,
    flash: { tone: "ok", text: words[v.locale].cancelled },
  };
}
