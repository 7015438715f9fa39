import { actionButton, buttonLink, deleteButton } from "../components/forms.tsx";
import { choice, listView, timeColumn } from "../components/list.tsx";
import { Fields, formView } from "../components/fields.tsx";
import { Card } from "../components/notice.tsx";
import { pageTabs } from "../components/tabs.tsx";
import { Badge, factList, Time } from "../components/values.tsx";
import { shownOnce } from "../integration/shown_once.tsx";
import { action, actionsOf, done, formPage, notDone, sendTo, type Sent } from "../shared/actions.ts";
import type { Answer } from "../shared/operations.ts";
import {
  type ConsolePage,
  field,
  fieldsIn,
  may,
  type Outcome,
  type View,
  type Visit,
} from "../shared/page.ts";
import { scheduleTexts, targetTexts } from "./texts.ts";

type Target = Answer<"readReportTarget">;

/** Links between the schedules and the targets of their deliveries, for those who may open the targets. */
export const scheduleTabs = (v: Visit, current: "report-schedules" | "report-targets") =>
  may(v.viewer, "manage:webhooks") && pageTabs(scheduleTexts[v.locale].schedules, current, [
    ["report-schedules", scheduleTexts[v.locale].schedules],
    ["report-targets", targetTexts[v.locale].targets],
  ]);

/** The tenant's targets for report deliveries, and the state of the secret of its report webhooks. */
async function targetsPage(v: Visit): Promise<View> {
  const t = targetTexts[v.locale];
  const secret = await v.api.call("readReportWebhookSecret");
  return await listView(v, "listReportTargets", {
    title: t.targets,
    actions: [
      buttonLink("report-targets/new?kind=s3", t.newBucket, { icon: "plus", tone: "primary" }),
      buttonLink("report-targets/new?kind=slack", t.newChat, { icon: "plus" }),
    ],
    top: [scheduleTabs(v, "report-targets"), <SecretCard v={v} secret={secret} />],
    caption: t.caption,
    empty: [t.none, t.noneText],
    filters: [choice("kind", t.kind, { s3: t.s3, slack: t.slack })],
    columns: [
      { head: t.name, sort: "name", cell: ({ id, name }) => <a href={`report-targets/${id}`}>{name}</a> },
      { head: t.kind, cell: ({ kind }) => <Badge tone="idle">{t[kind]}</Badge> },
      {
        head: t.place,
        cell: ({ bucket, prefix }) => bucket && <code>{[bucket, prefix].filter(Boolean).join("/")}</code>,
        below: [[t.endpoint, ({ endpoint }) => endpoint]],
      },
      timeColumn(v, t.changed, "updatedAt", { wideOnly: true }),
    ],
  });
}

function SecretCard({ v, secret }: { v: Visit; secret: Answer<"readReportWebhookSecret"> }) {
  const t = targetTexts[v.locale];
  const { isOwn, createdAt, oldValidUntil } = secret;
  const isOldValid = oldValidUntil !== null && new Date(oldValidUntil) > v.now;
  return (
    <Card
      title={t.webhookSecret}
      actions={actionButton(v, "report-targets/webhook-secret", t.newSecret, {
        icon: "keys",
        confirm: t.rotateConfirm,
      })}
    >
      <p class="muted">{isOwn ? t.ownSecret : t.sharedSecret}</p>
      {factList([
        createdAt && [t.secretCreated, <Time v={v} at={createdAt} />],
        isOldValid && [t.oldSecret, <Time v={v} at={oldValidUntil} />],
      ])}
    </Card>
  );
}

/** Creates a new secret and shows it. It is not shown again. */
async function rotate(v: Visit): Promise<Outcome> {
  const t = targetTexts[v.locale];
  const { secret } = await v.api.call("rotateReportWebhookSecret");
  const back = { href: "report-targets", label: t.back };
  const view = shownOnce(v, { title: t.rotated, secret, label: t.webhookSecret, back });
  return { ...view, crumbs: [{ href: "report-targets", label: t.targets }] };
}

const kindOf = (kind: string | null) => kind === "slack" ? "slack" : "s3";

