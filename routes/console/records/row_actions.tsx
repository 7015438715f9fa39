import type { Child } from "hono/jsx";
import { type Label, labelIn } from "../../../domain/records/labels.ts";
import { type DefinedRecord, pathOfRecord, type RecordAction } from "../../../domain/records/record_type.ts";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { done, toDocument } from "../shared/actions.ts";
import { orNull } from "../shared/api.ts";
import { sectionTexts } from "../shared/labels.ts";
import type { CalledEndpoint } from "../shared/operations.ts";
import { type ConsolePage, mayOpen, type Visit } from "../shared/page.ts";
import type { RecordRow } from "./member_forms.tsx";

export const recordTexts = sectionTexts({
  newOne: (one: string) => [`New ${one.toLowerCase()}`, `Criar ${one.toLowerCase()}`],
  deleted: ["Deleted", "Excluído"],
  withDeleted: ["Including deleted", "Incluindo os excluídos"],
  withoutDeleted: ["Not deleted", "Não excluídos"],
  noneYet: (many: string) => [`No ${many.toLowerCase()} yet`, `Ainda não há ${many.toLowerCase()}`],
  wasCreated: (name: string) => [`${name} was created.`, `${name}: criado.`],
  saved: (name: string) => [`${name} was saved.`, `${name}: salvo.`],
  removed: (name: string) => [`${name} was deleted.`, `${name}: excluído.`],
  actionDone: (label: string) => [`${label}: done.`, `${label}: feito.`],
  deleteUndoable: (name: string) => [`Delete ${name}?`, `Excluir ${name}?`],
  deleteConfirm: (name: string) => [
    `Delete ${name}? This cannot be undone.`,
    `Excluir ${name}? Não pode ser desfeito.`,
  ],
});

/** The actions of a record, each with its name and the endpoint that it calls. */
export type RecordActions = readonly (RecordAction & { name: string; endpoint: CalledEndpoint })[];

const pathOf = (record: DefinedRecord, id: string, name: string): string =>
  `${pathOfRecord(record)}/${id}/actions/${name}`;

/** The actions that the viewer has permissions for. */
export const permittedActions = ({ viewer }: Visit, actions: RecordActions): RecordActions =>
  actions.filter(({ endpoint }) => mayOpen(endpoint.access, viewer));

/** The buttons of a row. A GET route is a link, because a form may not redirect to the URL of a file. */
export function rowButtons(v: Visit, record: DefinedRecord, actions: RecordActions, row: RecordRow): Child {
  if (row.isDeleted) return null;
  return permittedActions(v, actions).filter(({ when }) => when?.(row) ?? true).map(
    ({ name, label, confirm, tone, endpoint }) => {
      const [href, text] = [pathOf(record, row.id, name), labelIn(label, v.locale)];
      if (endpoint.method === "get") return buttonLink(href, text, tone && { tone });
      return actionButton(v, href, text, {
        ...tone && { tone },
        ...confirm && { confirm: textOf(v, confirm, row) },
      });
    },
  );
}

/** The pages that run the actions: they call the route and show the row with the result, or open the URL that it answers. */
export const actionPages = (
  record: DefinedRecord,
  actions: RecordActions,
  read: (v: Visit) => Promise<RecordRow>,
): ConsolePage[] =>
  actions.map(({ name, label, done: message, endpoint }) => {
    const page = { path: pathOf(record, "{id}", name), permissions: endpoint.access.permissions };
    const backOf = ({ params }: Visit) => `${pathOfRecord(record)}/${params.id}`;
    const ask = (v: Visit) => v.api.ask(endpoint, { params: v.params });
    if (endpoint.method === "get") {
      return { ...page, get: (v) => toDocument(v, ask(v).then((answer) => answer.json()), backOf(v)) };
    }
    return {
      ...page,
      async post(v) {
        const row = await read(v);
        await ask(v);
        const isGone = await orNull(read(v)) === null;
        const text = message
          ? textOf(v, message, row)
          : recordTexts[v.locale].actionDone(labelIn(label, v.locale));
        return done(isGone ? pathOfRecord(record) : backOf(v), text);
      },
    };
  });

/** A text of an action, with the values of the row. */
const textOf = ({ locale }: Visit, label: Label, row: RecordRow): string =>
  labelIn(label, locale).replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => Object.hasOwn(row, name) ? String(row[name] ?? "") : "",
  );
