import type { Child } from "hono/jsx";
import type { z } from "zod";
import type { OwnSessionDto } from "../../../auth/shapes.ts";
import { ActionButton, ButtonLink } from "../../components/forms.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Badge, CopyValue, Facts, Time } from "../../components/values.tsx";
import { shared } from "../../shared/console_words.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { orNull, reachesUsers } from "../reading.ts";
import { type AnyUser, nameOf, readUser, userCrumbs, type UserLink, usersPath, UserState } from "./model.tsx";
import { words } from "./words.ts";

type Session = z.output<typeof OwnSessionDto>;

/** One user: who they are, where they belong, what they may do, where they are signed in. */
export async function userPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const { value: user } = await readUser(v);
  const isSelf = user.id === v.viewer.userId;
  const [links, permissions, sessions] = await Promise.all([
    v.api.get<UserLink[]>(`${usersPath(v)}/${user.id}/tenants`),
    v.viewer.tenant && may(v.viewer, "read:users")
      ? orNull(v.api.get<string[]>(`users/${user.id}/permissions`))
      : null,
    reachesUsers(v) ? v.api.get<Session[]>(`admin/users/${user.id}/sessions`) : null,
  ]);
  return {
    title: nameOf(user),
    crumbs: userCrumbs(v),
    actions: <Actions v={v} user={user} isSelf={isSelf} />,
    body: (
      <>
        <Card title={w.profile}>
          <Facts
            facts={[
              [w.state, <UserState v={v} user={user} />],
              [w.email, <CopyValue v={v} value={user.email} />],
              [w.phone, user.phoneNumber],
              ...user.lastLoginAt === undefined ? [] : [lastSignIn(v, user.lastLoginAt)],
              [w.created, <Time v={v} at={user.createdAt} />],
              [w.changed, <Time v={v} at={user.updatedAt} />],
              [w.apps, user.appIds.length > 0 ? user.appIds.join(", ") : null],
              [w.userId, <CopyValue v={v} value={user.id} />],
            ]}
          />
        </Card>
        <LinksCard v={v} user={user} links={links} />
        {permissions && (
          <Card title={`${w.permissionsTitle}: ${v.viewer.tenant?.name ?? ""}`}>
            {permissions.length === 0
              ? <p class="muted">{w.noPermissions}</p>
              : (
                <ul class="row tags" aria-label={w.permissionsCaption}>
                  {permissions.map((code) => (
                    <li>
                      <code>{code}</code>
                    </li>
                  ))}
                </ul>
              )}
          </Card>
        )}
        {sessions && <SessionsCard v={v} user={user} sessions={sessions} />}
      </>
    ),
  };
}

const lastSignIn = (v: Visit, at: string | null): [string, Child] => [
  words[v.locale].lastSignIn,
  at ? <Time v={v} at={at} /> : shared[v.locale].never,
];

function Actions({ v, user, isSelf }: { v: Visit; user: AnyUser; isSelf: boolean }) {
  const w = words[v.locale];
  const everywhere = reachesUsers(v);
  const at = `users/${user.id}`;
  const mayDelete = (everywhere || may(v.viewer, "delete:users")) && !isSelf;
  return (
    <>
      {may(v.viewer, "read:users") && (
        <ButtonLink href={`audit?targetType=user&targetId=${user.id}`} label={w.history} icon="audit" />
      )}
      {everywhere && <ButtonLink href={`explain-access?userId=${user.id}`} label={w.explain} icon="access" />}
      {everywhere && user.isLockedOut && (
        <ActionButton v={v} action={`${at}/unlock`} label={w.unlock} icon="lock" />
      )}
      {(everywhere || may(v.viewer, "update:users")) && (
        <>
          {!user.isActive && <ActionButton v={v} action={`${at}/activate`} label={w.activate} />}
          {user.isActive && !isSelf && (
            <ActionButton
              v={v}
              action={`${at}/deactivate`}
              label={w.deactivate}
              confirm={w.deactivateConfirm(user.email)}
            />
          )}
          <ButtonLink href={`${at}/edit`} label={w.edit} tone="primary" />
        </>
      )}
      {mayDelete && (
        <ActionButton
          v={v}
          action={`${at}/delete`}
          label={everywhere ? w.deleteUser : w.removeUser}
          tone="danger"
          icon="trash"
          confirm={everywhere ? w.deleteConfirm(user.email) : w.removeConfirm(user.email)}
        />
      )}
    </>
  );
}

