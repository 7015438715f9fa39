import { channelMember, channelNames } from "../../../domain/notifications/channels.ts";
import type { ChannelChoices } from "../../../domain/notifications/preferences.ts";
import { Fields, formView } from "../components/fields.tsx";
import { Card } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { done, formPage } from "../shared/actions.ts";
import { field, type Visit } from "../shared/page.ts";
import { preferenceTexts } from "./texts.ts";
import { channelLabel } from "./status.tsx";

interface Category {
  category: string;
  channels: ChannelChoices;
}

const ALL = { email: true, push: true, inApp: true, sms: true };
const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone")];

const ofViewer = (v: Visit) => ({ userId: v.viewer.userId });

/** The viewer's notification preferences. */
export const preferencesPage = formPage({
  path: "preferences",
  async show(v, sent) {
    const t = preferenceTexts[v.locale];
    const { value, etag } = await v.api.versioned("readNotificationPreferences", { query: ofViewer(v) });
    const { quietHours, digest, timeZoneId } = value;
    const categories = sent?.form ? categoriesOf(sent.form) : value.categories;
    const rows = [...await knownCategories(v, categories), { category: "", channels: ALL }];
    const f = new Fields(v, sent, "writeNotificationPreferences", {
      timeZoneId,
      hasQuiet: quietHours !== null,
      "quietHours.from": quietHours?.from ?? "22:00",
      "quietHours.to": quietHours?.to ?? "08:00",
      hasDigest: digest.isEnabled,
      "digest.at": digest.at,
      "digest.locale": digest.locale,
      etag,
    });
    const zones = [...new Set([timeZoneId, ...ZONES])].map((zone) => ({ value: zone, label: zone }));
    return formView(f, {
      title: t.title,
      crumbs: [{ href: "account", label: t.account }],
      action: "preferences",
      back: null,
      stacked: true,
      inputs: [
        <Card title={t.categories}>
          <p class="muted">{t.categoriesText}</p>
          <CategoryMatrix v={v} rows={rows} />
        </Card>,
        <div class="grid-2">
          <Card title={t.quiet}>
            <p class="muted">{t.quietText}</p>
            {f.check("hasQuiet", t.hasQuiet)}
            <div class="pair">
              {f.text("quietHours.from", t.from, { type: "time" })}
              {f.text("quietHours.to", t.to, { type: "time" })}
            </div>
            {f.select("timeZoneId", t.zone, zones)}
          </Card>
          <Card title={t.digest}>
            <p class="muted">{t.digestText}</p>
            {f.check("hasDigest", t.hasDigest)}
            <div class="pair">
              {f.text("digest.at", t.at, { type: "time" })}
              {f.text("digest.locale", t.locale, { maxlength: 35, hint: t.localeHint })}
            </div>
          </Card>
        </div>,
      ],
    });
  },
  async send(v, form) {
    const quietHours = { from: field(form, "quietHours.from"), to: field(form, "quietHours.to") };
    await v.api.call("writeNotificationPreferences", {
      query: ofViewer(v),
      body: {
        timeZoneId: field(form, "timeZoneId"),
        quietHours: form.get("hasQuiet") === "true" ? quietHours : null,
        categories: categoriesOf(form),
        digest: {
          isEnabled: form.get("hasDigest") === "true",
          at: field(form, "digest.at") || "08:00",
          locale: field(form, "digest.locale") || null,
        },
      },
      ifMatch: field(form, "etag"),
    });
    return done("preferences", preferenceTexts[v.locale].saved);
  },
});

/** The categories of the form. One with all channels ticked is the default, so it is left out. */
const categoriesOf = (form: FormData): Category[] =>
  form.getAll("category").map((name, index) => ({
    category: String(name).trim(),
    channels: Object.fromEntries(
      channelNames.map(channelMember).map((member) => [member, form.get(`${index}.${member}`) === "true"]),
    ) as ChannelChoices,
  })).filter(({ category, channels }) => category !== "" && Object.values(channels).includes(false));

/** Categories with saved preferences, and categories of the viewer's latest 100 messages. */
async function knownCategories(v: Visit, saved: Category[]): Promise<Category[]> {
  const { items } = await v.api.call("listUserNotifications", { query: { ...ofViewer(v), pageSize: 100 } });
  const named = new Set(saved.map(({ category }) => category.toLowerCase()));
  const seen = new Set(items.map(({ category }) => category?.toLowerCase()));
  const others = [...seen].filter((category) => category !== undefined && !named.has(category)).sort();
  return [...saved, ...others.map((category) => ({ category: String(category), channels: ALL }))];
}

/** One row per category, one checkbox per channel. The last row takes a new category. */
function CategoryMatrix({ v, rows }: { v: Visit; rows: Category[] }) {
  const t = preferenceTexts[v.locale];
  return dataTable(t.categories, rows.map((row, index) => ({ ...row, index })), null, [
    {
      head: t.category,
      cell: ({ category }) =>
        category
          ? [<input type="hidden" name="category" value={category} />, category]
          : <input name="category" maxlength={100} aria-label={t.newCategory} placeholder={t.newCategory} />,
    },
    ...channelNames.map((channel) => ({
      head: channelLabel(v.locale, channel),
      cell: ({ category, channels, index }: Category & { index: number }) => (
        <input
          type="checkbox"
          name={`${index}.${channelMember(channel)}`}
          value="true"
          checked={channels[channelMember(channel)] ?? true}
          aria-label={t.wants(category || t.newCategory, channelLabel(v.locale, channel))}
        />
      ),
    })),
  ]);
}
