import type { z } from "zod";
import type { applications } from "../../../domain/resources/applications.ts";
import type { settings } from "../../../domain/resources/settings.ts";
import { CheckField, SelectField, TextArea, TextField } from "../components/forms.tsx";
import { Badge, Time } from "../components/values.tsx";
import { shared } from "../shared/console_words.ts";
import type { ConsoleSection, Visit } from "../shared/page.ts";
import { resourcePages } from "./resource_pages.tsx";
import { words } from "./words.ts";

type Application = z.output<typeof applications.result>;
type Setting = z.output<typeof settings.result>;

function ApplicationState({ v, row }: { v: Visit; row: Application }) {
  const w = words[v.locale];
  if (row.isDeleted) return <Badge tone="bad">{w.deleted}</Badge>;
  return row.isActive ? <Badge tone="ok">{w.active}</Badge> : <Badge tone="idle">{w.inactive}</Badge>;
}

const applicationPages = resourcePages<Application>({
  path: "applications",
  managedBy: "manage:applications",
  icon: "settings",
  title: ({ locale }) => ({
    many: words[locale].applications,
    caption: words[locale].applicationsCaption,
    add: words[locale].newApplication,
    empty: words[locale].applicationsEmpty,
    emptyText: words[locale].applicationsEmptyText,
  }),
  nameOf: ({ name }) => name,
  columns: (v) => [
    {
      head: words[v.locale].name,
      sort: "name",
      cell: ({ id, name, description, isDeleted }) => (
        <>
          {isDeleted ? name : <a href={`applications/${id}`}>{name}</a>}
          {description && <span class="sub">{description}</span>}
        </>
      ),
    },
    { head: words[v.locale].code, sort: "code", cell: ({ code }) => <code>{code}</code> },
    { head: words[v.locale].state, cell: (row) => <ApplicationState v={v} row={row} /> },
    {
      head: words[v.locale].created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
    },
  ],
  filters: {
    names: ["isActive", "includeDeleted"],
    show: (v) => (
      <>
        <SelectField
          label={words[v.locale].state}
          name="isActive"
          any={shared[v.locale].all}
          value={v.query.get("isActive")}
          choices={[
            { value: "true", label: words[v.locale].active },
            { value: "false", label: words[v.locale].inactive },
          ]}
        />
        <SelectField
          label={words[v.locale].show}
          name="includeDeleted"
          any={words[v.locale].withoutDeleted}
          value={v.query.get("includeDeleted")}
          choices={[{ value: "true", label: words[v.locale].withDeleted }]}
        />
      </>
    ),
  },
  fields: ["code", "name", "description", "isActive"],
  valuesOf: (row) => ({
    code: row?.code ?? "",
    name: row?.name ?? "",
    description: row?.description ?? "",
    isActive: String(row?.isActive ?? true),
  }),
  bodyOf: ({ code, name, description, isActive }) => ({
    code,
    name,
    description: description || null,
    isActive: isActive === "true",
  }),
  form(v, values, row, errors) {
    const w = words[v.locale];
    return (
      <>
        {row ? <input type="hidden" name="code" value={row.code} /> : (
          <TextField
            label={w.code}
            name="code"
            value={values.code}
            hint={w.codeHint}
            maxlength={100}
            errors={errors.code}
            required
          />
        )}
        <TextField
          label={w.name}
          name="name"
          value={values.name}
          maxlength={200}
          errors={errors.name}
          required
        />
        <TextArea
          label={w.description}
          name="description"
          rows={3}
          value={values.description}
          errors={errors.description}
        />
        <CheckField label={w.isActive} name="isActive" checked={values.isActive === "true"} />
      </>
    );
  },
});

const settingPages = resourcePages<Setting>({
  path: "settings",
  managedBy: "manage:settings",
  icon: "settings",
  title: ({ locale }) => ({
    many: words[locale].settings,
    caption: words[locale].settingsCaption,
    add: words[locale].newSetting,
    empty: words[locale].settingsEmpty,
    emptyText: words[locale].settingsEmptyText,
  }),
  nameOf: ({ key }) => key,
  columns: (v) => [
    {
      head: words[v.locale].key,
      sort: "key",
      cell: ({ id, key, description }) => (
        <>
          <a href={`settings/${id}`}>{key}</a>
          {description && <span class="sub">{description}</span>}
        </>
      ),
    },
    { head: words[v.locale].value, cell: ({ value }) => <code class="clamp">{value}</code> },
    { head: words[v.locale].updated, cell: ({ updatedAt }) => <Time v={v} at={updatedAt} /> },
  ],
  fields: ["key", "value", "description"],
  valuesOf: (row) => ({
    key: row?.key ?? "",
    value: row?.value ?? "",
    description: row?.description ?? "",
  }),
  bodyOf: ({ key, value, description }) => ({ key, value, description: description || null }),
  form(v, values, _row, errors) {
    const w = words[v.locale];
    return (
      <>
        <TextField
          label={w.key}
          name="key"
          value={values.key}
          maxlength={200}
          errors={errors.key}
          required
        />
        <TextArea label={w.value} name="value" rows={6} code value={values.value} errors={errors.value} />
        <TextField
          label={w.description}
          name="description"
          value={values.description}
          maxlength={2000}
          errors={errors.description}
        />
      </>
    );
  },
});

/** Resources of the generic contract: read by all of the tenant, changed by those who may. */
export const resourcesSection: ConsoleSection = {
  title: { en: words.en.section, pt: words.pt.section },
  nav: [
    {
      path: "applications",
      label: { en: words.en.applications, pt: words.pt.applications },
      icon: "files",
      needsTenant: true,
    },
    {
      path: "settings",
      label: { en: words.en.settings, pt: words.pt.settings },
      icon: "settings",
      needsTenant: true,
    },
  ],
  pages: [...applicationPages, ...settingPages],
};
