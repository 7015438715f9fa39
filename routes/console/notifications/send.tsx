import { channelNames } from "../../../domain/notifications/channels.ts";
import { Fields } from "../components/fields.tsx";
import { buttonLink, CsrfField, FormRefusal, SEARCH_LENGTH } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { done, formPage, fragment } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { type ConsolePage, field, may, type Outcome, type Visit } from "../shared/page.ts";
import { LivePreview, previewPages, type RenderedMessage } from "./live_preview.tsx";
import { type ChosenUser, chosenUsers, jsonField, messageOf, userValue } from "./send_fields.ts";
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
      crumbs: [{ href: "notifications", label: t.title }],
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
              {buttonLink("notifications", commonTexts[v.locale].cancel)}
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
  const data = jsonField(form, "templateData", notificationTexts[v.locale].dataInvalid);
  const locale = field(form, "locale") || null;
  return await v.api.call("renderNotificationTemplate", { body: { templateSlug, locale, data } });
}

export const sendPages: ConsolePage[] = [
  sendPage,
  ...previewPages("notifications/send/preview", renderForm),
];

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
  return await fragment(
    <>
      <UserChecks users={chosen} ticked />
      <UserChecks users={found} />
      {search !== "" && items.length === 0 && <p class="muted">{t.noUsersFound}</p>}
    </>,
  );
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
