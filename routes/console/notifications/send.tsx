import { channelNames } from "../../../domain/notifications/channels.ts";
import { timeIn } from "../components/date_inputs.ts";
import { Fields } from "../components/fields.tsx";
import { buttonLink, CsrfField, FormRefusal, SEARCH_LENGTH } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { done, formPage, fragment } from "../shared/actions.ts";
import { refusedInput } from "../shared/api.ts";
import {
  type ConsolePage,
  field,
  jsonIn,
  may,
  optionalField,
  type Outcome,
  type Visit,
} from "../shared/page.ts";
import { LivePreview, previewPages, type RenderedMessage } from "./live_preview.tsx";
import { channelChoices, priorityChoices } from "./status.tsx";
import { notificationTexts } from "./texts.ts";

/** The form that sends or schedules a message, with a preview. */
const sendPage = formPage({
  path: "notifications/send",
  async show(v, sent) {
    const t = notificationTexts[v.locale];
    const f = new Fields(v, sent, "sendNotification", {
      channel: "Email",
      source: "own",
      templateSlug: v.query.get("template") ?? "",
      templateData: "{}",
      priority: "Normal",
    });
    const { items } = await v.api.call("listNotificationTemplates", {
      query: { includeShipped: true, pageSize: 100 },
    });
    const templates = new Map(items.map(({ slug, name }) => [slug, `${name} (${slug})`]));
    const canFind = v.viewer.tenant !== null && may(v.viewer, "read:users");
    return {
      title: t.send,
      body: (
        <form class="editor" method="post" action="notifications/send">
          <CsrfField v={v} />
          <div class="stack">
            <FormRefusal v={v} refusal={sent?.refusal ?? null} known={f.known} />
            <Card>
              {f.select("channel", t.channel, channelChoices(v.locale))}
              {canFind && <UserField v={v} chosen={chosenUsers(sent?.form?.getAll("userIds") ?? [])} />}
              {f.area("recipients", t.addresses, { rows: 3, hint: t.addressesHint })}
            </Card>
            {contentCard(f, [...templates].map(([value, label]) => ({ value, label })))}
            {deliveryCard(f)}
            <div class="row">
              <button type="submit" class="button primary">{t.sendIt}</button>
              {buttonLink("notifications", t.cancel)}
            </div>
          </div>
          <Card title={t.preview}>
            <LivePreview v={v} action="notifications/send/preview" />
          </Card>
        </form>
      ),
    };
  },
  async send(v, form) {
    const t = notificationTexts[v.locale];
    const { message, scheduledAt } = messageOf(v, form);
    const { notificationId } = scheduledAt
      ? await v.api.call("scheduleNotification", { body: { notification: message, scheduledAt } })
      : await v.api.call("sendNotification", { body: message });
    return done(`notifications/${notificationId}`, scheduledAt ? t.isScheduled : t.isSent);
  },
});

/** The content: texts, or a template with data. */
function contentCard(f: Fields, templates: { value: string; label: string }[]) {
  const t = notificationTexts[f.v.locale];
  const source = (value: string, label: string) => (
    <label>
      <input type="radio" name="source" value={value} checked={f.value("source") === value} /> {label}
    </label>
  );
  return (
    <Card>
      <fieldset class="choices">
        <legend>{t.content}</legend>
        {source("own", t.ownText)}
        {source("template", t.aTemplate)}
      </fieldset>
      <div class="stack" data-source="own">
        <div data-channels={channelNames.filter((name) => name !== "Sms").join(" ")}>
          {f.text("subject", t.subject)}
        </div>
        {f.area("textBody", t.textBody, { rows: 5 })}
        <div data-channels="Email">{f.area("htmlBody", t.htmlBody, { rows: 7, code: true })}</div>
      </div>
      <div class="stack" data-source="template">
        <div class="pair">
          {f.select("templateSlug", t.template, templates, { any: "–" })}
          {f.text("locale", t.locale, { maxlength: 35, hint: t.localeHint })}
        </div>
        {f.area("templateData", t.data, { rows: 6, code: true, hint: t.dataHint })}
      </div>
    </Card>
  );
}

function deliveryCard(f: Fields) {
  const t = notificationTexts[f.v.locale];
  return (
    <Card title={t.delivery}>
      <div class="pair">
        {f.select("priority", t.priority, priorityChoices(f.v.locale))}
        {f.text("sendAt", t.sendAt, { type: "datetime-local", hint: t.scheduledHint(f.v.timeZone) })}
      </div>
      {f.text("category", t.category, { hint: t.categoryHint })}
      <div data-channels="InApp Push">{f.text("actionUrl", t.actionUrl, { hint: t.actionUrlHint })}</div>
    </Card>
  );
}

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
  const data = jsonField(form, "templateData", notificationTexts[v.locale].dataInvalid);
  const locale = field(form, "locale") || null;
  return await v.api.call("renderNotificationTemplate", { body: { templateSlug, locale, data } });
}

