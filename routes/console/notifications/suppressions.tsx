import type { z } from "zod";
import { SUPPRESSED_CHANNELS, SUPPRESSION_REASONS } from "../../../domain/notifications/suppression.ts";
import type { NotificationSuppressionDto } from "../../notifications/suppression.ts";
import {
  ActionButton,
  CsrfField,
  FilterBar,
  FormRefusal,
  SelectField,
  TextField,
} from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, CopyValue, Time } from "../components/values.tsx";
import { type Page, Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { channelLabels } from "./status.tsx";
import { suppressionReasonLabels, suppressionTexts } from "./suppression_texts.ts";

type Suppression = z.output<typeof NotificationSuppressionDto>;

export const suppressionsPage = (v: Visit): Promise<View> => suppressionsView(v, new FormData(), null);

/** The suppressed addresses and the form that adds one. */
async function suppressionsView(v: Visit, form: FormData, refusal: Refusal | null): Promise<View> {
  const t = suppressionTexts[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Suppression>>("notification-suppressions", {
    channel: given("channel"),
    search: given("search"),
    page: given("page"),
  });
  return {
    title: t.title,
    ...refusal ? { status: refusal.status } : {},
    body: (
      <>
        <p class="muted">{t.intro}</p>
        <AddForm v={v} form={form} refusal={refusal} />
        <FilterBar v={v} action="suppressions" target="suppressions-list">
          <TextField label={t.search} name="search" type="search" value={given("search")} />
          <div class="field">
            <label for="filter-channel">{t.channel}</label>
            <select id="filter-channel" name="channel">
              <option value="">{commonTexts[v.locale].all}</option>
              {SUPPRESSED_CHANNELS.map((value) => (
                <option value={value} selected={value === given("channel")}>
                  {channelLabels[v.locale][value]}
                </option>
              ))}
            </select>
          </div>
        </FilterBar>
        <LivePart v={v} id="suppressions-list">
          <DataTable
            caption={t.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="check" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="suppressions" page={page} />
        </LivePart>
      </>
    ),
  };
}

function AddForm({ v, form, refusal }: { v: Visit; form: FormData; refusal: Refusal | null }) {
  const t = suppressionTexts[v.locale];
  const errors = refusal?.fields ?? {};
  return (
    <Card>
      <details open={refusal !== null}>
        <summary>{t.add}</summary>
        <form class="form" method="post" action="suppressions">
          <CsrfField v={v} />
          <FormRefusal refusal={refusal} known={["channel", "address", "reason", "detail"]} />
          <div class="pair">
            <SelectField
              label={t.channel}
              name="channel"
              value={field(form, "channel")}
              choices={SUPPRESSED_CHANNELS.map((value) => ({ value, label: channelLabels[v.locale][value] }))}
              errors={errors.channel}
            />
            <TextField
              label={t.address}
              name="address"
              value={field(form, "address")}
              errors={errors.address}
              required
            />
          </div>
          <div class="pair">
            <SelectField
              label={t.reason}
              name="reason"
              value={field(form, "reason") || "Manual"}
              choices={SUPPRESSION_REASONS.map((value) => ({
                value,
                label: suppressionReasonLabels[v.locale][value],
              }))}
              errors={errors.reason}
            />
            <TextField
              label={t.detail}
              name="detail"
              maxlength={1000}
              value={field(form, "detail")}
              errors={errors.detail}
            />
          </div>
          <div>
            <button type="submit" class="button primary">{t.addIt}</button>
          </div>
        </form>
      </details>
    </Card>
  );
}

function columns(v: Visit): Column<Suppression>[] {
  const t = suppressionTexts[v.locale];
  return [
    { head: t.address, cell: ({ address }) => <CopyValue v={v} value={address} /> },
    { head: t.channel, cell: ({ channel }) => channelLabels[v.locale][channel] },
    {
      head: t.reason,
      cell: ({ reason, detail, notificationId }) => (
        <>
          <Badge tone={reason === "Manual" ? "idle" : "warn"}>
            {suppressionReasonLabels[v.locale][reason]}
          </Badge>{" "}
          {notificationId && <a href={`notifications/${notificationId}`}>{t.message}</a>}
          {detail && <span class="sub">{detail}</span>}
        </>
      ),
    },
    { head: t.since, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    {
      head: commonTexts[v.locale].actions,
      align: "end",
      cell: ({ id, address }) => (
        <ActionButton
          v={v}
          action={`suppressions/${id}/lift`}
          label={t.remove}
          confirm={t.removeConfirm(address)}
        />
      ),
    },
  ];
}

/** Suppresses an address, or shows the form again with the errors. */
export async function addAction(v: Visit, form: FormData): Promise<Outcome> {
  try {
    await v.api.send("POST", "notification-suppressions", {
      channel: field(form, "channel"),
      address: field(form, "address"),
      reason: optionalField(form, "reason"),
      detail: optionalField(form, "detail"),
    });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 409].includes(refusal.status)) throw refusal;
    return await suppressionsView(v, form, refusal);
  }
  return { goTo: "suppressions", flash: { tone: "ok", text: suppressionTexts[v.locale].added } };
}

export async function liftAction(v: Visit): Promise<Outcome> {
  await v.api.send("DELETE", `notification-suppressions/${v.params.id}`);
  return { goTo: "suppressions", flash: { tone: "ok", text: suppressionTexts[v.locale].removed } };
}
