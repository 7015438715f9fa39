import { Fields, Form } from "../components/fields.tsx";
import { Card } from "../components/notice.tsx";
import { done, formPage, type Sent } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, type View, type Visit } from "../shared/page.ts";
import { shownOnce } from "./shown_once.tsx";
import { integrationTexts } from "./texts.ts";

const bodyOf = (form: FormData) => ({
  url: field(form, "url"),
  description: field(form, "description") || null,
  eventTypes: form.getAll("eventTypes").map(String),
  isActive: form.get("isActive") === "true",
  ordered: form.get("ordered") === "true",
});

/** Creates an endpoint and shows its secret. The secret is not shown again. */
export const newWebhookPage = formPage({
  path: "webhooks/new",
  show: (v, sent) => webhookForm(v, sent, { eventTypes: ["*"], isActive: true }),
  async send(v, form) {
    const t = integrationTexts[v.locale];
    const { id, secret = "" } = await v.api.call("createWebhookEndpoint", { body: bodyOf(form) });
    return shownOnce(v, {
      title: t.endpointCreated,
      crumb: { href: "webhooks", label: t.webhooks },
      secret,
      label: t.secret,
      back: { href: `webhooks/${id}`, label: t.backToWebhook },
    });
  },
});

export const editWebhookPage = formPage({
  path: "webhooks/{id}/edit",
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readWebhookEndpoint", { params: v.params });
    return await webhookForm(v, sent, { ...value, etag });
  },
  async send(v, form) {
    const { params } = v;
    await v.api.call("updateWebhookEndpoint", { params, body: bodyOf(form), ifMatch: field(form, "etag") });
    return done(`webhooks/${params.id}`, integrationTexts[v.locale].saved);
  },
});

async function webhookForm(
  v: Visit,
  sent: Sent | null,
  values: Record<string, unknown>,
): Promise<View> {
  const t = integrationTexts[v.locale];
  const { id } = v.params;
  const types = await v.api.call("listEventTypes");
  const f = new Fields(v, sent, "createWebhookEndpoint", values);
  const list = { href: "webhooks", label: t.webhooks };
  const here = id ? `webhooks/${id}` : "webhooks";
  const errors = f.errorsOf("eventTypes");
  return {
    title: id ? t.edit : t.newWebhook,
    crumbs: id ? [list, { href: here, label: String(values.url) }] : [list],
    body: (
      <Form
        fields={f}
        action={id ? `${here}/edit` : "webhooks/new"}
        submit={id ? undefined : commonTexts[v.locale].create}
        back={here}
        stacked
      >
        <Card>
          {f.text("url", t.url, { type: "url", hint: t.urlHint })}
          {f.text("description", t.description)}
          {f.check("isActive", t.isActive)}
          {f.check("ordered", t.ordered, t.orderedHint)}
        </Card>
        <Card>
          <fieldset class="plain">
            <legend>{t.events}</legend>
            {errors && <p class="error">{errors.join(" ")}</p>}
            {f.choices("eventTypes", [{ value: "*", label: t.allEvents }])}
            <div class="grid-3">
              {f.choices(
                "eventTypes",
                types.map(({ type, description }) => ({ value: type, hint: description })),
              )}
            </div>
          </fieldset>
        </Card>
      </Form>
    ),
  };
}
