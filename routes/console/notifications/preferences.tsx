import type { z } from "zod";
import { channelMember, channelNames } from "../../../domain/notifications/channels/catalogue.ts";
import type { ChannelChoices } from "../../../domain/notifications/preferences.ts";
import type { NotificationPreferencesDto } from "../../notifications/preferences.ts";
import type { UserNotificationDto } from "../../notifications/shapes.ts";
import { CheckField, CsrfField, FormRefusal, SelectField, TextField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { DataTable } from "../components/table.tsx";
import { type Page, Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, type Outcome, type View, type Visit } from "../shared/page.ts";
import { preferenceTexts } from "./preference_texts.ts";
import { channelLabel } from "./status.tsx";

type Preferences = z.output<typeof NotificationPreferencesDto>;
type Category = { category: string; channels: ChannelChoices };

const ALL = { email: true, push: true, inApp: true, sms: true };

const addressOf = (v: Visit): string => `user-notifications/preferences?userId=${v.viewer.userId}`;

/** The viewer's notification preferences. */
export async function preferencesPage(v: Visit): Promise<View> {
  const answer = await v.api.request("GET", `/api/v1/${addressOf(v)}`);
  const etag = answer.headers.get("etag") ?? "";
  return await preferencesView(v, await answer.json() as Preferences, etag, null);
}

/** Saves the preferences. If the API refuses them or they changed elsewhere (412), shows the form with the error. */
export async function preferencesAction(v: Visit, form: FormData): Promise<Outcome> {
  const etag = field(form, "etag");
  const given = preferencesOf(v, form);
  try {
    await v.api.send("PUT", addressOf(v), given, { "if-match": etag });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 412].includes(refusal.status)) throw refusal;
    return await preferencesView(v, given, etag, refusal);
  }
  return { goTo: "preferences", flash: { tone: "ok", text: preferenceTexts[v.locale].saved } };
}

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
  const { items } = await v.api.get<Page<z.output<typeof UserNotificationDto>>>("user-notifications", {
    userId: v.viewer.userId,
    pageSize: 100,
  });
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
    ...refusal ? { status: refusal.status } : {},
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