function LinksCard({ v, user, links }: { v: Visit; user: AnyUser; links: UserLink[] }) {
  const w = words[v.locale];
  const everywhere = reachesUsers(v);
  const columns: Column<UserLink>[] = [
    {
      head: w.tenant,
      cell: ({ tenantId, tenantName, isTenantActive, isDefault }) => (
        <span class="row">
          {may(v.viewer, "read:tenants") && v.viewer.tenant
            ? <a href={`tenants/${tenantId}`}>{tenantName}</a>
            : tenantName}
          {isDefault && <Badge tone="info">{w.defaultLink}</Badge>}
          {!isTenantActive && <Badge tone="warn">{w.tenantInactive}</Badge>}
        </span>
      ),
    },
    {
      head: w.roles,
      cell: ({ roles, tenantId }) =>
        roles.length === 0 ? <span class="muted">{w.noRoles}</span> : (
          <ul class="row tags">
            {roles.map(({ id, name }) => (
              <li>
                {tenantId === v.viewer.tenant?.id && may(v.viewer, "read:roles")
                  ? <a href={`roles/${id}`}>{name}</a>
                  : name}
              </li>
            ))}
          </ul>
        ),
    },
    {
      head: w.linkState,
      cell: ({ isActive }) =>
        isActive ? <Badge tone="ok">{w.linkActive}</Badge> : <Badge tone="idle">{w.linkInactive}</Badge>,
    },
    { head: w.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} />, wideOnly: true },
  ];
  return (
    <Card
      title={w.linksTitle}
      actions={everywhere
        ? (
          <>
            {links.length > 0 && <ButtonLink href={`users/${user.id}/links`} label={w.editLinks} />}
            <ButtonLink href={`users/${user.id}/links/new`} label={w.addLink} icon="plus" />
          </>
        )
        : may(v.viewer, "update:users") && may(v.viewer, "read:roles") && (
          <ButtonLink href={`users/${user.id}/roles`} label={w.editRoles} />
        )}
    >
      <DataTable
        caption={w.linksCaption}
        columns={columns}
        rows={links}
        empty={<Empty icon="tenants" title={w.noLinks}>{w.noLinksText}</Empty>}
      />
    </Card>
  );
}

function SessionsCard({ v, user, sessions }: { v: Visit; user: AnyUser; sessions: Session[] }) {
  const w = words[v.locale];
  const at = `users/${user.id}/sessions`;
  const columns: Column<Session>[] = [
    {
      head: w.device,
      cell: ({ userAgent, isCurrent }) => (
        <>
          {userAgent ?? "–"} {isCurrent && <Badge tone="info">{w.thisOne}</Badge>}
        </>
      ),
    },
    { head: w.address, cell: ({ ip }) => <span class="nowrap">{ip ?? "–"}</span>, wideOnly: true },
    { head: w.started, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    { head: w.lastUsed, cell: ({ lastUsedAt }) => <Time v={v} at={lastUsedAt} />, wideOnly: true },
    {
      head: shared[v.locale].actions,
      align: "end",
      cell: ({ id, isCurrent }) =>
        !isCurrent && (
          <ActionButton
            v={v}
            action={`${at}/${id}/end`}
            label={w.endSession}
            tone="danger"
            confirm={w.endSessionConfirm}
          />
        ),
    },
  ];
  return (
    <Card
      title={w.sessions}
      actions={sessions.length > 0 && user.id !== v.viewer.userId && (
        <ActionButton
          v={v}
          action={`${at}/end-all`}
          label={w.endAll}
          tone="danger"
          confirm={w.endAllConfirm(user.email)}
        />
      )}
    >
      <DataTable
        caption={w.sessionsCaption}
        columns={columns}
        rows={sessions}
        empty={<p class="muted">{w.noSessions}</p>}
      />
    </Card>
  );
}
