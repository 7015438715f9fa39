import type { Child } from "hono/jsx";
import { type Fields, Form } from "../components/fields.tsx";
import { DeleteButton } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { CopyValue, Facts, shortId, Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import { may, type View } from "../shared/page.ts";
import { resourceTexts } from "./texts.ts";

/** A text of a form. Not trimmed: leading and trailing spaces may matter, and the API trims where they do not. */
export const textOf = (form: FormData, name: string): string =>
  String(form.get(name) ?? "").replaceAll("\r\n", "\n");

/** The form of a new resource, or of an existing one with its facts. Read-only for viewers who may not change it. */
export function resourceView(f: Fields, o: {
  /** Path of the collection. */
  path: string;
  /** The permission needed to change it. */
  managedBy: string;
  many: string;
  title: string;
  row: { id: string; createdAt: string; updatedAt: string } | null;
  inputs: Child;
  /** True if its deletion can be undone. */
  canUndoDelete?: boolean;
}): View {
  const { v } = f;
  const { path, row, title } = o;
  const t = resourceTexts[v.locale];
  const isOpen = may(v.viewer, o.managedBy);
  const here = row ? `${path}/${row.id}` : `${path}/new`;
  return {
    title,
    crumbs: [{ href: path, label: o.many }],
    actions: row && isOpen && (
      <DeleteButton
        v={v}
        action={`${here}/delete`}
        confirm={o.canUndoDelete ? t.deleteUndoable(title) : t.deleteConfirm(title)}
      />
    ),
    body: (
      <>
        <Card>
          <Form
            fields={f}
            action={here}
            submit={row ? undefined : commonTexts[v.locale].create}
            back={path}
            readOnly={!isOpen}
          >
            {o.inputs}
          </Form>
        </Card>
        {row && (
          <Card>
            <Facts
              facts={[
                [t.created, <Time v={v} at={row.createdAt} />],
                [t.updated, <Time v={v} at={row.updatedAt} />],
                [t.id, <CopyValue v={v} value={row.id} shown={shortId(row.id)} />],
              ]}
            />
          </Card>
        )}
      </>
    ),
  };
}