export const sendPages: ConsolePage[] = [sendPage, ...previewPages("notifications/send/preview", renderForm)];

const SHOWN = 8;

/** A search field for users of the tenant, with the selected users. */
function UserField({ v, chosen }: { v: Visit; chosen: ChosenUser[] }) {
  const t = notificationTexts[v.locale];
  return (
    <div class="field">
      <label for="f-person">{t.users}</label>
      {/* belongs to no form, so that Enter submits nothing */}
      <input
        id="f-person"
        type="search"
        name="person"
        maxlength={SEARCH_LENGTH}
        form="no-form"
        autocomplete="off"
        placeholder={t.findUsers}
        aria-describedby="f-person-hint"
        hx-get="notifications/people"
        hx-trigger="input changed delay:300ms"
        hx-include="#people"
        hx-target="#people"
      />
      <div class="hint" id="f-person-hint">{t.usersHint}</div>
      <div id="people" role="group" aria-label={t.users} aria-live="polite">
        <UserChecks users={chosen} ticked />
      </div>
    </div>
  );
}

/** Search results for `UserField`: the selected users, then those found. */
export async function userSearchPage(v: Visit): Promise<Outcome> {
  const t = notificationTexts[v.locale];
  const chosen = chosenUsers(v.query.getAll("userIds"));
  const search = v.query.get("person")?.trim() ?? "";
  const { items } = search === ""
    ? { items: [] }
    : await v.api.call("listUsers", { query: { search, pageSize: SHOWN, isActive: true } });
  const found = items.filter(({ id }) => !chosen.some((user) => user.id === id))
    .map(({ id, email, firstName, lastName }) => ({
      id,
      label: `${`${firstName} ${lastName}`.trim()} <${email}>`.trim(),
    }));
  return await fragment([
    <UserChecks users={chosen} ticked />,
    <UserChecks users={found} />,
    search !== "" && items.length === 0 && <p class="muted">{t.noUsersFound}</p>,
  ]);
}

const UserChecks = ({ users, ticked = false }: { users: ChosenUser[]; ticked?: boolean }) => (
  <>
    {users.map((user) => (
      <label class="row">
        <input type="checkbox" name="userIds" value={userValue(user)} checked={ticked} />
        <span class="break">{user.label}</span>
      </label>
    ))}
  </>
);

/** A user selected in the form: id and display name. */
interface ChosenUser {
  id: string;
  label: string;
}

const userValue = ({ id, label }: ChosenUser): string => `${id} ${label}`;

/** The users selected in the form. */
function chosenUsers(values: FormDataEntryValue[]): ChosenUser[] {
  return values.map(String).map((value) => {
    const [id = "", ...label] = value.split(" ");
    return { id, label: label.join(" ") };
  });
}

/** Reads recipients, one per line: `Ana Sousa <ana@example.com>` or an address alone. */
function recipientsOf(text: string): { address: string; displayName: string | null }[] {
  return text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean).map((line) => {
    const start = line.lastIndexOf("<");
    const address = start < 0 ? "" : /^<([^<>]+)>$/.exec(line.slice(start))?.[1];
    return address
      ? { address: address.trim(), displayName: line.slice(0, start).trim() || null }
      : { address: line, displayName: null };
  });
}

/**
 * The object in a JSON field; {} if the field is empty.
 * @param invalid what the viewer is told otherwise
 * @throws Refusal that names the field
 */
export function jsonField(form: FormData, name: string, invalid: string): Record<string, unknown> {
  const text = field(form, name);
  const value = text === "" ? {} : jsonIn(text);
  if (value && typeof value === "object" && !Array.isArray(value)) return { ...value };
  throw refusedInput(name, invalid);
}

/** The message and the send time from the form. @throws Refusal if a field cannot be read */
function messageOf(v: Visit, form: FormData) {
  const scheduledAt = timeIn(v, form, "sendAt") ?? null;
  const channel = field(form, "channel");
  const hasTitle = channel !== "Sms";
  const content = field(form, "source") === "template"
    ? {
      templateSlug: optionalField(form, "templateSlug"),
      locale: optionalField(form, "locale"),
      templateData: jsonField(form, "templateData", notificationTexts[v.locale].dataInvalid),
    }
    : {
      subject: hasTitle ? optionalField(form, "subject") : undefined,
      textBody: optionalField(form, "textBody"),
      htmlBody: channel === "Email" ? optionalField(form, "htmlBody") : undefined,
    };
  const message = {
    channel,
    recipients: recipientsOf(field(form, "recipients")),
    userIds: chosenUsers(form.getAll("userIds")).map(({ id }) => id),
    ...content,
    priority: optionalField(form, "priority"),
    category: optionalField(form, "category"),
    actionUrl: channel === "InApp" || channel === "Push" ? optionalField(form, "actionUrl") : undefined,
  };
  return { message, scheduledAt };
}
