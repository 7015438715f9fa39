import { orNull, type Page } from "../../shared/api.ts";
import { actionButton, buttonLink, deleteButton } from "../../components/forms.tsx";
import { actionsColumn, timeColumn } from "../../components/list.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { cellOf, dataTable, tableCard } from "../../components/table.tsx";
import {
  ActiveBadge,
  Badge,
  bulletList,
  Codes,
  CopyValue,
  factList,
  Time,
  timelineFact,
} from "../../components/values.tsx";
import type { Row } from "../../shared/operations.ts";
import { may, mayInFiles, type View, type Visit } from "../../shared/page.ts";
import { hasUserData, managesAllUsers, userName } from "../../shared/access_queries.ts";
import { everywhere, inTenantOf } from "../../shared/scope.ts";
import { type AnyUser, readUser, statusColumn, type UserLink } from "./model.tsx";
import { dataTexts, delegationTexts, userTexts } from "./texts.ts";
import { type File, fileBadge } from "../../files/model.tsx";
import { channelLabel, messageStates, type Summary } from "../../notifications/status.tsx";

type Session = Row<"listUserSessions">;

/** One user: profile, tenants and roles, permissions and sessions. */
export async function userPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const { value: user } = await readUser(v);
  const isSelf = user.id === v.viewer.userId;
  const { id } = user;
  const byUser = { params: { userId: id } };
  const isIn = v.viewer.tenant !== null;
  const mayChange = managesAllUsers(v) || may(v.viewer, "update:users");
  const [links, permissions, sessions, messages, files] = await Promise.all([
    managesAllUsers(v)
      ? v.api.call("listUserTenantsAnywhere", { params: { id } })
      : v.api.call("listUserTenants", byUser),
    isIn && may(v.viewer, "read:users") ? orNull(v.api.call("listUserPermissions", byUser)) : null,
    mayChange ? readSessions(v, id) : null,
    isIn && may(v.viewer, "send:notifications")
      ? orNull(v.api.call("listNotifications", { query: { userId: id, pageSize: NEWEST, ...everywhere(v) } }))
      : null,
    isIn && mayInFiles(v.viewer, "read:files")
      ? orNull(v.api.call("listFiles", { query: { createdBy: id, pageSize: NEWEST } }))
      : null,
  ]);
  return {
    title: userName(user),
    actions: <Actions v={v} user={user} links={links} isSelf={isSelf} />,
    body: [
      <Card title={t.profile}>
        {factList([
          [t.status, cellOf(statusColumn(v), user)],
          [t.email, <CopyValue v={v} value={user.email} />],
          [t.phone, user.phoneNumber],
          [t.secondFactor, user.hasSecondFactor ? t.yes : t.no],
          [t.lastSignIn, user.lastLoginAt ? <Time v={v} at={user.lastLoginAt} /> : t.never],
          [t.created, <Time v={v} at={user.createdAt} />],
          [t.changed, <Time v={v} at={user.updatedAt} />],
          [t.apps, user.appIds.length > 0 ? user.appIds.join(", ") : null],
          [t.userId, <CopyValue v={v} value={user.id} />],
          timelineFact(v, { userId: user.id }),
        ])}
      </Card>,
      linksCard(v, user, links),
      permissions && (
        <Card title={`${t.permissions}: ${v.viewer.tenant?.name ?? ""}`}>
          <Codes codes={permissions} label={t.permissionsCaption} empty={t.noPermissions} />
        </Card>
      ),
      messages && messagesCard(v, id, messages),
      files && filesCard(v, id, files),
      sessions && <SessionsCard v={v} user={user} sessions={sessions} />,
      mayChange && !sessions && (
        <Card title={t.sessions}>
          <p class="muted">{t.sessionsElsewhere}</p>
        </Card>
      ),
    ],
  };
}

/** The open sessions; null if the user is active in other tenants too, and the viewer does not manage all users. */
const readSessions = (v: Visit, id: string): Promise<Session[] | null> =>
  managesAllUsers(v)
    ? v.api.call("listUserSessions", { params: { id } })
    : orNull(v.api.call("listTenantUserSessions", { params: { id } }));

