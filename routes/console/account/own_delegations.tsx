import { ActionButton } from "../components/forms.tsx";
import { actionsColumn, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { DataTable } from "../components/table.tsx";
import { action, showing } from "../shared/actions.ts";
import { delegationTexts } from "../shared/delegation_texts.ts";
import type { Row } from "../shared/operations.ts";
import type { ConsolePage, Visit } from "../shared/page.ts";

type Delegation = Row<"listMyDelegations">;

/** Who acted, or asks to act, as the viewer; nothing if nobody did. */
export function OwnDelegations({ v, delegations }: { v: Visit; delegations: Delegation[] }) {
  if (delegations.length === 0) return null;
  const t = delegationTexts[v.locale];
  return (
    <Card title={t.ownTitle}>
      <DataTable
        caption={t.ownTitle}
        rows={delegations}
        empty={null}
        columns={[
          { head: t.actor, cell: ({ actorName, tenantName }) => `${actorName} (${tenantName})` },
          { head: t.reason, cell: ({ reason }) => reason },
          { head: t.status, cell: ({ status }) => t[status] },
          timeColumn<Delegation>(v, t.created, "createdAt", { wideOnly: true }),
          actionsColumn<Delegation>(v, ({ id, status }) => (
            <>
              {status === "Requested" && (
                <>
                  <ActionButton v={v} action={`account/delegations/${id}/allow`} label={t.allow} />
                  <ActionButton v={v} action={`account/delegations/${id}/refuse`} label={t.refuse} />
                </>
              )}
              {status === "Open" && (
                <ActionButton v={v} action={`account/delegations/${id}/end`} label={t.end} />
              )}
            </>
          )),
        ]}
      />
    </Card>
  );
}

export const ownDelegationPages: ConsolePage[] = [
  action("account/delegations/{id}/allow", "allowDelegation", showing("account", delegationTexts, "allowed")),
  action(
    "account/delegations/{id}/refuse",
    "refuseDelegation",
    showing("account", delegationTexts, "refused"),
  ),
  action("account/delegations/{id}/end", "endDelegation", showing("account", delegationTexts, "Ended")),
];
