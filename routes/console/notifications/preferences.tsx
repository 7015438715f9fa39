import { channelMember, channelNames } from "../../../domain/notifications/channels/catalogue.ts";
import type { ChannelChoices } from "../../../domain/notifications/preferences.ts";
import { CheckField, CsrfField, FormRefusal, SelectField, TextField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { DataTable } from "../components/table.tsx";
import { done, formPage } from "../shared/actions.ts";
import type { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Answer } from "../shared/operations.ts";
import { field, type View, type Visit } from "../shared/page.ts";
import { preferenceTexts } from "./preference_texts.ts";
import { channelLabel } from "./status.tsx";

type Preferences = Answer<"readNotificationPreferences">;
type Category = { category: string; channels: ChannelChoices };

const ALL = { email: true, push: true, inApp: true, sms: true };

const ownOf = ({ viewer: { userId } }: Visit) => ({ userId });

/** The viewer's notification preferences. After a refusal the form shows what was typed. */
export const preferencesPage = formPage({
  path: "preferences",
  async show(v, sent) {
    if (sent?.form) {
      const { form, refusal } = sent;
      return await preferencesView(v, preferencesOf(v, form), field(form, "etag"), refusal);
    }
    const { value, etag } = await v.api.versioned("readNotificationPreferences", { query: ownOf(v) });
    return await preferencesView(v, value, etag, null);
  },
  async send(v, form) {
    const change = { query: ownOf(v), body: preferencesOf(v, form), ifMatch: field(form, "etag") };
    await v.api.call("writeNotificationPreferences", change);
    return done("preferences", preferenceTexts[v.locale].saved);
  },
});

/** Reads the form. A category with all channels ticked is the default, so it is left out. */
function preferencesOf(v: Visit, form: FormData): Preferences {
  const categories = form.getAll("category").map((name, index) => ({
    category: String(name).trim(),
    channels: Object.fromEntries(
      channelNames.map(channelMember).map((member) => [member, form.get(`${index}.${member}`) === "true"]),
    ) as ChannelChoices,
  })).filter(({ category, channels }) => category !== "" && Object.values(channels).includes(false));
  return {
    userId: v.viewer.userId,
    timeZoneId: field(form, "timeZoneId"),
    quietHours: form.get("hasQuiet") === "true"
      ? { from: field(form, "quietFrom"), to: field(form, "quietTo") }
      : null,
    categories,
    digest: {
      isEnabled: form.get("hasDigest") === "true",
      at: field(form, "digestAt") || "08:00",
      locale: field(form, "digestLocale") || null,
    },
  };
}

/** Categories with saved preferences, and categories of the viewer's latest 100 messages. */
async function knownCategories(v: Visit, saved: Category[]): Promise<Category[]> {
  const query = { ...ownOf(v), pageSize: 100 };
  const { items } = await v.api.call("listUserNotifications", { query });
  const named = new Set(saved.map(({ category }) => category.toLowerCase()));
  const seen = new Set(items.map(({ category }) => category?.toLowerCase()));
  const others = [...seen].filter((category) => category !== undefined && !named.has(category)).sort();
  return [...saved, ...others.map((category) => ({ category: String(category), channels: ALL }))];
}

async function preferencesView(
  v: Visit,
  given: Preferences,
  etag: string,
  refusal: Refusal | null,
): Promise<View> {
  const t = preferenceTexts[v.locale];
  const errors = refusal?.fields ?? {};
  const { quietHours, digest, timeZoneId } = given;
  const rows = [...await knownCategories(v, given.categories), { category: "", channels: ALL }];
  return {
    title: t.title,
    crumbs: [{ href: "account", label: t.account }],
    body: (
      <form class="stack" method="post" action="preferences">
        <CsrfField v={v} />
        <input type="hidden" name="etag" value={etag} />
        <FormRefusal
          refusal={refusal}
          known={["timeZoneId", "quietHours.from", "quietHours.to", "digest.at", "digest.locale"]}
        />
        <Card title={t.categories}>
          <p class="muted">{t.categoriesText}</p>
          <CategoryMatrix v={v} rows={rows} />
        </Card>
        <div class="grid-2">
          <Card title={t.quiet}>
            <p class="muted">{t.quietText}</p>
            <CheckField label={t.hasQuiet} name="hasQuiet" checked={quietHours !== null} />
            <div class="pair">
              <TextField
                label={t.from}
                name="quietFrom"
                type="time"
                value={quietHours?.from ?? "22:00"}
                errors={errors["quietHours.from"]}
              />
              <TextField
                label={t.to}
                name="quietTo"
                type="time"
                value={quietHours?.to ?? "08:00"}
                errors={errors["quietHours.to"]}
              />
            </div>
            <SelectField
              label={t.zone}
              name="timeZoneId"
              value={timeZoneId}
              choices={zones(timeZoneId)}
              errors={errors.timeZoneId}
            />
          </Card>
          <Card title={t.digest}>
            <p class="muted">{t.digestText}</p>
            <CheckField label={t.hasDigest} name="hasDigest" checked={digest.isEnabled} />
            <div class="pair">
              <TextField
                label={t.at}
                name="digestAt"
                type="time"
                value={digest.at}
                errors={errors["digest.at"]}
              />
              <TextField
                label={t.locale}
                name="digestLocale"
                maxlength={35}
                value={digest.locale}
                hint={t.localeHint}
                errors={errors["digest.locale"]}
              />
            </div>
          </Card>
        </div>
        <div>
          <button type="submit" class="button primary">{commonTexts[v.locale].save}</button>
        </div>
      </form>
    ),
  };
}

/** One row per category, one checkbox per channel. The last row takes a new category. */
function CategoryMatrix({ v, rows }: { v: Visit; rows: Category[] }) {
  const t = preferenceTexts[v.locale];
  return (
    <DataTable
      caption={t.categories}
      rows={rows.map((row, index) => ({ ...row, index }))}
      empty={null}
      columns={[
        {
          head: t.category,
          cell: ({ category }) =>
            category
              ? (
                <>
                  <input type="hidden" name="category" value={category} />
                  {category}
                </>
              )
              : (
                <input
                  name="category"
                  maxlength={100}
                  aria-label={t.newCategory}
                  placeholder={t.newCategory}
                />
              ),
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
      ]}
    />
  );
}

const zones = (chosen: string) =>
  [...new Set([chosen, "UTC", ...Intl.supportedValuesOf("timeZone")])].map((value) => ({
    value,
    label: value,
  }));