function Actions(
  { v, user, links, isSelf }: { v: Visit; user: AnyUser; links: UserLink[]; isSelf: boolean },
) {
  const t = userTexts[v.locale];
  const everywhere = managesAllUsers(v);
  const at = `users/${user.id}`;
  const mayDelete = (everywhere || may(v.viewer, "delete:users")) && !isSelf;
  // One acts as a user in one tenant: the viewer's own if the user is in it, else that of the user.
  const isHere = links.some(({ tenantId }) => tenantId === v.viewer.tenant?.id);
  const tenant = isHere
    ? v.viewer.tenant?.id
    : (links.find(({ isDefault }) => isDefault) ?? links[0])?.tenantId;
  return (
    <>
      {may(v.viewer, "read:users") &&
        buttonLink(`audit?targetType=user&targetId=${user.id}`, t.history, { icon: "audit" })}
      {hasUserData(v) && (everywhere || may(v.viewer, "export:users") || may(v.viewer, "erase:users")) &&
        buttonLink(`${at}/data`, dataTexts[v.locale].title, { icon: "files" })}
      {buttonLink(`explain-access?userId=${user.id}`, t.explain, { icon: "access" })}
      {may(v.viewer, "act-as:users") && tenant && !v.acting && user.isActive && !isSelf &&
        buttonLink(
          inTenantOf(v, tenant, `${at}/act-as`),
          delegationTexts[v.locale].viewAs(userName(user)),
          { icon: "users" },
        )}
      {(everywhere || may(v.viewer, "update:users")) && [
        user.isLockedOut && actionButton(v, `${at}/unlock`, t.unlock, { icon: "lock" }),
        !user.isActive && actionButton(v, `${at}/activate`, t.activate),
        user.isActive && !isSelf &&
        actionButton(v, `${at}/deactivate`, t.deactivate, {
          confirm: t.deactivateConfirm(user.email),
          confirmLabel: t.deactivateNamed(userName(user)),
        }),
        user.isActive &&
        actionButton(v, `${at}/send-reset`, t.sendReset, { confirm: t.sendResetConfirm(user.email) }),
        user.hasSecondFactor && !isSelf &&
        actionButton(v, `${at}/remove-factors`, t.removeFactors, {
          confirm: t.removeFactorsConfirm(user.email),
        }),
        buttonLink(`${at}/edit`, t.edit, { tone: "primary" }),
      ]}
      {mayDelete &&
        deleteButton(
          v,
          `${at}/delete`,
          everywhere ? t.deleteConfirm(user.email) : t.removeConfirm(user.email),
          {
            label: everywhere ? t.deleteUser : t.removeUser,
            confirmLabel: everywhere ? t.deleteNamed(userName(user)) : t.removeNamed(userName(user)),
          },
        )}
    </>
  );
}

function linksCard(v: Visit, user: AnyUser, links: UserLink[]) {
  const t = userTexts[v.locale];
  const actions = managesAllUsers(v)
    ? [
      links.length > 0 && buttonLink(`users/${user.id}/links`, t.editLinks),
      buttonLink(`users/${user.id}/links/new`, t.addLink, { icon: "plus" }),
    ]
    : may(v.viewer, "update:users") && may(v.viewer, "read:roles") &&
      buttonLink(`users/${user.id}/roles`, t.editRoles);
  const empty = <Empty icon="tenants" title={t.noLinks}>{t.noLinksText}</Empty>;
  return tableCard(t.linksTitle, links, empty, [
    {
      head: t.tenant,
      cell: ({ tenantId, tenantName, isTenantActive, isDefault }) => (
        <span class="row">
          {may(v.viewer, "read:tenants") && v.viewer.tenant
            ? <a href={`tenants/${tenantId}`}>{tenantName}</a>
            : tenantName}
          {isDefault && <Badge tone="info">{t.defaultLink}</Badge>}
          {!isTenantActive && <Badge tone="warn">{t.tenantInactive}</Badge>}
        </span>
      ),
    },
    {
      head: t.roles,
      cell: ({ roles, tenantId }) =>
        roles.length === 0 ? <span class="muted">{t.noRoles}</span> : bulletList(
          roles,
          ({ id, name }) =>
            tenantId === v.viewer.tenant?.id && may(v.viewer, "read:roles")
              ? <a href={`roles/${id}`}>{name}</a>
              : name,
          { look: "row tags" },
        ),
    },
    { head: t.linkState, cell: ({ isActive }) => <ActiveBadge v={v} isActive={isActive} /> },
    { head: t.externalId, cell: ({ externalId }) => externalId ?? "–", wideOnly: true },
    timeColumn(v, t.created, "createdAt", { wideOnly: true }),
  ], { caption: t.linksCaption, actions });
}

