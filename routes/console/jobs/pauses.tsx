import { Fields, formView } from "../components/fields.tsx";
import { action, done, formPage, showing } from "../shared/actions.ts";
import { type ConsolePage, optionalField, type Visit } from "../shared/page.ts";
import { pauseTexts } from "./pause_texts.ts";

const REASON_LENGTH = 500;
const permissions = ["manage:jobs"];

const jobsOf = (queue: string | undefined): string =>
  `jobs?${new URLSearchParams({ queue: queue ?? "", internal: "shown" })}`;
const typePage = ({ params: { name = "" } }: Visit): string => `job-types/${encodeURIComponent(name)}`;

/** A form that asks for the reason of a pause. */
const pausePage = (
  { path, title, back, send }: {
    path: string;
    title(v: Visit): string;
    back(v: Visit): { href: string; label: string };
    send(v: Visit, reason: string | undefined): Promise<string>;
  },
) =>
  formPage({
    path,
    permissions,
    show(v, sent) {
      const t = pauseTexts[v.locale];
      const f = new Fields(v, sent, null);
      return formView(f, {
        title: title(v),
        crumbs: [back(v)],
        submit: t.pause,
        intro: v.viewer.tenant ? t.intro : t.introAll,
        inputs: f.text("reason", t.reason, { maxlength: REASON_LENGTH, hint: t.reasonHint }),
      });
    },
    send: async (v, form) => done(back(v).href, await send(v, optionalField(form, "reason"))),
  });

/** Pausing and resuming queues and job types. */
export const pausePages: ConsolePage[] = [
  pausePage({
    path: "queues/{queue}/pause",
    title: (v) => pauseTexts[v.locale].pauseQueue(v.params.queue ?? ""),
    back: (v) => ({ href: jobsOf(v.params.queue), label: v.params.queue ?? "" }),
    async send(v, reason) {
      await v.api.call("pauseJobQueue", { params: v.params, body: { reason } });
      return pauseTexts[v.locale].queuePaused;
    },
  }),
  pausePage({
    path: "job-types/{name}/pause",
    title: (v) => pauseTexts[v.locale].pauseType(v.params.name ?? ""),
    back: (v) => ({ href: typePage(v), label: v.params.name ?? "" }),
    async send(v, reason) {
      await v.api.call("pauseJobType", { params: v.params, body: { reason } });
      return pauseTexts[v.locale].typePaused;
    },
  }),
  action(
    "queues/{queue}/resume",
    "resumeJobQueue",
    showing("jobs?queue={queue}&internal=shown", pauseTexts, "queueResumed"),
    permissions,
  ),
  action(
    "job-types/{name}/resume",
    "resumeJobType",
    showing("job-types/{name}", pauseTexts, "typeResumed"),
    permissions,
  ),
];
