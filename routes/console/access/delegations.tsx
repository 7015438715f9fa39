import { actInBrowser } from "../../../domain/access/sign_in/browser_session.ts";
import { endDelegation } from "../../../domain/access/delegations/delegate.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { Fields, formView } from "../components/fields.tsx";
import { localOf } from "../components/date_inputs.ts";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { actionsColumn, listView, timeColumn } from "../components/list.tsx";
import { userName } from "../shared/access_queries.ts";
import { actionsOf, done, formPage } from "../shared/actions.ts";
import { searchOf } from "../shared/api.ts";
import type { Answer, Row } from "../shared/operations.ts";
import { type ConsolePage, field, may, type Outcome, type Visit } from "../shared/page.ts";
import { userCrumbs, usersCrumb, UserTabs } from "./users/model.tsx";
import { delegationTexts } from "./users/texts.ts";

type Delegation = Row<"listDelegations">;
const permissions = ["act-as:users"];

const bodyOf = (form: FormData) => ({
  reason: field(form, "reason"),
  minutes: Number(field(form, "minutes")),
  mayWrite: form.get("mayWrite") === "true",
});

/** The fields of a new delegation. */
export function delegationFields(f: Fields) {
  const t = delegationTexts[f.v.locale];
  const minutes = ["15", "30", "60"].map((value) => ({ value, label: t.minutesOf(value) }));
  return [
    f.text("reason", t.reason, { hint: t.reasonHint, required: true }),
    f.select("minutes", t.minutes, minutes),
    f.check("mayWrite", t.mayWrite),
  ];
}

/** The browser acts by a delegation that was opened; one that waits for the user's consent is shown in the list. */
async function begin(
  p: ServicePlatform,
  v: Visit,
  { delegation, accessToken }: Answer<"actAsUser">,
): Promise<Outcome> {
  if (accessToken === null) return done("delegations", delegationTexts[v.locale].asked(delegation.userName));
  await actInBrowser(p.sql, v.secret, delegation.id);
  return { goTo: "" };
}

/** Works in a tenant without a link to it. The form of `work-in/{id}` calls it. */
export const beginWork = async (
  p: ServicePlatform,
  v: Visit,
  tenantId: string,
  form: FormData,
): Promise<Outcome> =>
  await begin(p, v, await v.api.call("workInTenant", { params: { tenantId }, body: bodyOf(form) }));

/** Pages to act as a user, and the list of who did. */
export const delegationPages = (p: ServicePlatform): ConsolePage[] => [
  formPage({
    path: "users/{id}/act-as",
    permissions,
    async show(v, sent) {
      const t = delegationTexts[v.locale];
      const user = await v.api.call("readUser", { params: v.params });
      const f = new Fields(v, sent, "actAsUser", { minutes: "15" });
      return formView(f, {
        title: t.viewAs(userName(user)),
        crumbs: userCrumbs(v, user),
        above: <p class="muted">{t.viewAsText}</p>,
        submit: t.viewAs(userName(user)),
        inputs: delegationFields(f),
      });
    },
    send: async (v, form) =>
      await begin(p, v, await v.api.call("actAsUser", { params: v.params, body: bodyOf(form) })),
  }),
  { path: "delegations", permissions, get: listPage },
  {
    path: "delegations/{id}/open",
    permissions,
    post: async (v) => await begin(p, v, await v.api.call("openDelegation", { params: v.params })),
  },
  ...actionsOf("delegations/{id}", delegationTexts, { end: ["endDelegation", "ended", "delegations"] }),
  {
    // The acting user's own session ends it, because the delegation may not change what is the user's own.
    path: "delegations/end",
    fitsEveryTenant: true,
    forEnrolling: true,
    async post(v) {
      if (!v.acting) return { goTo: "" };
      const { sessionId, actorId } = v.acting;
      const actor = {
        ...v.actor,
        userId: actorId,
        actedBy: null,
        boundTo: null,
        permissions: new Set<string>(),
      };
      await endDelegation(p, actor, sessionId);
      return done("", delegationTexts[v.locale].ended);
    },
  },
];

function listPage(v: Visit) {
  const t = delegationTexts[v.locale];
  return listView(v, "listDelegations", {
    title: t.title,
    crumbs: [usersCrumb(v)],
    top: <UserTabs v={v} current="delegations" />,
    caption: t.title,
    empty: [t.none, t.noneText],
    columns: [
      { head: t.actor, cell: ({ actorName }) => actorName },
      { head: t.user, cell: ({ userId, actorId, userName }) => userId === actorId ? t.worksHere : userName },
      { head: t.reason, cell: ({ reason }) => reason, wideOnly: true },
      { head: t.status, cell: ({ status }) => t[status] },
      timeColumn<Delegation>(v, t.created, "createdAt"),
      actionsColumn(v, ({ id, actorId, status, ...rest }) => [
        changesLink(v, rest),
        actorId === v.viewer.userId && (status === "Allowed" || status === "Open") &&
        actionButton(v, `delegations/${id}/open`, t.begin),
        status === "Open" && actionButton(v, `delegations/${id}/end`, t.end),
      ]),
    ],
  });
}

type Opened = Pick<Delegation, "userId" | "openedAt" | "endedAt" | "expiresAt">;

/** The link to the changes while it was open. The audit log has them as those of the user, and names the actor too. */
function changesLink(v: Visit, { userId, openedAt, endedAt, expiresAt }: Opened) {
  if (!openedAt || !may(v.viewer, "read:users")) return null;
  const to = new Date(Date.parse(endedAt ?? expiresAt ?? openedAt) + 60_000).toISOString();
  const changes = { actor: userId, from: localOf(v, openedAt), to: localOf(v, to) };
  return buttonLink(`audit${searchOf(changes)}`, delegationTexts[v.locale].changes, { icon: "audit" });
}
