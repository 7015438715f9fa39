import { actionButton } from "../components/forms.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { tableCard } from "../components/table.tsx";
import {
  bulletList,
  CodeBlock,
  CopyValue,
  duration,
  exactDay,
  factList,
  number,
  shortId,
  Time,
  timelineFact,
} from "../components/values.tsx";
import { PauseBanner } from "../jobs/pauses.tsx";
import { searchOf } from "../shared/api.ts";
import { type ConsolePage, isOpen, type View, type Visit } from "../shared/page.ts";
import { framedHtml, HtmlFrame } from "./live_preview.tsx";
import {
  channelLabel,
  deliveryStates,
  type Detail,
  holdsSending,
  isCancellable,
  isRetriable,
  messageStates,
  recipientBadge,
  skipReasonLabels,
} from "./status.tsx";
import { notificationTexts, suppressionBecause } from "./texts.ts";
import { actionsOf } from "../shared/actions.ts";
import { priorityLabels } from "../shared/labels.ts";
import { placeOf } from "../shared/scope.ts";

/** True if the message has ended without being sent. */
const isOver = ({ status }: Detail): boolean => status === "DeadLettered" || status === "Cancelled";

/** One message: its recipients, delivery attempts and content. */
async function detailPage(v: Visit): Promise<View> {
  const t = notificationTexts[v.locale];
  const message = await v.api.call("readNotification", { params: v.params });
  const isWaiting = message.status !== "Sent" && !isOver(message);
  return {
    title: message.subject || t.noSubject,
    actions: [
      isRetriable(message) &&
      actionButton(v, `notifications/${message.id}/retry`, t.retry, {
        icon: "retry",
        tone: "primary",
        confirm: retryQuestion(v, message),
      }),
      isCancellable(message) &&
      actionButton(v, `notifications/${message.id}/cancel`, t.cancelSending, {
        tone: "danger",
        confirm: t.cancelConfirm(unsentOf(message), placeOf(v, v.viewer.tenant?.name)),
      }),
    ],
    body: [
      isWaiting && isOpen(v, "job-types") && <PauseBanner v={v} fits={holdsSending} />,
      message.lastError && message.status !== "Sent" && (
        <Notice tone={message.status === "DeadLettered" ? "bad" : "warn"} title={t.lastError}>
          {message.lastError}
          <br />
          {t.attemptCount(message.deliveryAttempts.length)}
        </Notice>
      ),
      <SuppressionWarning v={v} message={message} />,
      <Card>
        <MessageFacts v={v} message={message} />
      </Card>,
      <div class="grid-2">
        {tableCard(t.recipients, message.recipients, null, [
          {
            head: t.address,
            cell: ({ address, displayName, kind }) => [
              displayName ?? address,
              kind !== "to" && ` (${kind === "cc" ? t.cc : t.bcc})`,
              displayName && <span class="sub">{address}</span>,
            ],
          },
          {
            head: t.outcome,
            cell: ({ status, reason, errorMessage, deliverAfter, sentAt, ...reported }) => (
              <>
                {recipientBadge(v, message, status)} {sentAt && <Time v={v} at={sentAt} />}
                {reason && <span class="sub">{skipReasonLabels[v.locale][reason]}</span>}
                {deliverAfter && status === "Owed" && (
                  <span class="sub">
                    {t.waits} <Time v={v} at={deliverAfter} />
                  </span>
                )}
                {errorMessage && <span class="sub">{errorMessage}</span>}
                {reported.deliveryState && (
                  <>
                    <br />
                    {deliveryStates.badge(v, reported.deliveryState)}{" "}
                    <Time v={v} at={reported.deliveryStateAt} />
                    {reported.deliveryDetail && <span class="sub">{reported.deliveryDetail}</span>}
                  </>
                )}
              </>
            ),
          },
        ], { caption: t.recipientsCaption })}
        <Card title={t.attempts}>
          <Attempts v={v} message={message} />
        </Card>
      </div>,
      message.attachments.length > 0 && (
        <Card title={t.attachments}>
          {bulletList(message.attachments, ({ fileId, fileName, contentType }) => (
            <>
              <a href={`files/${fileId}`}>{fileName}</a> <span class="muted">{contentType}</span>
            </>
          ))}
        </Card>
      ),
      <Card title={t.content}>
        <Content v={v} message={message} />
      </Card>,
    ],
  };
}

/** Number of suppressed addresses that are named. */
const MAX_NAMED = 5;

/** The recipients without the message whose address is suppressed. */
const suppressedIn = (message: Detail) =>
  message.recipients.flatMap(({ address, status, suppression }) =>
    suppression && status !== "Sent" ? [{ address, suppression }] : []
  );

/** Describes one suppressed address: since when, why, and whether it is skipped. */
function suppressionText(
  v: Visit,
  { address, suppression }: ReturnType<typeof suppressedIn>[number],
): string {
  const t = notificationTexts[v.locale];
  const why = suppressionBecause[v.locale][suppression.reason];
  const since = exactDay(v, suppression.since);
  return suppression.applies ? t.isSuppressed(address, since, why) : t.isTriedAgain(address, since, why);
}

/** The number of recipients to whom the message is not sent yet. */
const unsentOf = ({ recipients }: Detail): number =>
  recipients.filter(({ status }) => status !== "Sent").length;

