import { actionButton, buttonLink } from "../../components/forms.tsx";
import { Fields, formView } from "../../components/fields.tsx";
import { actionsColumn, choice, listView, text, timeColumn } from "../../components/list.tsx";
import { Time } from "../../components/values.tsx";
import { action, actionsOf, done, formPage, sendTo } from "../../shared/actions.ts";
import { chosenTenant } from "../../shared/access_queries.ts";
import type { Row } from "../../shared/operations.ts";
import { type ConsolePage, fieldsIn, may, type View, type Visit } from "../../shared/page.ts";
import { roleInputs, rolesIn } from "./form.tsx";
import { usersCrumb, UserTabs } from "./model.tsx";
import { userTexts } from "./texts.ts";
import { defineStates } from "../../components/states.tsx";

type Invitation = Row<"listInvitations">;

const invitationStates = defineStates<Invitation["status"]>({
  Pending: ["info", "Open", "Aberto"],
  Expired: ["idle", "Expired", "Expirado"],
  Accepted: ["ok", "Accepted", "Aceite"],
  Revoked: ["idle", "Revoked", "Revogado"],
});

/** The tenant's invitations; open ones can be sent again and revoked. */
async function invitationsPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const mayInvite = may(v.viewer, "create:users");
  return await listView(v, "listInvitations", {
    title: t.invitations,
    crumbs: [usersCrumb(v)],
    actions: mayInvite && buttonLink("invitations/new", t.invite, { icon: "plus", tone: "primary" }),
    caption: t.invitations,
    empty: [t.noInvitations, t.noInvitationsText],
    top: <UserTabs v={v} current="invitations" />,
    filters: [
      text("email", t.email, { maxlength: 320 }),
      choice("status", t.status, invitationStates.choices(v)),
    ],
    columns: async (rows) => {
      const resends = await countResends(v, rows);
      return [
        {
          head: t.email,
          cell: ({ email, userId }) => userId ? <a href={`users/${userId}`}>{email}</a> : email,
        },
        {
          head: t.roles,
          cell: ({ roles }) => roles.map(({ name }) => name).join(", ") || t.noRoles,
          wideOnly: true,
        },
        { head: t.status, cell: ({ status }) => invitationStates.badge(v, status) },
        timeColumn(v, t.invitedAt, "createdAt"),
        {
          head: t.sentAgain,
          cell: ({ id, sentAt }) => {
            const count = resends.get(id);
            return count !== undefined && [
              t.times(count),
              <span class="sub">
                <Time v={v} at={sentAt} />
              </span>,
            ];
          },
        },
        timeColumn(v, t.validUntil, "expiresAt", { wideOnly: true }),
        actionsColumn(
          v,
          ({ id, email, status }) =>
            mayInvite && (status === "Pending" || status === "Expired") && (
              <span class="row end">
                {actionButton(v, `invitations/${id}/resend`, t.resend, { confirm: t.resendConfirm(email) })}
                {actionButton(v, `invitations/${id}/revoke`, t.revoke, {
                  tone: "danger",
                  confirm: t.revokeInvitationConfirm(email),
                  confirmLabel: t.revokeInvitationNamed,
                })}
              </span>
            ),
        ),
      ];
    },
  });
}

/** How often each invitation was sent again, by its id; not those that were sent once. The audit log knows it. */
async function countResends(v: Visit, rows: Invitation[]): Promise<Map<string, number>> {
  const sentAgain = rows.filter(({ sentAt, createdAt }) => sentAt !== createdAt);
  const counts = sentAgain.map(async ({ id }): Promise<[string, number]> => {
    const query = { action: "invitation.resend", targetId: id, pageSize: 1 };
    return [id, (await v.api.call("readAuditLog", { query })).totalCount];
  });
  return new Map(await Promise.all(counts));
}

/** The form that invites a person to the viewer's tenant. */
const invitePage = formPage({
  path: "invitations/new",
  permissions: ["create:users"],
  async show(v, sent) {
    const t = userTexts[v.locale];
    const tenant = chosenTenant(v);
    const f = new Fields(v, sent, "inviteUser", { email: v.query.get("email") ?? "" });
    return formView(f, {
      title: t.invite,
      crumbs: [usersCrumb(v), { href: "invitations", label: t.invitations }],
      submit: t.sendInvitation,
      inputs: [
        f.text("email", t.email, { type: "email", hint: t.inviteHint }),
        <div class="pair">
          {f.text("firstName", t.firstName)}
          {f.text("lastName", t.lastName)}
        </div>,
        await roleInputs(f, tenant),
      ],
    });
  },
  send: sendTo(
    "inviteUser",
    (form) => ({
      ...fieldsIn(form, "email", "firstName", "lastName"),
      roleIds: rolesIn(form),
    }),
    (v, { email }) => done("invitations", userTexts[v.locale].invited(email)),
  ),
});

export const invitationPages: ConsolePage[] = [
  { path: "invitations", permissions: ["read:users"], get: invitationsPage },
  invitePage,
  action(
    "invitations/{id}/resend",
    "resendInvitation",
    (v, { email }) => done("invitations", userTexts[v.locale].invitedAgain(email)),
    ["create:users"],
  ),
  ...actionsOf("invitations/{id}", userTexts, {
    revoke: ["revokeInvitation", "invitationRevoked", "invitations"],
  }, ["create:users"]),
];
