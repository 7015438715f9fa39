import {
  CsrfField,
  FormButtons,
  FormRefusal,
  SelectField,
  TextArea,
  TextField,
} from "../components/forms.tsx";
import { channelNames } from "../../../domain/notifications/channels/catalogue.ts";
import { Card } from "../components/notice.tsx";
import { Refusal } from "../shared/api.ts";
import { field, may, type Outcome, type View, type Visit } from "../shared/page.ts";
import { LivePreview, previewActions, type RenderedMessage } from "./live_preview.tsx";
import { UserField } from "./user_field.tsx";
import { chosenUsers, jsonField, messageOf } from "./send_fields.ts";
import { channelChoices, priorityChoices } from "./status.tsx";
import { notificationTexts } from "./texts.ts";

const FIELDS_WITH_ERRORS = [
  ...["subject", "textBody", "htmlBody", "templateSlug", "locale", "templateData"],
  ...["recipients", "priority", "category", "actionUrl", "sendAt"],
];

export const sendPage = (v: Visit): Promise<View> => sendView(v, new FormData(), null);

/** Sends or schedules the message, or shows the form again with the errors. */
export async function sendAction(v: Visit, form: FormData): Promise<Outcome> {
  const t = notificationTexts[v.locale];
  try {
    const { message, scheduledAt } = messageOf(v, form);
    const { notificationId } = scheduledAt
      ? await v.api.call("scheduleNotification", { body: { notification: message, scheduledAt } })
      : await v.api.call("sendNotification", { body: message });
    return {
      goTo: `notifications/${notificationId}`,
      flash: { tone: "ok", text: scheduledAt ? t.isScheduled : t.isSent },
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status >= 500 || refusal.status === 401) throw refusal;
    return await sendView(v, form, refusal);
  }
}

/** Renders the form's message. */
async function renderForm(v: Visit, form: FormData): Promise<RenderedMessage> {
  const templateSlug = field(form, "templateSlug");
  if (field(form, "source") !== "template") {
    return {
      subject: field(form, "subject"),
      htmlBody: field(form, "htmlBody") || null,
      textBody: field(form, "textBody") || null,
    };
  }
  if (templateSlug === "") return { subject: null, htmlBody: null, textBody: null };
  return await v.api.call("renderNotificationTemplate", {
    body: {
      templateSlug,
      locale: field(form, "locale") || null,
      data: jsonField(v, form, "templateData"),
    },
  });
}

export const messagePreview = previewActions(renderForm);

async function sendView(v: Visit, form: FormData, refusal: Refusal | null): Promise<View> {
  const t = notificationTexts[v.locale];
  const given = (name: string) => field(form, name);
  // Name, submitted value and errors of a field.
  const sent = (name: string) => ({ name, value: given(name), errors: refusal?.fields[name] });
  const query = { includeShipped: true, pageSize: 100 };
  const { items } = await v.api.call("listNotificationTemplates", { query });
  const slugs = [...new Map(items.map((template) => [template.slug, template])).values()];
  const isTemplate = given("source") === "template";
  const canFind = v.viewer.tenant !== null && may(v.viewer, "read:users");
  return {
    title: t.send,
    crumbs: [{ href: "notifications", label: t.title }],
    ...refusal ? { status: refusal.status } : {},
    body: (
      <form class="editor" method="post" action="notifications/send">
        <CsrfField v={v} />
        <div class="stack">
          <FormRefusal refusal={refusal} known={FIELDS_WITH_ERRORS} />
          <Card>
            <SelectField
              label={t.channel}
              name="channel"
              value={given("channel") || "Email"}
              choices={channelChoices(v.locale)}
            />
            {canFind && <UserField v={v} chosen={chosenUsers(form.getAll("userIds"))} />}
            <TextArea label={t.addresses} {...sent("recipients")} rows={3} hint={t.addressesHint} />
          </Card>
          <Card>
            <fieldset class="choices">
              <legend>{t.content}</legend>
              <label>
                <input type="radio" name="source" value="own" checked={!isTemplate} /> {t.ownText}
              </label>
              <label>
                <input type="radio" name="source" value="template" checked={isTemplate} /> {t.aTemplate}
              </label>
            </fieldset>
            <div class="stack" data-source="own">
              <div data-channels={channelNames.filter((name) => name !== "Sms").join(" ")}>
                <TextField label={t.subject} {...sent("subject")} maxlength={1000} />
              </div>
              <TextArea label={t.textBody} {...sent("textBody")} rows={5} />
              <div data-channels="Email">
                <TextArea label={t.htmlBody} {...sent("htmlBody")} rows={7} code />
              </div>
            </div>
            <div class="stack" data-source="template">
              <div class="pair">
                <SelectField
                  label={t.template}
                  {...sent("templateSlug")}
                  any="–"
                  value={given("templateSlug") || v.query.get("template")}
                  choices={slugs.map(({ slug, name }) => ({ value: slug, label: `${name} (${slug})` }))}
                />
                <TextField label={t.locale} {...sent("locale")} maxlength={35} hint={t.localeHint} />
              </div>
              <TextArea
                label={t.data}
                {...sent("templateData")}
                rows={6}
                code
                value={given("templateData") || "{}"}
                hint={t.dataHint}
              />
            </div>
          </Card>
          <Card title={t.delivery}>
            <div class="pair">
              <SelectField
                label={t.priority}
                {...sent("priority")}
                value={given("priority") || "Normal"}
                choices={priorityChoices(v.locale)}
              />
              <TextField
                label={t.sendAt}
                {...sent("sendAt")}
                type="datetime-local"
                hint={t.scheduledHint(v.timeZone)}
              />
            </div>
            <TextField label={t.category} {...sent("category")} maxlength={100} hint={t.categoryHint} />
            <div data-channels="InApp Push">
              <TextField label={t.actionUrl} {...sent("actionUrl")} hint={t.actionUrlHint} />
            </div>
          </Card>
          <FormButtons v={v} label={t.sendIt} back="notifications" />
        </div>
        <Card title={t.preview}>
          <LivePreview v={v} action="notifications/send/preview" />
        </Card>
      </form>
    ),
  };
}
