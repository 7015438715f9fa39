import { defineTexts } from "../shared/languages.ts";
import type { Visit } from "../shared/page.ts";
import { actionButton } from "./forms.tsx";
import { Notice } from "./notice.tsx";
import { Time } from "./values.tsx";

const texts = defineTexts({
  asUser: (user: string) => [`You act as ${user}.`, `Você está agindo como ${user}.`],
  inTenant: (
    tenant: string,
  ) => [`You work in ${tenant} without belonging to it.`, `Trabalha em ${tenant} sem pertencer a ele.`],
  readOnly: ["You may only read.", "Só pode ler."],
  ends: ["It ends", "Termina"],
  end: ["End", "Terminar"],
});

/** On every page of a viewer as whom another user acts: who it is, until when, and how to end it. */
export function ActingBanner({ v }: { v: Visit }) {
  const { acting, viewer } = v;
  if (!acting) return null;
  const t = texts[v.locale];
  const who = acting.actorId === viewer.userId
    ? t.inTenant(viewer.tenant?.name ?? "")
    : t.asUser(`${viewer.name} (${viewer.tenant?.name ?? ""})`);
  return (
    <Notice tone="info" title={acting.mayWrite ? who : `${who} ${t.readOnly}`}>
      <div class="row">
        <span>
          {t.ends} <Time v={v} at={acting.expiresAt.toISOString()} />
        </span>
        {actionButton(v, "delegations/end", t.end)}
      </div>
    </Notice>
  );
}
