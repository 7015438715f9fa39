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
import { shared } from "../shared/console_words.ts";
import { field, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { channelWords } from "./status.tsx";
import { reasonNames, suppressionWords } from "./suppression_words.ts";

type Suppression = z.output<typeof NotificationSuppressionDto>;

export const suppressionsPage = (v: Visit): Promise<View> => suppressionsView(v, new FormData(), null);

/** Addresses the tenant's messages no longer go to, and the form that adds one. */
async function suppressionsView(v: Visit, form: FormData, refusal: Refusal | null): Promise<View> {
  const w = suppressionWords[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Suppression>>("notification-suppressions", {
    channel: given("channel"),
    search: given("search"),
    page: given("page"),
  });
  return {
    title: w.title,
    ...refusal ? { status: refusal.status } : {},
    body: (
      <>
        <p class="muted">{w.intro}</p>
        <AddForm v={v} form={form} refusal={refusal} />
        <FilterBar v={v} action="suppressions" target="suppressions-list">
          <TextField label={w.search} name="search" type="search" value={given("search")} />
          <div class="field">
            <label for="filter-channel">{w.channel}</label>
            <select id="filter-channel" name="channel">
              <option value="">{shared[v.locale].all}</option>
              {SUPPRESSED_CHANNELS.map((value) => (
                <option value={value} selected={value === given("channel")}>
                  {channelWords[v.locale][value]}
                </option>
              ))}
            </select>
          </div>
        </FilterBar>
        <LivePart v={v} id="suppressions-list">
          <DataTable
            caption={w.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="check" text={w.empty}>{w.emptyText}</EmptyList>}
          />
          <Pager v={v} path="suppressions" page={page} />
        </LivePart>
      </>
    ),
  };
}

function AddForm({ v, form, refusal }: { v: Visit; form: FormData; refusal: Refusal | null }) {
  const w = suppressionWords[v.locale];
  const errors = refusal?.fields ?? {};
  return (
    <Card>
      <details open={refusal !== null}>
        <summary>{w.add}</summary>
        <form class="form" method="post" action="suppressions">
          <CsrfField v={v} />
          <FormRefusal refusal={refusal} known={["channel", "address", "reason", "detail"]} />
          <div class="pair">
            <SelectField
              label={w.channel}
              name="channel"
              value={field(form, "channel")}
              choices={SUPPRESSED_CHANNELS.map((value) => ({ value, label: channelWords[v.locale][value] }))}
              errors={errors.channel}
            />
            <TextField
              label={w.address}
              name="address"
              value={field(form, "address")}
              errors={errors.address}
              required
            />
          </div>
          <div class="pair">
            <SelectField
              label={w.reason}
              name="reason"
              value={field(form, "reason") || "Manual"}
              choices={SUPPRESSION_REASONS.map((value) => ({ value, label: reasonNames[v.locale][value] }))}
              errors={errors.reason}
            />
            <TextField
              label={w.detail}
              name="detail"
              maxlength={1000}
              value={field(form, "detail")}
              errors={errors.detail}
            />
          </div>
          <div>
            <button type="submit" class="button primary">{w.addIt}</button>
          </div>
        </form>
      </details>
    </Card>
  );
}

function columns(v: Visit): Column<Suppression>[] {
  const w = suppressionWords[v.locale];
  return [
    { head: w.address, cell: ({ address }) => <CopyValue v={v} value={address} /> },
    { head: w.channel, cell: ({ channel }) => channelWords[v.locale][channel] },
    {
      head: w.reason,
      cell: ({ reason, detail, notificationId }) => (
        <>
          <Badge tone={reason === "Manual" ? "idle" : "warn"}>{reasonNames[v.locale][reason]}</Badge>{" "}
          {notificationId && <a href={`notifications/${notificationId}`}>{w.message}</a>}
          {detail && <span class="sub">{detail}</span>}
        </>
      ),
    },
    { head: w.since, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    {
      head: shared[v.locale].actions,
      align: "end",
      cell: ({ id, address }) => (
        <ActionButton
          v={v}
          action={`suppressions/${id}/lift`}
          label={w.lift}
          confirm={w.liftConfirm(address)}
        />
      ),
    },
  ];
}

/** Suppresses the address of the form; shown again with what is wrong. */
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
  return { goTo: "suppressions", flash: { tone: "ok", text: suppressionWords[v.locale].added } };
}

export async function liftAction(v: Visit): Promise<Outcome> {
  await v.api.send("DELETE", `notification-suppressions/${v.params.id}`);
  return { goTo: "suppressions", flash: { tone: "ok", text: suppressionWords[v.locale].lifted } };
}
