import { Fields, formView } from "../components/fields.tsx";
import { done, formPage } from "../shared/actions.ts";
import { type ConsolePage, may, optionalField, type Visit } from "../shared/page.ts";
import { pauseTexts } from "./worker_texts.ts";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { pathOfPaused, typePath } from "../shared/job_paths.ts";
import { actingApi, actsHere, reachOf } from "../shared/scope.ts";
import type { Answer } from "../shared/operations.ts";

const REASON_LENGTH = 500;
const permissions = ["manage:jobs"];

type Pause = Answer<"listJobPauses">[number];

/** The form that asks for the reason of a pause, and the action that ends the pause. */
function pagesOf(kind: Pause["kind"], path: string, name: (v: Visit) => string): ConsolePage[] {
  const one = kind === "queue" ? "Queue" : "Type";
  const back = (v: Visit) => pathOfPaused({ kind, name: name(v) });
  const title = (v: Visit) => pauseTitle(v, kind, name(v));
  const result = (v: Visit, text: "nowPaused" | "nowResumed") => {
    const t = pauseTexts[v.locale];
    return done(back(v), t[text](t[kind], name(v), reachOf(v)));
  };
  return [
    formPage({
      path: `${path}/pause`,
      permissions,
      show(v, sent) {
        const t = pauseTexts[v.locale];
        const f = new Fields(v, sent, null);
        return formView(f, {
          title: title(v),
          crumbs: [{ href: back(v), label: name(v) }],
          submit: title(v),
          intro: t.intro(reachOf(v)),
          inputs: f.text("reason", t.reason, { maxlength: REASON_LENGTH, hint: t.reasonHint }),
        });
      },
      async send(v, form) {
        const body = { reason: optionalField(form, "reason") };
        await (await actingApi(v)).call(`pauseJob${one}`, { params: v.params, body });
        return result(v, "nowPaused");
      },
    }),
    {
      path: `${path}/resume`,
      permissions,
      async post(v) {
        await (await actingApi(v)).act(`resumeJob${one}`, v);
        return result(v, "nowResumed");
      },
    },
  ];
}

/** "Pause queue mail in Northwind". */
export function pauseTitle(v: Visit, kind: Pause["kind"], name: string): string {
  const t = pauseTexts[v.locale];
  return t.pauseIt(t[kind].toLowerCase(), name, reachOf(v));
}

/** Pausing and resuming queues and job types. */
export const pausePages: ConsolePage[] = [
  ...pagesOf("queue", "queues/{queue}", ({ params }) => params.queue ?? ""),
  ...pagesOf("type", "job-types/{name}", ({ params }) => params.name ?? ""),
];

/** Returns a function that tells whether a pause holds the waiting jobs of a type in a queue. */
export const holding = (o: { queue: string; jobTypeName: string }) => ({ kind, name }: Pause): boolean =>
  name === (kind === "queue" ? o.queue : o.jobTypeName);

/**
 * Says what is paused, why and since when, with the button to resume it. Nothing is shown while nothing is paused.
 * @param fits selects pauses; absent: all of the scope
 */
export async function PauseBanner({ v, fits = () => true }: { v: Visit; fits?: (pause: Pause) => boolean }) {
  const t = pauseTexts[v.locale];
  const pauses = (await v.api.call("listJobPauses")).filter(fits);
  return pauses.length > 0 && (
    <Notice tone="warn">
      <ul class="pauses">
        {pauses.map((pause) => (
          <li class="row between">
            <span>
              {t[pause.kind]} <a href={pathOfPaused(pause)}>{pause.name}</a> {t.isPaused}
              {pause.scope === "all" && ` ${t.forAll}`}: {pause.reason ?? t.noReason} (<Time
                v={v}
                at={pause.pausedAt}
              />)
            </span>
            <PauseButton v={v} kind={pause.kind} name={pause.name} pause={pause} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/**
 * The button that pauses a queue or a job type in exactly the scope of the page, or ends its pause, for viewers who may. A
 * tenant cannot end a pause for all: members of the platform are led to the whole service.
 */
export function PauseButton({ v, kind, name, pause, label = pauseTexts[v.locale].pauseIn(reachOf(v)) }: {
  v: Visit;
  kind: Pause["kind"];
  name: string;
  pause: Pick<Pause, "scope"> | null;
  /** The label of the button that pauses. */
  label?: string;
}) {
  const t = pauseTexts[v.locale];
  const path = `${kind === "queue" ? "queues" : "job-types"}/${encodeURIComponent(name)}`;
  if (!may(v.viewer, "manage:jobs")) return null;
  if (pause?.scope === "all" && v.scope) {
    const back = kind === "queue" ? "jobs" : typePath(name);
    return v.viewer.isInPlatform &&
      actionButton(v, "tenant", t.toService, { fields: { tenantId: "", back } });
  }
  if (!actsHere(v) || pause?.scope === "tenant" && !v.scope) return null;
  return pause
    ? actionButton(v, `${path}/resume`, t.resumeIn(reachOf(v)), { icon: "play" })
    : buttonLink(`${path}/pause`, label, { icon: "pause" });
}
