import { MAX_REDELIVERED } from "../../../domain/events/redeliver_failed.ts";
import { Fields, Form } from "../components/fields.tsx";
import { buttonLink } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { number } from "../components/values.tsx";
import { done, formPage } from "../shared/actions.ts";
import { integrationTexts } from "./texts.ts";
import { webhookTexts } from "./webhook_texts.ts";

/** Counts the failed deliveries of an endpoint, and sends them again. */
export const retryFailedPage = formPage({
  path: "webhooks/{id}/retry",
  async show(v, sent) {
    const t = webhookTexts[v.locale];
    const { params } = v;
    const [endpoint, { matched }] = await Promise.all([
      v.api.call("readWebhookEndpoint", { params }),
      v.api.call("redeliverFailedWebhooks", { params, body: { dryRun: true } }),
    ]);
    const back = `webhooks/${params.id}`;
    const isMost = matched === MAX_REDELIVERED;
    return {
      title: t.retryFailed,
      crumbs: [{ href: "webhooks", label: integrationTexts[v.locale].webhooks }, {
        href: back,
        label: endpoint.url,
      }],
      body: (
        <Card>
          {matched === 0 || !endpoint.isActive
            ? (
              <div class="stack">
                <Notice tone={endpoint.isActive ? "info" : "warn"}>
                  {endpoint.isActive ? t.noneFailed : t.isInactive}
                </Notice>
                <div>
                  {buttonLink(back, integrationTexts[v.locale].backToWebhook)}
                </div>
              </div>
            )
            : (
              <Form
                fields={new Fields(v, sent, null)}
                action={`${back}/retry`}
                back={back}
                submit={t.retryThese(matched)}
              >
                <p>{isMost ? t.failedMost(number(v, matched)) : t.failedCount(matched)}</p>
                <p class="muted">{t.sameIds}</p>
                {endpoint.pausedAt && <Notice tone="warn">{t.isPausedToo}</Notice>}
              </Form>
            )}
        </Card>
      ),
    };
  },
  async send(v) {
    const t = webhookTexts[v.locale];
    const { matched, redelivered, jobId } = await v.api.call("redeliverFailedWebhooks", {
      params: v.params,
      body: {},
    });
    return done(
      `webhooks/${v.params.id}`,
      jobId === null ? t.retriedMany(redelivered) : t.retriedByJob(matched),
    );
  },
});
