import { SUPPRESSED_CHANNELS, SUPPRESSION_REASONS } from "../../../domain/notifications/suppression.ts";
import { Fields, FoldedForm } from "../components/fields.tsx";
import { actionButton } from "../components/forms.tsx";
import { actionsColumn, type Filter, labelled, listView, search, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { Badge, CopyValue } from "../components/values.tsx";
import { actionsOf, done, formPage, sendTo } from "../shared/actions.ts";
import { type ConsolePage, fieldsIn, optionalField } from "../shared/page.ts";
import { channelLabels } from "./status.tsx";
import { suppressionReasonLabels, suppressionTexts } from "./texts.ts";

/** The suppressed addresses and the form that adds one. */
export const suppressionPages: ConsolePage[] = [
  formPage({
    path: "suppressions",
    show(v, sent) {
      const t = suppressionTexts[v.locale];
      const reasons = suppressionReasonLabels[v.locale];
      const f = new Fields(v, sent, "addNotificationSuppression", { reason: "Manual" });
      return listView(v, "listNotificationSuppressions", {
        title: t.title,
        top: [
          <p class="muted">{t.intro}</p>,
          <Card>
            <FoldedForm fields={f} label={t.add} action="suppressions" submit={t.addIt}>
              <div class="pair">
                {f.select("channel", t.channel, labelled(SUPPRESSED_CHANNELS, channelLabels[v.locale]))}
                {f.text("address", t.address, { required: true })}
              </div>
              <div class="pair">
                {f.select("reason", t.reason, labelled(SUPPRESSION_REASONS, reasons))}
                {f.text("detail", t.details)}
              </div>
            </FoldedForm>
          </Card>,
        ],
        caption: t.caption,
        empty: [t.empty, t.emptyText],
        filters: [search(t.search), channelFilter],
        columns: [
          { head: t.address, cell: ({ address }) => <CopyValue v={v} value={address} /> },
          {
            head: t.channel,
            cell: ({ channel }) => <span class="nowrap">{channelLabels[v.locale][channel]}</span>,
          },
          {
            head: t.reason,
            cell: ({ reason, notificationId }) => (
              <>
                <Badge tone={reason === "Manual" ? "idle" : "warn"}>{reasons[reason]}</Badge>{" "}
                {notificationId && <a href={`notifications/${notificationId}`}>{t.message}</a>}
              </>
            ),
            csv: ({ reason }) => reasons[reason],
            below: [[t.details, ({ detail }) => detail]],
          },
          timeColumn(v, t.since, "createdAt"),
          actionsColumn(
            v,
            ({ id, address }) =>
              actionButton(v, `suppressions/${id}/lift`, t.takeOut, { confirm: t.removeConfirm(address) }),
          ),
        ],
      });
    },
    send: sendTo(
      "addNotificationSuppression",
      (form) => ({
        ...fieldsIn(form, "channel", "address"),
        reason: optionalField(form, "reason"),
        detail: optionalField(form, "detail"),
      }),
      (v) => done("suppressions", suppressionTexts[v.locale].added),
    ),
  }),
  ...actionsOf("suppressions/{id}", suppressionTexts, {
    lift: ["liftNotificationSuppression", "removed", "suppressions"],
  }),
];

/** Its id must differ from the channel of the form. */
const channelFilter: Filter = (v) => (
  <div class="field">
    <label for="filter-channel">{suppressionTexts[v.locale].channel}</label>
    <select id="filter-channel" name="channel">
      <option value="">{suppressionTexts[v.locale].all}</option>
      {SUPPRESSED_CHANNELS.map((value) => (
        <option value={value} selected={value === v.query.get("channel")}>
          {channelLabels[v.locale][value]}
        </option>
      ))}
    </select>
  </div>
);
