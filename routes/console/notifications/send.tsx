import type { z } from "zod";
import type { NotificationResultDto, NotificationTemplateListItem } from "../../notifications/shapes.ts";
import {
  CsrfField,
  FormButtons,
  FormRefusal,
  SelectField,
  TextArea,
  TextField,
} from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { type Page, Refusal } from "../shared/api.ts";
import { field, may, type Outcome, type View, type Visit } from "../shared/page.ts";
import { LivePreview, previewActions, type Said } from "./live_preview.tsx";
import { PeopleField } from "./people.tsx";
import { chosenPeople, jsonField, messageOf } from "./send_fields.ts";
import { channelChoices, priorityChoices } from "./status.tsx";
import { words } from "./words.ts";

type Template = z.output<typeof NotificationTemplateListItem>;

const SHOWN_BESIDE = [
  ...["subject", "textBody", "htmlBody", "templateSlug", "locale", "templateData"],
  ...["recipients", "priority", "category", "actionUrl", "sendAt"],
];

export const sendPage = (v: Visit): Promise<View> => sendView(v, new FormData(), null);

/** Sends or schedules what the form says; shown again with what is wrong. */
export async function sendAction(v: Visit, form: FormData): Promise<Outcome> {
  const w = words[v.locale];
  try {
    const { message, scheduledAt } = messageOf(v, form);
    const { notificationId } = scheduledAt
      ? await v.api.send<z.output<typeof NotificationResultDto>>("POST", "notifications/schedule", {
        notification: message,
        scheduledAt,
      })
      : await v.api.send<z.output<typeof NotificationResultDto>>("POST", "notifications/send", message);
    return {
      goTo: `notifications/${notificationId}`,
      flash: { tone: "ok", text: scheduledAt ? w.isScheduled : w.isSent },
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status >= 500 || refusal.status === 401) throw refusal;
    return await sendView(v, form, refusal);
  }
}

/** What the form's message would say. */
async function saidBy(v: Visit, form: FormData): Promise<Said> {
  const templateSlug = field(form, "templateSlug");
  if (field(form, "source") !== "template") {
    return {
      subject: field(form, "subject"),
      htmlBody: field(form, "htmlBody") || null,
      textBody: field(form, "textBody") || null,
    };
  }
  if (templateSlug === "") return { subject: null, htmlBody: null, textBody: null };
  return await v.api.send<Said>("POST", "notification-templates/render", {
    templateSlug,
    locale: field(form, "locale") || null,
    data: jsonField(v, form, "templateData"),
  });
}

export const messagePreview = previewActions(saidBy);

async function sendView(v: Visit, form: FormData, refusal: Refusal | null): Promise<View> {
  const w = words[v.locale];
  const given = (name: string) => field(form, name);
  // A field as it was sent, and what was wrong with it.
  const sent = (name: string) => ({ name, value: given(name), errors: refusal?.fields[name] });
  const { items } = await v.api.get<Page<Template>>("notification-templates", {
    includeShipped: true,
    pageSize: 100,
  });
  const slugs = [...new Map(items.map((template) => [template.slug, template])).values()];
  const isTemplate = given("source") === "template";
  const canFind = v.viewer.tenant !== null && may(v.viewer, "read:users");
  return {
    title: w.send,
    crumbs: [{ href: "notifications", label: w.title }],
    ...refusal ? { status: refusal.status } : {},
    body: (
      <form class="editor" method="post" action="notifications/send">
        <CsrfField v={v} />
        <div class="stack">
          <FormRefusal refusal={refusal} known={SHOWN_BESIDE} />
          <Card>
            <SelectField
              label={w.channel}
              name="channel"
              value={given("channel") || "Email"}
              choices={channelChoices(v.locale)}
            />
            {canFind && <PeopleField v={v} chosen={chosenPeople(form.getAll("userIds"))} />}
            <TextArea label={w.addresses} {...sent("recipients")} rows={3} hint={w.addressesHint} />
          </Card>
          <Card>
            <fieldset class="choices">
              <legend>{w.contentFrom}</legend>
              <label>
                <input type="radio" name="source" value="own" checked={!isTemplate} /> {w.ownText}
              </label>
              <label>
                <input type="radio" name="source" value="template" checked={isTemplate} /> {w.aTemplate}
              </label>
            </fieldset>
            <div class="stack" data-source="own">
              <div data-channels="Email Push InApp">
                <TextField label={w.subject} {...sent("subject")} maxlength={1000} />
              </div>
              <TextArea label={w.textBody} {...sent("textBody")} rows={5} />
              <div data-channels="Email">
                <TextArea label={w.htmlBody} {...sent("htmlBody")} rows={7} code />
              </div>
            </div>
            <div class="stack" data-source="template">
              <div class="pair">
                <SelectField
                  label={w.template}
                  {...sent("templateSlug")}
                  any="–"
                  value={given("templateSlug") || v.query.get("template")}
                  choices={slugs.map(({ slug, name }) => ({ value: slug, label: `${name} (${slug})` }))}
                />
                <TextField label={w.locale} {...sent("locale")} maxlength={35} hint={w.localeHint} />
              </div>
              <TextArea
                label={w.data}
                {...sent("templateData")}
                rows={6}
                code
                value={given("templateData") || "{}"}
                hint={w.dataHint}
              />
            </div>
          </Card>
          <Card title={w.delivery}>
            <div class="pair">
              <SelectField
                label={w.priority}
                {...sent("priority")}
                value={given("priority") || "Normal"}
                choices={priorityChoices(v.locale)}
              />
              <TextField
                label={w.sendAt}
                {...sent("sendAt")}
                type="datetime-local"
                hint={w.sendAtHint(v.timeZone)}
              />
            </div>
            <TextField label={w.category} {...sent("category")} maxlength={100} hint={w.categoryHint} />
            <div data-channels="InApp Push">
              <TextField label={w.actionUrl} {...sent("actionUrl")} hint={w.actionUrlHint} />
            </div>
          </Card>
          <FormButtons v={v} label={w.sendIt} back="notifications" />
        </div>
        <Card title={w.preview}>
          <LivePreview v={v} action="notifications/send/preview" />
        </Card>
      </form>
    ),
  };
}
