import { SENDER_METHODS } from "../../../domain/looks/sender.ts";
import { Fields, FoldedForm } from "../components/fields.tsx";
import { actionButton } from "../components/forms.tsx";
import { actionsColumn, labelled, listView } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { Badge, CopyValue } from "../components/values.tsx";
import { actionsOf, done, formPage, sendTo } from "../shared/actions.ts";
import { type ConsolePage, fieldsIn, may, optionalField } from "../shared/page.ts";
import { looksTexts, proofLabels } from "./texts.ts";
import { proofStates } from "../components/states.tsx";

const managedBy = "manage:settings";

/** The sender addresses and the form that adds one. */
export const senderPages: ConsolePage[] = [
  formPage({
    path: "senders",
    managedBy,
    show(v, sent) {
      const t = looksTexts[v.locale];
      const f = new Fields(v, sent, "addNotificationSender", { method: "Dns" });
      return listView(v, "listNotificationSenders", {
        title: t.senders,
        top: [
          <p class="muted">{t.sendersIntro}</p>,
          may(v.viewer, managedBy) && (
            <Card>
              <FoldedForm fields={f} label={t.add} action="senders" submit={t.addIt}>
                <div class="pair">
                  {f.text("address", t.address, { type: "email", required: true })}
                  {f.text("name", t.name, { hint: t.senderNameHint })}
                </div>
                {f.select("method", t.method, labelled(SENDER_METHODS, proofLabels[v.locale]))}
              </FoldedForm>
            </Card>
          ),
        ],
        caption: t.caption,
        empty: [t.empty, t.emptyText],
        filters: [],
        columns: [
          {
            head: t.address,
            cell: ({ address, isDefault }) => (
              <>
                <CopyValue v={v} value={address} />{" "}
                {isDefault && <Badge tone="info">{t.defaultSender}</Badge>}
              </>
            ),
            csv: ({ address }) => address,
            below: [[t.name, ({ name }) => name]],
          },
          { head: t.status, cell: ({ status }) => proofStates.badge(v, status) },
          {
            head: t.method,
            cell: ({ method }) => proofLabels[v.locale][method],
            below: [
              [t.record, ({ dnsRecord, status }) =>
                dnsRecord && status !== "Verified" && (
                  <>
                    {!v.collect && t.record} <CopyValue v={v} value={dnsRecord.name} />{" "}
                    <CopyValue v={v} value={dnsRecord.value} />
                  </>
                )],
              [t.error, ({ lastError }) => lastError && <span lang="en">{lastError}</span>],
            ],
          },
          actionsColumn(v, ({ id, address, method, status, isDefault }) =>
            may(v.viewer, managedBy) && [
              (method === "Dns" || status !== "Verified") &&
              actionButton(v, `senders/${id}/verify`, method === "Mail" ? t.mailAgain : t.verify),
              status === "Verified" && !isDefault &&
              actionButton(v, `senders/${id}/default`, t.makeDefault),
              actionButton(v, `senders/${id}/remove`, t.takeOut, { confirm: t.removeConfirm(address) }),
            ]),
        ],
      });
    },
    send: sendTo(
      "addNotificationSender",
      (form) => ({ ...fieldsIn(form, "address", "method"), name: optionalField(form, "name") }),
      (v) => done("senders", looksTexts[v.locale].added),
    ),
  }),
  {
    path: "senders/{id}/default",
    permissions: [managedBy],
    async post(v) {
      await v.api.call("updateNotificationSender", { params: v.params, body: { isDefault: true } });
      return done("senders", looksTexts[v.locale].madeDefault);
    },
  },
  ...actionsOf("senders/{id}", looksTexts, {
    verify: ["verifyNotificationSender", "checked", "senders"],
    remove: ["removeNotificationSender", "removed", "senders"],
  }, [managedBy]),
];
