import { actionButton } from "../components/forms.tsx";
import { Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { searchOf } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import { may, type Visit } from "../shared/page.ts";
import { pauseTexts } from "./pause_texts.ts";

type Pause = Answer<"listJobPauses">[number];

/** Says what is paused, why and since when, with the button to resume it. Nothing is shown while nothing is paused. */
export function PauseBanner({ v, pauses }: { v: Visit; pauses: Pause[] }) {
  if (pauses.length === 0) return null;
  return (
    <Notice tone="warn">
      <ul class="pauses">
        {pauses.map((pause) => (
          <li class="row between">
            <PauseText v={v} pause={pause} />
            <ResumeButton v={v} pause={pause} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function PauseText({ v, pause: { kind, name, scope, reason, pausedAt } }: { v: Visit; pause: Pause }) {
  const t = pauseTexts[v.locale];
  const href = kind === "queue"
    ? `jobs${searchOf({ queue: name, internal: "shown" })}`
    : `job-types/${encodeURIComponent(name)}`;
  return (
    <span>
      {kind === "queue" ? t.queueIs : t.typeIs} <a href={href}>{name}</a> {t.isPaused}
      {scope === "all" && ` ${t.forAll}`}: {reason ?? t.noReason} (<Time v={v} at={pausedAt} />)
    </span>
  );
}

/** The button that ends a pause, for viewers who may end it. A tenant cannot end a pause for all. */
export function ResumeButton({ v, pause: { kind, name, scope } }: {
  v: Visit;
  pause: Pick<Pause, "kind" | "name" | "scope">;
}) {
  const isOwn = scope === (v.viewer.tenant ? "tenant" : "all");
  if (!isOwn || !may(v.viewer, "manage:jobs")) return null;
  const path = kind === "queue" ? "queues" : "job-types";
  const t = pauseTexts[v.locale];
  return actionButton(v, `${path}/${encodeURIComponent(name)}/resume`, t.resume, { icon: "play" });
}
