import type { Child } from "hono/jsx";
import {
  ActionButton,
  ButtonLink,
  CsrfField,
  FilterBar,
  FormButtons,
  FormRefusal,
  TextField,
} from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { CopyValue, Facts, shortId, Time } from "../components/values.tsx";
import { type Page, Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { type ConsolePage, field, may, type Outcome, type View, type Visit } from "../shared/page.ts";
import { resourceTexts } from "./texts.ts";

interface Row {
  id: string;
  createdAt: string;
  updatedAt: string;
}

/** Describes the console pages of one CRUD resource. */
export interface ResourcePages<T extends Row> {
  /** Path of the collection under /api/v1/, and of the pages in the console. */
  path: string;
  /** The permission needed to change it. */
  managedBy: string;
  icon: string;
  title(v: Visit): { many: string; caption: string; add: string; empty: string; emptyText: string };
  nameOf(row: T): string;
  columns(v: Visit): Column<T>[];
  /** Additional filters and the names of their query parameters. */
  filters?: { names: string[]; show(v: Visit): Child };
  fields: string[];
  /** The inputs of the form; `row` is null for a new one. */
  form(v: Visit, values: Record<string, string>, row: T | null, errors: Record<string, string[]>): Child;
  valuesOf(row: T | null): Record<string, string>;
  bodyOf(values: Record<string, string>): Record<string, unknown>;
}

/** Pages to list, create, edit and delete one resource. */
export function resourcePages<T extends Row>(r: ResourcePages<T>): ConsolePage[] {
  const canChange = (v: Visit) => may(v.viewer, r.managedBy);
  // Not trimmed: leading and trailing spaces may matter, and the API trims the values where they do not.
  const valuesIn = (form: FormData): Record<string, string> =>
    Object.fromEntries(r.fields.map((name) => [name, String(form.get(name) ?? "").replaceAll("\r\n", "\n")]));

  async function list(v: Visit): Promise<View> {
    const t = r.title(v);
    const names = ["search", "sortBy", "sortDirection", "page", ...r.filters?.names ?? []];
    const page = await v.api.get<Page<T>>(
      r.path,
      Object.fromEntries(names.map((name) => [name, v.query.get(name)])),
    );
    return {
      title: t.many,
      ...canChange(v)
        ? { actions: <ButtonLink href={`${r.path}/new`} label={t.add} icon="plus" tone="primary" /> }
        : {},
      body: (
        <>
          <FilterBar v={v} action={r.path} target="resource-list">
            <TextField
              label={resourceTexts[v.locale].search}
              name="search"
              type="search"
              value={v.query.get("search")}
            />
            {r.filters?.show(v)}
          </FilterBar>
          <LivePart v={v} id="resource-list">
            <DataTable
              caption={t.caption}
              columns={r.columns(v)}
              rows={page.items}
              sorting={{ v, path: r.path }}
              empty={<EmptyList v={v} icon={r.icon} text={t.empty}>{t.emptyText}</EmptyList>}
            />
            <Pager v={v} path={r.path} page={page} />
          </LivePart>
        </>
      ),
    };
  }

  function view(
    v: Visit,
    row: T | null,
    etag: string,
    given: FormData | null,
    refusal: Refusal | null,
  ): View {
    const t = resourceTexts[v.locale];
    const values = given ? valuesIn(given) : r.valuesOf(row);
    const isOpen = canChange(v);
    return {
      title: row ? r.nameOf(row) : r.title(v).add,
      crumbs: [{ href: r.path, label: r.title(v).many }],
      ...refusal ? { status: refusal.status } : {},
      ...row && isOpen
        ? {
          actions: (
            <ActionButton
              v={v}
              action={`${r.path}/${row.id}/delete`}
              label={commonTexts[v.locale].remove}
              icon="trash"
              tone="danger"
              confirm={t.deleteConfirm(r.nameOf(row))}
            />
          ),
        }
        : {},
      body: (
        <>
          <Card>
            <FormRefusal refusal={refusal} known={r.fields} />
            <form class="form" method="post" action={row ? `${r.path}/${row.id}` : `${r.path}/new`}>
              <CsrfField v={v} />
              <input type="hidden" name="etag" value={etag} />
              {/* read-only for viewers who may not change it */}
              <fieldset class="plain" disabled={!isOpen}>
                {r.form(v, values, row, refusal?.fields ?? {})}
              </fieldset>
              {isOpen && (
                <FormButtons
                  v={v}
                  label={row ? commonTexts[v.locale].save : commonTexts[v.locale].create}
                  back={r.path}
                />
              )}
            </form>
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

  async function show(v: Visit): Promise<View> {
    const answer = await v.api.request("GET", `/api/v1/${r.path}/${v.params.id}`);
    return view(v, await answer.json() as T, answer.headers.get("etag") ?? "", null, null);
  }

  /** Sends the form. If the API refuses it, shows the form again with the errors. */
  async function save(v: Visit, form: FormData, row: T | null): Promise<Outcome> {
    const t = resourceTexts[v.locale];
    const body = r.bodyOf(valuesIn(form));
    const etag = field(form, "etag");
    try {
      const saved = row
        ? await v.api.send<T>("PUT", `${r.path}/${row.id}`, body, { "if-match": etag })
        : await v.api.send<T>("POST", r.path, body);
      const text = (row ? t.saved : t.wasCreated)(r.nameOf(saved));
      return { goTo: r.path, flash: { tone: "ok", text } };
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || ![400, 409, 412].includes(refusal.status)) throw refusal;
      return view(v, row, etag, form, refusal);
    }
  }

  const one = (v: Visit) => v.api.get<T>(`${r.path}/${v.params.id}`);
  const permissions = [r.managedBy];
  return [
    { path: r.path, get: list },
    {
      path: `${r.path}/new`,
      permissions,
      get: (v) => view(v, null, "", null, null),
      post: (v, form) => save(v, form, null),
    },
    { path: `${r.path}/{id}`, get: show, post: async (v, form) => await save(v, form, await one(v)) },
    {
      path: `${r.path}/{id}/delete`,
      permissions,
      async post(v) {
        const row = await one(v);
        await v.api.send("DELETE", `${r.path}/${row.id}`);
        return { goTo: r.path, flash: { tone: "ok", text: resourceTexts[v.locale].removed(r.nameOf(row)) } };
      },
    },
  ];
}
