import { buttonLink, CsrfField } from "../../components/forms.tsx";
import { linkColumn } from "../../components/list.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { dataTable } from "../../components/table.tsx";
import { Codes, number } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import type { Answer } from "../../shared/operations.ts";
import { field, type View, type Visit } from "../../shared/page.ts";
import { nameOf } from "../users/model.tsx";
import { roleCrumbs } from "./model.tsx";
import { roleTexts } from "./texts.ts";

type Preview = Answer<"previewRole">;

const REVIEWED = "reviewed";

/** True if the viewer has seen whom the change affects: the review sends the form again with this field. */
export const isReviewed = (form: FormData): boolean => field(form, REVIEWED) === "true";

/** Shows whom a changed role affects before it is saved. The button that saves names the number of users. */
export function reviewView(v: Visit, form: FormData, preview: Preview): View {
  const t = roleTexts[v.locale];
  const common = commonTexts[v.locale];
  const { affectedCount, sessionCount, users, added, removed } = preview;
  const back = `roles/${v.params.id}`;
  const name = field(form, "name");
  const kept = [...form].filter(([key, value]) => key !== "csrf" && typeof value === "string");
  return {
    title: t.review(name),
    crumbs: roleCrumbs(v, { id: v.params.id ?? "", name }),
    body: (
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
                (user) => [`users/${user.id}`, nameOf(user), nameOf(user) !== user.email && user.email],
              ),
              { head: t.gains, cell: ({ gains }) => <CodesOrNone codes={gains} /> },
              { head: t.loses, cell: ({ loses }) => <CodesOrNone codes={loses} /> },
            ])}
            {affectedCount > users.length && <p class="hint">{t.moreUsers(affectedCount - users.length)}</p>}
          </Card>
        )}
        <form method="post" action={`${back}/edit`} class="row">
          <CsrfField v={v} />
          {kept.map(([key, value]) => <input type="hidden" name={key} value={String(value)} />)}
          <input type="hidden" name={REVIEWED} value="true" />
          <button type="submit" class="button primary">
            {affectedCount > 0 ? t.saveFor(affectedCount) : common.save}
          </button>
          {buttonLink(`${back}/edit`, common.cancel)}
        </form>
      </>
    ),
  };
}

const CodesOrNone = ({ codes }: { codes: string[] }) =>
  codes.length > 0 ? <Codes codes={codes} /> : <span class="muted">–</span>;

const Changes = ({ v, title, changes }: { v: Visit; title: string; changes: Preview["added"] }) => (
  <Card title={title}>
    <ul class="bare-list">
      {changes.map(({ code, description, userCount }) => (
        <li>
          <code>{code}</code> {translateBuiltin(v.locale, description)}
          <span class="sub">{roleTexts[v.locale].forUsers(userCount, number(v, userCount))}</span>
        </li>
      ))}
    </ul>
  </Card>
);