function SessionsCard({ v, user, sessions }: { v: Visit; user: AnyUser; sessions: Session[] }) {
  const t = userTexts[v.locale];
  const at = `users/${user.id}/sessions`;
  return (
    <Card
      title={t.sessions}
      actions={sessions.length > 0 && user.id !== v.viewer.userId &&
        actionButton(v, `${at}/end-all`, t.endAll, { tone: "danger", confirm: t.endAllConfirm(user.email) })}
    >
      {sessionTable(v, t.sessionsCaption, sessions, at)}
    </Card>
  );
}

/** The open sessions of a user. @param at the address below which sessions are ended */
export function sessionTable(v: Visit, caption: string, sessions: Session[], at: string) {
  const t = userTexts[v.locale];
  return dataTable(caption, sessions, t.noSessions, [
    {
      head: t.device,
      cell: ({ userAgent, isCurrent }) => (
        <>
          {userAgent ?? "–"} {isCurrent && <Badge tone="info">{t.currentSession}</Badge>}
        </>
      ),
    },
    { head: t.address, cell: ({ ip }) => <span class="nowrap">{ip ?? "–"}</span>, wideOnly: true },
    timeColumn(v, t.started, "createdAt"),
    timeColumn(v, t.lastUsed, "lastUsedAt", { wideOnly: true }),
    actionsColumn(
      v,
      ({ id, isCurrent }) =>
        !isCurrent &&
        actionButton(v, `${at}/${id}/end`, t.endSession, { tone: "danger", confirm: t.endSessionConfirm }),
    ),
  ]);
}

/** Number of messages and files that are shown. */
const NEWEST = 5;

/** The newest messages that the user received, with a link to the whole list. */
function messagesCard(v: Visit, userId: string, { items, totalCount }: Page<Summary>) {
  const t = userTexts[v.locale];
  const { tenant } = v.viewer;
  const none = everywhere(v).everywhere || !tenant ? t.noMessages : t.noMessagesHere(tenant.name);
  return tableCard<Summary>(t.messages, items, none, [
    {
      head: t.subject,
      cell: ({ id, tenantId, subject, templateSlug }) => (
        <a href={inTenantOf(v, tenantId, `notifications/${id}`)}>
          {subject ?? templateSlug ?? t.noSubject}
        </a>
      ),
    },
    { head: t.channel, cell: ({ channel }) => channelLabel(v.locale, channel), wideOnly: true },
    { head: t.status, cell: ({ status }) => messageStates.badge(v, status) },
    timeColumn(v, t.sentAt, "createdAt"),
  ], { actions: totalCount > NEWEST && buttonLink(`notifications?userId=${userId}`, t.showAll) });
}

function filesCard(v: Visit, userId: string, { items, totalCount }: Page<File>) {
  const t = userTexts[v.locale];
  return tableCard<File>(`${t.files}: ${v.viewer.tenant?.name ?? ""}`, items, t.noFiles, [
    { head: t.file, cell: ({ id, fileName }) => <a href={`files/${id}`}>{fileName}</a> },
    { head: t.status, cell: (file) => fileBadge(v, file) },
    timeColumn(v, t.created, "createdAt"),
  ], { actions: totalCount > NEWEST && buttonLink(`files?createdBy=${userId}`, t.showAll) });
}