const newPage = formPage({
  path: "report-targets/new",
  show(v, sent) {
    const kind = kindOf(sent?.form ? field(sent.form, "kind") : v.query.get("kind"));
    return targetForm(v, sent, { kind, pathStyle: true }, null);
  },
  send: sendTo(
    "createReportTarget",
    (form) => ({ kind: kindOf(field(form, "kind")), ...bodyOf(form) }),
    (v, { id }) => done(`report-targets/${id}`, targetTexts[v.locale].created),
  ),
});

const targetPage = formPage({
  path: "report-targets/{id}",
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readReportTarget", { params: v.params });
    return targetForm(v, sent, { ...value, etag }, value);
  },
  send: sendTo(
    "updateReportTarget",
    bodyOf,
    (v, { id }) => done(`report-targets/${id}`, targetTexts[v.locale].saved),
  ),
});

/** The values of the inputs of the target's kind. A secret that was left empty stays unchanged. */
function bodyOf(form: FormData) {
  const secret = (name: string) => field(form, name) === "" ? {} : { [name]: field(form, name) };
  const name = field(form, "name");
  if (field(form, "kind") === "slack") return { name, ...secret("webhookUrl") };
  return {
    name,
    ...fieldsIn(form, "endpoint", "region", "bucket", "prefix", "accessKeyId"),
    pathStyle: form.get("pathStyle") === "true",
    ...secret("secretAccessKey"),
  };
}

function targetForm(
  v: Visit,
  sent: Sent | null,
  values: Record<string, unknown>,
  target: Target | null,
): View {
  const t = targetTexts[v.locale];
  const f = new Fields(v, sent, "createReportTarget", values);
  const here = target ? `report-targets/${target.id}` : "report-targets/new";
  const isBucket = values.kind === "s3";
  const kept = target ? { hint: t.keptSecret } : {};
  return formView(f, {
    title: target?.name ?? (isBucket ? t.newBucket : t.newChat),
    crumbs: [{ href: "report-targets", label: t.targets }],
    actions: target && [
      actionButton(v, `${here}/test`, t.test, { icon: "play", tone: "primary" }),
      deleteButton(v, `${here}/delete`, t.removeConfirm(target.name)),
    ],
    inputs: [
      <input type="hidden" name="kind" value={String(values.kind)} />,
      f.text("name", t.name, { required: true }),
      isBucket
        ? [
          f.text("endpoint", t.endpoint, { type: "url", required: true, hint: t.endpointHint }),
          <div class="pair">
            {f.text("bucket", t.bucket, { required: true })}
            {f.text("prefix", t.prefix, { hint: t.prefixHint })}
            {f.text("region", t.region, { placeholder: "us-east-1" })}
            {f.text("accessKeyId", t.accessKeyId, { required: true })}
          </div>,
          f.text("secretAccessKey", t.secretAccessKey, {
            type: "password",
            required: !target,
            autocomplete: "off",
            ...kept,
          }),
          f.check("pathStyle", t.pathStyle),
        ]
        : f.text("webhookUrl", t.webhookUrl, {
          type: "password",
          required: !target,
          autocomplete: "off",
          hint: target ? t.keptSecret : t.webhookUrlHint,
        }),
    ],
  });
}

const forManagers = (pages: ConsolePage[]): ConsolePage[] =>
  pages.map((page) => ({ ...page, permissions: ["manage:webhooks"] }));

export const targetPages: ConsolePage[] = forManagers([
  { path: "report-targets", get: targetsPage },
  { path: "report-targets/webhook-secret", post: rotate },
  newPage,
  targetPage,
  action("report-targets/{id}/test", "testReportTarget", (v, { succeeded, reason }) => {
    const t = targetTexts[v.locale];
    const path = `report-targets/${v.params.id}`;
    if (succeeded) return done(path, t.tested);
    return notDone(path, t.testFailed(reason ?? ""));
  }),
  ...actionsOf("report-targets/{id}", targetTexts, {
    delete: ["deleteReportTarget", "removed", "report-targets"],
  }),
]);
