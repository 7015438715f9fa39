import { linkColumn } from "../../components/list.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { dataTable } from "../../components/table.tsx";
import { bulletList, Codes, number } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/translations.ts";
import { sectionTexts } from "../../shared/labels.ts";
import { counted } from "../../shared/languages.ts";
import type { Answer } from "../../shared/operations.ts";
import type { Visit } from "../../shared/page.ts";
import { userName } from "../../shared/access_queries.ts";

type Preview = Answer<"previewRole">;

const texts = sectionTexts({
  affects: counted(
    ["user is affected.", "users are affected."],
    ["usuário é afetado.", "usuários são afetados."],
  ),
  sessionsEnd: (sessions: number) => [
    sessions === 0
      ? "No session ends: none of them is signed in."
      : sessions >= 1_000
      ? "At least 1,000 sessions end: these users sign in again."
      : sessions === 1
      ? "1 session ends: the user signs in again."
      : `${sessions} sessions end: these users sign in again.`,
    sessions === 0
      ? "Nenhuma sessão termina: nenhum deles está conectado."
      : sessions >= 1_000
      ? "Pelo menos 1.000 sessões terminam: esses usuários entram de novo."
      : sessions === 1
      ? "1 sessão termina: o usuário entra de novo."
      : `${sessions} sessões terminam: esses usuários entram de novo.`,
  ],
  gained: ["Permissions gained", "Permissões ganhas"],
  lost: ["Permissions lost", "Permissões perdidas"],
  affectedUsers: ["Affected users", "Usuários afetados"],
  gains: ["Gains", "Ganha"],
  loses: ["Loses", "Perde"],
  moreUsers: (count: number) => [`And ${count} more.`, `E mais ${count}.`],
  forUsers: (count: number, shown: string) => [
    count === 0
      ? "Changes nothing for its users: they have it by another role."
      : `${shown} ${count === 1 ? "user" : "users"}`,
    count === 0
      ? "Não muda nada para os usuários: eles a têm por outro papel."
      : `${shown} ${count === 1 ? "usuário" : "usuários"}`,
  ],
});

/** Shows whom a change of roles affects, which sessions end, and who gains and loses what. */
export function RoleEffect({ v, preview }: { v: Visit; preview: Preview }) {
  const t = texts[v.locale];
  const { affectedCount, sessionCount, users, added, removed } = preview;
  return (
    <>
      <Notice tone="warn" title={t.affects(affectedCount)}>
        {t.sessionsEnd(sessionCount)}
      </Notice>
      {added.length > 0 && <Changes v={v} title={t.gained} changes={added} />}
      {removed.length > 0 && <Changes v={v} title={t.lost} changes={removed} />}
      {users.length > 0 && (
        <Card title={t.affectedUsers}>
          {dataTable(t.affectedUsers, users, null, [
            linkColumn<Preview["users"][number]>(
              t.user,
              (user) => [`users/${user.id}`, userName(user)],
              { below: [[t.email, (user) => userName(user) !== user.email && user.email]] },
            ),
            { head: t.gains, cell: ({ gains }) => <CodesOrNone codes={gains} /> },
            { head: t.loses, cell: ({ loses }) => <CodesOrNone codes={loses} /> },
          ])}
          {affectedCount > users.length && <p class="hint">{t.moreUsers(affectedCount - users.length)}</p>}
        </Card>
      )}
    </>
  );
}

const CodesOrNone = ({ codes }: { codes: string[] }) =>
  codes.length > 0 ? <Codes codes={codes} /> : <span class="muted">–</span>;

const Changes = ({ v, title, changes }: { v: Visit; title: string; changes: Preview["added"] }) => (
  <Card title={title}>
    {bulletList(changes, ({ code, description, userCount }) => (
      <>
        <code>{code}</code> {translateBuiltin(v.locale, description)}
        <span class="sub">{texts[v.locale].forUsers(userCount, number(v, userCount))}</span>
      </>
    ), { look: "bare-list" })}
  </Card>
);