/** The question before a message is sent again: its attempts so far, and the addresses that are suppressed. */
function retryQuestion(v: Visit, message: Detail): string {
  const t = notificationTexts[v.locale];
  const suppressed = suppressedIn(message);
  const more = suppressed.length - MAX_NAMED;
  return [
    t.attemptCount(message.deliveryAttempts.length),
    ...suppressed.slice(0, MAX_NAMED).map((each) => suppressionText(v, each)),
    ...more > 0 ? [t.moreSuppressed(more)] : [],
    t.retryConfirm(unsentOf(message), placeOf(v, v.viewer.tenant?.name)),
  ].join(" ");
}

/** Recipients whose address is suppressed, before the message is sent again. */
function SuppressionWarning({ v, message }: { v: Visit; message: Detail }) {
  const t = notificationTexts[v.locale];
  const suppressed = suppressedIn(message);
  if (suppressed.length === 0) return null;
  return (
    <Notice tone="warn" title={t.suppressedTitle}>
      {bulletList(suppressed.slice(0, MAX_NAMED), (each) => (
        <>
          {suppressionText(v, each)}{" "}
          <a href={`suppressions${searchOf({ search: each.address })}`}>{t.suppressedLink}</a>
          {each.suppression.detail && <span class="sub">{each.suppression.detail}</span>}
        </>
      ))}
      {suppressed.length > MAX_NAMED && t.moreSuppressed(suppressed.length - MAX_NAMED)}
    </Notice>
  );
}

function MessageFacts({ v, message }: { v: Visit; message: Detail }) {
  const t = notificationTexts[v.locale];
  const { templateSlug: slug, templateLocale, templateVersion, fromAddress, fromName } = message;
  const sender = [fromName, fromAddress && `<${fromAddress}>`].filter(Boolean).join(" ");
  return factList([
    [
      t.status,
      <>
        {messageStates.badge(v, message.status)}{" "}
        {message.deliveryState && deliveryStates.badge(v, message.deliveryState)}
      </>,
    ],
    [t.channel, channelLabel(v.locale, message.channel)],
    [t.priority, priorityLabels[v.locale][message.priority]],
    [t.category, message.category],
    [t.created, <Time v={v} at={message.createdAt} />],
    message.scheduledAt && [t.scheduledFor, <Time v={v} at={message.scheduledAt} />],
    [t.sent, <Time v={v} at={message.sentAt} />],
    [t.retries, number(v, message.retryCount)],
    slug && [
      t.template,
      <a href={`templates${searchOf({ search: slug })}`}>
        {templateVersion === null
          ? (isOver(message) ? slug : t.templateUnfilled(slug))
          : t.templateVersion(slug, templateLocale ?? "", templateVersion)}
      </a>,
    ],
    sender && [t.sender, sender],
    message.replyTo && [t.replyTo, message.replyTo],
    [t.id, <CopyValue v={v} value={message.id} shown={shortId(message.id)} />],
    timelineFact(v, { messageId: message.id }),
  ]);
}

function Attempts({ v, message: { deliveryAttempts } }: { v: Visit; message: Detail }) {
  const t = notificationTexts[v.locale];
  if (deliveryAttempts.length === 0) return <Empty icon="notifications" title={t.noAttempts} />;
  return (
    <ol class="timeline" reversed>
      {deliveryAttempts.toReversed().map((attempt) => (
        <li class={`tone-${attempt.isSuccess ? "ok" : "bad"}`}>
          <strong>
            {t.attempt(attempt.attemptNumber)}: {attempt.isSuccess ? t.accepted : t.failed}
          </strong>
          <span class="muted">
            <code>{attempt.providerName}</code> · {t.took(duration(v, attempt.durationMs))} ·{" "}
            <Time v={v} at={attempt.attemptedAt} />
          </span>
          {attempt.errorMessage && <p class="break">{attempt.errorMessage}</p>}
        </li>
      ))}
    </ol>
  );
}

function Content({ v, message }: { v: Visit; message: Detail }) {
  const t = notificationTexts[v.locale];
  const { id, htmlBody, textBody, templateSlug, sentAt } = message;
  if (htmlBody === null && textBody === null) {
    const unrendered = isOver(message) ? t.neverRendered : t.renderedLater;
    const missing = templateSlug && sentAt === null ? unrendered : t.noContent;
    return <p class="muted">{message.bodyExpired ? t.bodyExpired : missing}</p>;
  }
  return (
    <>
      {htmlBody !== null && [
        <h3>{t.htmlBody}</h3>,
        <HtmlFrame label={t.htmlFrame} src={`notifications/${id}/body`} />,
      ]}
      {textBody !== null && [<h3>{t.textBody}</h3>, <CodeBlock label={t.textBody}>{textBody}</CodeBlock>]}
    </>
  );
}

/** The page of a message, its HTML body alone for the iframe, and its actions. */
export const messagePages: ConsolePage[] = [
  { path: "notifications/{id}", get: detailPage },
  {
    path: "notifications/{id}/body",
    async get(v) {
      const { htmlBody } = await v.api.call("readNotification", { params: v.params });
      return framedHtml(htmlBody ?? "");
    },
  },
  ...actionsOf("notifications/{id}", notificationTexts, {
    retry: ["retryNotification", "retried"],
    cancel: ["cancelScheduledNotification", "cancelled"],
  }),
];
