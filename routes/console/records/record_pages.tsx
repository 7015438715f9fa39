import type { Child } from "hono/jsx";
import { z } from "zod";
import { recordNamed } from "../../../domain/records/define_record.ts";
import { labelIn } from "../../../domain/records/labels.ts";
import { coreOf, type RecordMember } from "../../../domain/records/members.ts";
import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { recordRoutes } from "../../records/record_routes.ts";
import { Fields, Form } from "../components/fields.tsx";
import {
  bodyOf,
  choicesOf,
  formatted,
  inputOf,
  labelOf,
  labelWithUnit,
  manyOf,
  oneOf,
  type RecordRow,
  type ReferenceChoices,
  valueFormat,
  valueLabel,
  valuesOf,
} from "./member_forms.tsx";
import { buttonLink, type Choice, deleteButton } from "../components/forms.tsx";
import { actionsColumn, choice, type Filter, list, search, text, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import type { Column } from "../components/table.tsx";
import { Badge, CopyValue, exactDay, factList, shortId, Time } from "../components/values.tsx";
import { done, formPage } from "../shared/actions.ts";
import { orNull, type Page } from "../shared/api.ts";
import { type ConsolePage, field, may, type NavItem, type View, type Visit } from "../shared/page.ts";
import { inverseOf } from "../shared/undo.ts";
import {
  actionPages,
  permittedActions,
  type RecordActions,
  recordTexts,
  rowButtons,
} from "./row_actions.tsx";

/** The navigation entry of a record. */
export const recordNavItem = (record: DefinedRecord, icon = "files"): NavItem => ({
  path: pathOfRecord(record),
  label: { en: manyOf(record, "en"), pt: manyOf(record, "pt") },
  icon,
  needsTenant: true,
});

/**
 * The pages of a record: its list, the form of a new and of an existing row, its deletion and its own actions.
 * @param top shown above the list
 */
export function recordPages(
  record: DefinedRecord,
  actions: RecordActions = [],
  top: (v: Visit) => Child = () => null,
): ConsolePage[] {
  const path = pathOfRecord(record);
  const { managedBy, members, softDeleted } = record;
  const [listing, reading, creating, , changing, deleting] = recordRoutes<DefinedRecord>(record);
  const created = members.filter(({ set }) => set !== "never");
  const changed = created.filter(({ set }) => set !== "once");
  const readable = record.readBy ? { permissions: [record.readBy] } : {};
  const read = async ({ api, params }: Visit) => {
    const answer = await api.ask(reading, { params });
    return { row: await answer.json() as RecordRow, etag: answer.headers.get("etag") ?? "" };
  };
  return [
    {
      path,
      ...readable,
      async get(v) {
        const t = recordTexts[v.locale];
        const many = manyOf(record, v.locale);
        const { about } = record.labels;
        const [page, choices] = await Promise.all([
          v.api.listOf<RecordRow>(listing, v),
          readReferenceChoices(v, members),
        ]);
        return {
          title: many,
          actions: may(v.viewer, managedBy) &&
            buttonLink(`${path}/new`, t.newOne(oneOf(record, v.locale)), { icon: "plus", tone: "primary" }),
          body: list(v, page, {
            top: top(v),
            caption: many,
            empty: about ? [t.noneYet(many), labelIn(about, v.locale)] : [t.noneYet(many)],
            filters: filtersOf(v, record, choices),
            columns: await columnsOf(v, record, page, choices, actions),
          }),
        };
      },
    },
    formPage({
      path: `${path}/new`,
      permissions: [managedBy],
      async show(v, sent) {
        const initial = Object.fromEntries(
          created.map(({ name, shape }) => [name, shape.safeParse(undefined).data]),
        );
        const fields = new Fields(v, sent, creating, initial);
        return rowFormView(fields, record, created, null, await readReferenceChoices(v, created), actions);
      },
      async send(v, form) {
        const row = await (await v.api.ask(creating, { body: bodyOf(form, created) })).json();
        return done(path, recordTexts[v.locale].wasCreated(nameOf(record, row, v)));
      },
    }),
    formPage({
      path: `${path}/{id}`,
      managedBy,
      ...readable,
      async show(v, sent) {
        const { row, etag } = await read(v);
        const fields = new Fields(v, sent, changing, { ...valuesOf(row, changed), etag });
        return rowFormView(
          fields,
          record,
          changed,
          row,
          await readReferenceChoices(v, changed, row),
          actions,
        );
      },
      async send(v, form) {
        const { params } = v;
        const { row: former } = await read(v);
        const body = bodyOf(form, changed);
        const answer = await v.api.ask(changing, { params, body, ifMatch: field(form, "etag") });
        const undo = inverseOf(changing, {
          params,
          body: membersIn(former, changed),
          ifMatch: answer.headers.get("etag") ?? "",
        });
        return done(path, recordTexts[v.locale].saved(nameOf(record, await answer.json(), v)), { undo });
      },
    }),
    {
      path: `${path}/{id}/delete`,
      permissions: [managedBy],
      async post(v) {
        const { row } = await read(v);
        await v.api.ask(deleting, { params: v.params });
        const text = recordTexts[v.locale].removed(nameOf(record, row, v));
        if (softDeleted) return done(path, text);
        return done(path, text, { undo: inverseOf(creating, { body: membersIn(row, created) }) });
      },
    },
    ...actionPages(record, actions, async (v) => (await read(v)).row),
  ];
}

const membersIn = (row: RecordRow, members: readonly RecordMember[]): Record<string, unknown> =>
  Object.fromEntries(members.map(({ name }) => [name, row[name]]));

const nameOf = (record: DefinedRecord, row: RecordRow, { locale }: Visit): string =>
  String(row[record.title] || oneOf(record, locale));

/** Maximum rows of a drop-down list. If a record has more, the viewer enters the id. */
const MAX_CHOICES = 100;

/**
 * The rows of the records that members refer to, by name. A record that the viewer may not read has none.
 * @param row its references stay among the choices, also to deleted rows: otherwise saving its form would change them
 */
async function readReferenceChoices(
  v: Visit,
  members: readonly RecordMember[],
  row?: RecordRow,
): Promise<ReferenceChoices> {
  const plurals = new Set(members.flatMap(({ refersTo }) => refersTo ?? []));
  const all = await Promise.all([...plurals].map(async (many): Promise<[string, Choice[]] | null> => {
    const record = recordNamed(many, "a member");
    const [listing] = recordRoutes<DefinedRecord>(record);
    const query = new URLSearchParams({ pageSize: String(MAX_CHOICES) });
    const page = await orNull(v.api.listOf<RecordRow>(listing, { params: {}, query }));
    if (!page || page.hasNext) return null;
    const choices = page.items.map((row) => ({ value: row.id, label: nameOf(record, row, v) }));
    const present = members.filter(({ refersTo }) => refersTo === many).map(({ name }) => row?.[name]);
    for (const id of present) {
      if (typeof id !== "string" || choices.some(({ value }) => value === id)) continue;
      choices.push({ value: id, label: `${recordTexts[v.locale].deleted}: ${shortId(id)}` });
    }
    return [many, choices.sort((a, b) => a.label.localeCompare(b.label, v.locale))];
  }));
  return new Map(all.filter((entry) => entry !== null));
}

function filtersOf(v: Visit, { members, softDeleted }: DefinedRecord, choices: ReferenceChoices): Filter[] {
  const t = recordTexts[v.locale];
  const own = members.filter(({ filter }) => filter).map((member) => {
    const label = labelOf(member, v.locale);
    const values = choicesOf(member, v.locale, choices);
    if (values) return choice(member.name, label, values);
    return text(member.name, label, member.kind === "date" ? { type: "date" } : {});
  });
  return [
    search(t.search),
    ...own,
    ...softDeleted ? [choice("includeDeleted", t.show, { true: t.withDeleted }, t.withoutDeleted)] : [],
  ];
}

/** Number of members that the list shows. */
const COLUMNS = 5;

/**
 * The first members and all states as columns, beginning with the title, which links to the row and shows its description.
 */
async function columnsOf(
  v: Visit,
  record: DefinedRecord,
  page: Page<RecordRow>,
  choices: ReferenceChoices,
  actions: RecordActions,
): Promise<Column<RecordRow>[]> {
  const { members, title, softDeleted, sortable } = record;
  const t = recordTexts[v.locale];
  const path = pathOfRecord(record);
  const all = [
    ...members.filter(({ name }) => name === title),
    ...members.filter(({ name }) => name !== title && name !== "description"),
  ];
  const states = all.slice(COLUMNS).filter(({ values = {} }) =>
    Object.values(values).some(({ tone }) => tone)
  );
  const shown = [...all.slice(0, COLUMNS - states.length), ...states];
  const description = members.find(({ name }) => name === "description");
  const names = await readNames(v, shown, page, choices);
  const offered = permittedActions(v, actions);
  const columns = shown.map((member): Column<RecordRow> => ({
    head: v.collect ? labelWithUnit(member, v.locale) : labelOf(member, v.locale),
    ...sortable.includes(member.name) ? { sort: member.name } : {},
    ...valueFormat(member) ? { align: "end" } : {},
    cell: (row) => {
      const isLink = member.format === "link" || member.format === "mail";
      if (member.name !== title) return cellOf(v, member, row, names);
      const name = isLink ? String(row[title] ?? "") : cellOf(v, member, row, names);
      return row.isDeleted ? name : <a href={`${path}/${row.id}`}>{name}</a>;
    },
    ...member.name === title && description
      ? { below: [[labelOf(description, v.locale), (row: RecordRow) => String(row.description ?? "")]] }
      : {},
    ...member.kind === "date" || valueFormat(member) ? { csv: (row) => String(row[member.name] ?? "") } : {},
  }));
  const state: Column<RecordRow> = {
    head: t.status,
    cell: ({ isDeleted }) => isDeleted ? <Badge tone="bad">{t.deleted}</Badge> : null,
  };
  const isShowingDeleted = softDeleted && v.query.get("includeDeleted") === "true";
  return [
    ...columns,
    ...isShowingDeleted ? [state] : [],
    timeColumn(v, t.created, "createdAt", { sort: "createdAt" }),
    ...offered.length > 0 ? [actionsColumn(v, (row: RecordRow) => rowButtons(v, record, offered, row))] : [],
  ];
}

/** Links to the rows that the references of a page name, by id. */
async function readNames(
  v: Visit,
  members: readonly RecordMember[],
  page: Page<RecordRow>,
  choices: ReferenceChoices,
): Promise<Map<string, Child>> {
  const names = new Map<string, Child>();
  await Promise.all(members.map(async ({ name, refersTo }) => {
    if (refersTo === null) return;
    const record = recordNamed(refersTo, `the member ${name}`);
    const link = (id: string, text: string) =>
      names.set(id, <a href={`${pathOfRecord(record)}/${id}`}>{text}</a>);
    for (const { value, label } of choices.get(refersTo) ?? []) link(value, String(label));
    const [, reading] = recordRoutes<DefinedRecord>(record);
    const ids = new Set(page.items.map((row) => row[name]).filter((id) => typeof id === "string"));
    await Promise.all(
      [...ids].filter((id) => !names.has(id)).map(async (id) => {
        const answer = await orNull(v.api.ask(reading, { params: { id } }));
        if (answer) link(id, nameOf(record, await answer.json(), v));
      }),
    );
  }));
  return names;
}

function cellOf(v: Visit, member: RecordMember, row: RecordRow, names: Map<string, Child>): Child {
  const { kind, values, format } = member;
  const value = row[member.name];
  const shownAs = valueFormat(member);
  if (value === null || value === undefined) return "–";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  switch (kind) {
    case "boolean":
    case "choice": {
      const label = valueLabel(member, text, v.locale);
      const tone = values?.[text]?.tone;
      return tone ? <Badge tone={tone}>{label}</Badge> : label;
    }
    case "reference":
      return names.get(text) ?? <code title={text}>{shortId(text)}</code>;
    case "time":
      return <Time v={v} at={text} />;
    case "date":
      return exactDay({ locale: v.locale, timeZone: "UTC" }, text);
    case "json":
      return <code class="clamp">{text}</code>;
    default:
      if (shownAs) return <span class="nowrap">{formatted(v, text, shownAs, row)}</span>;
      if (coreOf(member.shape) instanceof z.ZodGUID) return <code title={text}>{shortId(text)}</code>;
      if (format === "code") return <code class="clamp">{text}</code>;
      return format === "link" || format === "mail" ? linkTo(text, format) : text;
  }
}

/** A link of the web or to a mail address. Any other text, such as `javascript:`, is no link. */
function linkTo(text: string, format: "link" | "mail"): Child {
  if (format === "mail") {
    return <a href={`mailto:${encodeURIComponent(text).replaceAll("%40", "@")}`}>{text}</a>;
  }
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "")
    ? <a href={text} rel="noreferrer">{text}</a>
    : text;
}

