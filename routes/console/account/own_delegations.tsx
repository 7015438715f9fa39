import { actionButton } from "../components/forms.tsx";
import { actionsColumn, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { actionsOf } from "../shared/actions.ts";
import { delegationTexts } from "../shared/delegation_texts.ts";
import type { Row } from "../shared/operations.ts";
import type { ConsolePage, Visit } from "../shared/page.ts";

type Delegation = Row<"listMyDelegations">;

/** Who acted, or asks to act, as the viewer; nothing if nobody did. */
export function OwnDelegations({ v, delegations }: { v: Visit; delegations: Delegation[] }) {
  if (delegations.length === 0) return null;
  const t = delegationTexts[v.locale];
  const button = (id: string, verb: "allow" | "refuse" | "end") =>
    actionButton(v, `account/delegations/${id}/${verb}`, t[verb]);
  return (
    <Card title={t.ownTitle}>
      {dataTable(t.ownTitle, delegations, null, [
        { head: t.actor, cell: ({ actorName, tenantName }) => `${actorName} (${tenantName})` },
        { head: t.reason, cell: ({ reason }) => reason },
        { head: t.status, cell: ({ status }) => t[status] },
        timeColumn<Delegation>(v, t.created, "createdAt", { wideOnly: true }),
        actionsColumn<Delegation>(v, ({ id, status }) => (
          <>
            {status === "Requested" && [button(id, "allow"), button(id, "refuse")]}
            {status === "Open" && button(id, "end")}
          </>
        )),
      ])}
    </Card>
  );
}

export const ownDelegationPages: ConsolePage[] = actionsOf("account", delegationTexts, {
  "delegations/{id}/allow": ["allowDelegation", "allowed"],
  "delegations/{id}/refuse": ["refuseDelegation", "refused"],
  "delegations/{id}/end": ["endDelegation", "Ended"],
});
