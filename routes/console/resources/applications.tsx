import { Fields } from "../components/fields.tsx";
import { ButtonLink } from "../components/forms.tsx";
import { choice, listView, search, timeColumn } from "../components/list.tsx";
import { Badge } from "../components/values.tsx";
import { done, formPage, inverse } from "../shared/actions.ts";
import type { Answer, Row } from "../shared/operations.ts";
import { type ConsolePage, field, may, type Visit } from "../shared/page.ts";
import { resourceView, textOf } from "./resource_view.tsx";
import { resourceTexts } from "./texts.ts";

const managedBy = "manage:applications";

const bodyOf = (form: FormData) => ({
  code: textOf(form, "code"),
  name: textOf(form, "name"),
  description: textOf(form, "description") || null,
  isActive: form.get("isActive") === "true",
});

function formOf(f: Fields, row: Answer<"readApplication"> | null) {
  const t = resourceTexts[f.v.locale];
  return resourceView(f, {
    path: "applications",
    managedBy,
    many: t.applications,
    title: row?.name ?? t.newApplication,
    row,
    inputs: (
      <>
        {!row && f.text("code", t.code, { hint: t.codeHint, maxlength: 100 })}
        {f.text("name", t.name)}
        {f.area("description", t.description, { rows: 3 })}
        {f.check("isActive", t.active)}
      </>
    ),
  });
}

function ApplicationStatus({ v, row }: { v: Visit; row: Row<"listApplications"> }) {
  const t = resourceTexts[v.locale];
  if (row.isDeleted) return <Badge tone="bad">{t.deleted}</Badge>;
  return row.isActive ? <Badge tone="ok">{t.active}</Badge> : <Badge tone="idle">{t.inactive}</Badge>;
}

/** The tenant's applications. The code of an application cannot be changed. */
export const applicationPages: ConsolePage[] = [
  {
    path: "applications",
    get(v) {
      const t = resourceTexts[v.locale];
      return listView(v, "listApplications", {
        path: "applications",
        id: "resource-list",
        icon: "settings",
        title: t.applications,
        actions: may(v.viewer, managedBy) && (
          <ButtonLink href="applications/new" label={t.newApplication} icon="plus" tone="primary" />
        ),
        caption: t.applicationsCaption,
        empty: [t.applicationsEmpty, t.applicationsEmptyText],
        filters: [
          search(t.search),
          choice("isActive", t.status, { true: t.active, false: t.inactive }),
          choice("includeDeleted", t.show, { true: t.withDeleted }, t.withoutDeleted),
        ],
        columns: [
          {
            head: t.name,
            sort: "name",
            cell: ({ id, name, description, isDeleted }) => (
              <>
                {isDeleted ? name : <a href={`applications/${id}`}>{name}</a>}
                {description && <span class="sub">{description}</span>}
              </>
            ),
          },
          { head: t.code, sort: "code", cell: ({ code }) => <code>{code}</code> },
          { head: t.status, cell: (row) => <ApplicationStatus v={v} row={row} /> },
          timeColumn(v, t.created, "createdAt", { sort: "createdAt" }),
        ],
      });
    },
  },
  formPage({
    path: "applications/new",
    permissions: [managedBy],
    show: (v, sent) => formOf(new Fields(v, sent, "createApplication", { isActive: true }), null),
    async send(v, form) {
      const { name } = await v.api.call("createApplication", { body: bodyOf(form) });
      return done("applications", resourceTexts[v.locale].wasCreated(name));
    },
  }),
  formPage({
    path: "applications/{id}",
    managedBy,
    async show(v, sent) {
      const { value, etag } = await v.api.versioned("readApplication", { params: v.params });
      return formOf(new Fields(v, sent, "createApplication", { ...value, etag }), value);
    },
    async send(v, form) {
      const { code: _, ...body } = bodyOf(form);
      const { params } = v;
      const { name, description, isActive } = await v.api.call("readApplication", { params });
      const change = { params, body, ifMatch: field(form, "etag") };
      const { value: saved, etag } = await v.api.versioned("updateApplication", change);
      const former = { name, description, isActive };
      const undo = inverse("updateApplication", { params, body: former, ifMatch: etag });
      return done("applications", resourceTexts[v.locale].saved(saved.name), { undo });
    },
  }),
  {
    path: "applications/{id}/delete",
    permissions: [managedBy],
    async post(v) {
      const { name } = await v.api.act("readApplication", v);
      await v.api.act("deleteApplication", v);
      return done("applications", resourceTexts[v.locale].removed(name));
    },
  },
];