/** The form of a new row, or of an existing one with its facts. Read-only for viewers who may not change it. */
function rowFormView(
  f: Fields,
  record: DefinedRecord,
  members: readonly RecordMember[],
  row: RecordRow | null,
  choices: ReferenceChoices,
  actions: RecordActions,
): View {
  const { v } = f;
  const t = recordTexts[v.locale];
  const path = pathOfRecord(record);
  const title = row ? nameOf(record, row, v) : t.newOne(oneOf(record, v.locale));
  const isOpen = may(v.viewer, record.managedBy);
  const here = row ? `${path}/${row.id}` : `${path}/new`;
  return {
    title,
    crumbs: [{ href: path, label: manyOf(record, v.locale) }],
    actions: row && [
      rowButtons(v, record, actions, row),
      isOpen &&
      deleteButton(
        v,
        `${here}/delete`,
        record.softDeleted ? t.deleteConfirm(title) : t.deleteUndoable(title),
      ),
    ],
    body: [
      <Card>
        <Form fields={f} action={here} submit={row ? undefined : t.create} back={path} readOnly={!isOpen}>
          {members.map((member) => inputOf(f, member, choices))}
        </Form>
      </Card>,
      row && <RowFacts v={v} record={record} row={row} shown={members} />,
    ],
  };
}

/** A card with the members that the form does not show, links to the rows that it refers to, its times and its id. */
async function RowFacts({ v, record, row, shown }: {
  v: Visit;
  record: DefinedRecord;
  row: RecordRow;
  shown: readonly RecordMember[];
}) {
  const t = recordTexts[v.locale];
  const others = record.members.filter((member) => member.refersTo !== null || !shown.includes(member));
  const page = { items: [row] } as Page<RecordRow>;
  const names = await readNames(v, others, page, new Map());
  return (
    <Card>
      {factList([
        ...others.map((member): [string, Child] => [
          labelOf(member, v.locale),
          cellOf(v, member, row, names),
        ]),
        [t.created, <Time v={v} at={row.createdAt} />],
        [t.updated, <Time v={v} at={row.updatedAt} />],
        [t.id, <CopyValue v={v} value={row.id} shown={shortId(row.id)} />],
      ])}
    </Card>
  );
}
