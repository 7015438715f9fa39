import type { z } from "zod";
import type { EventTypeDto } from "../../events/event_types.ts";
import { CheckField, CsrfField, FormButtons, FormRefusal, TextField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, type Outcome, type View, type Visit } from "../shared/page.ts";
import { shownOnce } from "./shown_once.tsx";
import type { Endpoint } from "./webhooks.tsx";
import { integrationTexts } from "./texts.ts";

type EventType = z.output<typeof EventTypeDto>;
type Values = Pick<Endpoint, "url" | "description" | "eventTypes" | "isActive">;

const NEW: Values = { url: "", description: null, eventTypes: ["*"], isActive: true };

const valuesOf = (form: FormData): Values => ({
  url: field(form, "url"),
  description: field(form, "description") || null,
  eventTypes: form.getAll("eventTypes").map(String),
  isActive: form.get("isActive") === "true",
});

export const newWebhookPage = (v: Visit): Promise<View> => webhookForm(v, null, NEW, "", null);

export async function editWebhookPage(v: Visit): Promise<View> {
  const answer = await v.api.call("GET", `webhook-endpoints/${v.params.id}`);
  const endpoint: Endpoint = await answer.json();
  return await webhookForm(v, endpoint.id, endpoint, answer.headers.get("etag") ?? "", null);
}

/** Creates the endpoint and shows its secret. The secret is not shown again. */
export async function createWebhook(v: Visit, form: FormData): Promise<Outcome> {
  const t = integrationTexts[v.locale];
  return await showingErrors(v, null, form, async () => {
    const { id, secret = "" } = await v.api.send<Endpoint>("POST", "webhook-endpoints", valuesOf(form));
    return shownOnce(v, {
      title: t.endpointCreated,
      crumb: { href: "webhooks", label: t.webhooks },
      secret,
      label: t.secret,
      back: { href: `webhooks/${id}`, label: t.backToWebhook },
    });
  });
}

/** Saves the endpoint. A 412 means that someone else changed it first: the form is shown again with the error. */
export async function saveWebhook(v: Visit, form: FormData): Promise<Outcome> {
  const id = v.params.id ?? "";
  return await showingErrors(v, id, form, async () => {
    await v.api.send("PUT", `webhook-endpoints/${id}`, valuesOf(form), { "if-match": field(form, "etag") });
    return { goTo: `webhooks/${id}`, flash: { tone: "ok", text: integrationTexts[v.locale].saved } };
  });
}

async function showingErrors(
  v: Visit,
  id: string | null,
  form: FormData,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await work();
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 412].includes(refusal.status)) throw refusal;
    return await webhookForm(v, id, valuesOf(form), field(form, "etag"), refusal);
  }
}

async function webhookForm(
  v: Visit,
  id: string | null,
  values: Values,
  etag: string,
  refusal: Refusal | null,
): Promise<View> {
  const t = integrationTexts[v.locale];
  const errors = refusal?.fields ?? {};
  const types = await v.api.get<EventType[]>("webhook-events/types");
  const list = { href: "webhooks", label: t.webhooks };
  return {
    title: id ? t.edit : t.newWebhook,
    crumbs: id ? [list, { href: `webhooks/${id}`, label: values.url }] : [list],
    ...refusal ? { status: refusal.status } : {},
    body: (
      <form class="stack" method="post" action={id ? `webhooks/${id}/edit` : "webhooks/new"}>
        <CsrfField v={v} />
        <input type="hidden" name="etag" value={etag} />
        <FormRefusal refusal={refusal} known={["url", "description", "eventTypes"]} />
        <Card>
          <TextField
            label={t.url}
            name="url"
            type="url"
            maxlength={2000}
            value={values.url}
            hint={t.urlHint}
            errors={errors.url}
            required
          />
          <TextField
            label={t.description}
            name="description"
            maxlength={2000}
            value={values.description}
            errors={errors.description}
          />
          <CheckField label={t.isActive} name="isActive" checked={values.isActive} />
        </Card>
        <Card>
          <fieldset class="plain">
            <legend>{t.events}</legend>
            {errors.eventTypes && <p class="error">{errors.eventTypes.join(" ")}</p>}
            <label class="row-choice">
              <input type="checkbox" name="eventTypes" value="*" checked={values.eventTypes.includes("*")} />
              <span>{t.allEvents}</span>
            </label>
            <div class="grid-3">
              {types.map(({ type, description }) => (
                <label class="row-choice">
                  <input
                    type="checkbox"
                    name="eventTypes"
                    value={type}
                    checked={values.eventTypes.includes(type)}
                  />
                  <span class="break">
                    <code>{type}</code>
                    <span class="hint choice-text">{description}</span>
                  </span>
                </label>
              ))}
            </div>
          </fieldset>
        </Card>
        <FormButtons
          v={v}
          label={id ? commonTexts[v.locale].save : commonTexts[v.locale].create}
          back={id ? `webhooks/${id}` : "webhooks"}
        />
      </form>
    ),
  };
}
