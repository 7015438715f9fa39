import { Fields, formView } from "../components/fields.tsx";
import { done, formPage } from "../shared/actions.ts";
import { type ConsolePage, may, optionalField, type Visit } from "../shared/page.ts";
import { pauseTexts } from "./worker_texts.ts";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { pathOfPaused, queuePath, typePath } from "../shared/job_paths.ts";
import { actingApi, actsHere, reachOf } from "../shared/scope.ts";
import type { Answer } from "../shared/operations.ts";

const REASON_LENGTH = 500;
const permissions = ["manage:jobs"];

type Kind = "Queue" | "Type";

/** The form that asks for the reason of a pause, and the action that ends the pause. */
const pagesOf = (
  kind: Kind,
  path: string,
  name: (v: Visit) => string,
  pathOf: (name: string) => string,
): ConsolePage[] => {
  const back = (v: Visit) => pathOf(name(v));
  const title = (v: Visit) => pauseTexts[v.locale][`pause${kind}`](name(v), reachOf(v));
  const result = (v: Visit, state: "Paused" | "Resumed") => {
    const key = `${kind === "Queue" ? "queue" : "type"}${state}` as const;
    return done(back(v), pauseTexts[v.locale][key](name(v), reachOf(v)));
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
        await (await actingApi(v)).call(`pauseJob${kind}`, { params: v.params, body });
        return result(v, "Paused");
      },
    }),
    {
      path: `${path}/resume`,
      permissions,
      async post(v) {
        await (await actingApi(v)).act(`resumeJob${kind}`, v);
        return result(v, "Resumed");
      },
    },
  ];
};

/** Pausing and resuming queues and job types. */
export const pausePages: ConsolePage[] = [
  ...pagesOf("Queue", "queues/{queue}", ({ params }) => params.queue ?? "", queuePath),
  ...pagesOf("Type", "job-types/{name}", ({ params }) => params.name ?? "", typePath),
];

type Pause = Answer<"listJobPauses">[number];

/** The pauses that hold the waiting jobs of a type in a queue. */
export const pausesOf = (pauses: Pause[], o: { queue: string; jobTypeName: string }): Pause[] =>
  pauses.filter(({ kind, name }) => name === (kind === "queue" ? o.queue : o.jobTypeName));

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
  return (
    <span>
      {kind === "queue" ? t.queueIs : t.typeIs} <a href={pathOfPaused({ kind, name })}>{name}</a> {t.isPaused}
      {scope === "all" && ` ${t.forAll}`}: {reason ?? t.noReason} (<Time v={v} at={pausedAt} />)
    </span>
  );
}

/** The path of the actions on a queue or a job type. */
const actionsPath = ({ kind, name }: Pick<Pause, "kind" | "name">): string =>
  `${kind === "queue" ? "queues" : "job-types"}/${encodeURIComponent(name)}`;

/** The button that pauses in exactly the scope of the page, for viewers who may. */
export const pauseButton = (
  v: Visit,
  kind: Pause["kind"],
  name: string,
  label = pauseTexts[v.locale].pauseIn(reachOf(v)),
) =>
  actsHere(v) && may(v.viewer, "manage:jobs") &&
  buttonLink(`${actionsPath({ kind, name })}/pause`, label, { icon: "pause" });

/**
 * The button that ends a pause, for viewers who may end it. A tenant cannot end a pause for all: members of the platform
 * are led to the whole service.
 */
export function ResumeButton({ v, pause: { kind, name, scope } }: {
  v: Visit;
  pause: Pick<Pause, "kind" | "name" | "scope">;
}) {
  const t = pauseTexts[v.locale];
  if (!may(v.viewer, "manage:jobs")) return null;
  if (v.scope && scope === "all") {
    const back = kind === "queue" ? "jobs" : typePath(name);
    return v.viewer.isInPlatform &&
      actionButton(v, "tenant", t.toService, { fields: { tenantId: "", back } });
  }
  if (!v.scope && scope === "tenant" || !actsHere(v)) return null;
  return actionButton(v, `${actionsPath({ kind, name })}/resume`, t.resumeIn(reachOf(v)), { icon: "play" });
}
