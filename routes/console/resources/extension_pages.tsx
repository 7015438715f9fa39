import { z } from "zod";
import { labelIn, nameInWords } from "../../../domain/resources/labels.ts";
import type { Resource } from "../../../domain/resources/resource.ts";
import { Fields } from "../components/fields.tsx";
import { ButtonLink } from "../components/forms.tsx";
import { list, search } from "../components/list.tsx";
import type { Column } from "../components/table.tsx";
import { Time } from "../components/values.tsx";
import { done, formPage } from "../shared/actions.ts";
import { type Page, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { jsonIn } from "../shared/json.ts";
import { type ConsolePage, type ConsoleSection, field, may, type Visit } from "../shared/page.ts";
import { resourceView, textOf } from "./resource_view.tsx";
import { resourceTexts } from "./texts.ts";

type Row = Record<string, unknown> & { id: string; createdAt: string; updatedAt: string };

/** How a field is entered. `json` is for everything that has no input of its own. */
type Kind = "text" | "long text" | "number" | "date" | "check" | "choice" | "json";

interface Input {
  name: string;
  kind: Kind;
  required: boolean;
  nullable: boolean;
  choices: string[];
}

const LONG_TEXT = 300;
/** How many fields the list shows. */
const COLUMNS = 5;

/** The console's section of an extension: list, form and actions of each of its resources. */
export function extensionSection(name: string, resources: readonly Resource[]): ConsoleSection {
  const title = nameInWords(name.replaceAll("_", " "));
  return {
    title: { en: title, pt: title },
    nav: resources.map((resource) => ({
      path: pathOf(resource),
      label: { en: manyOf(resource, "en"), pt: manyOf(resource, "pt") },
      icon: "files",
      needsTenant: true,
      ...resource.readBy ? { permissions: [resource.readBy] } : {},
    })),
    pages: resources.flatMap(resourcePages),
  };
}

const pathOf = ({ path, many }: Resource): string => path ?? many;
const manyOf = ({ many, labels }: Resource, language: string): string =>
  labelIn(labels?.many ?? nameInWords(many), language);
const oneOf = ({ one, labels }: Resource, language: string): string =>
  labelIn(labels?.one ?? nameInWords(one), language);
const labelOf = ({ labels }: Resource, name: string, language: string): string =>
  labelIn(labels?.fields?.[name] ?? nameInWords(name), language);

function resourcePages(resource: Resource): ConsolePage[] {
  const path = pathOf(resource);
  const address = `/api/v1/${path}`;
  const { managedBy } = resource;
  const inputs = inputsOf(resource.create);
  const changes = inputsOf(resource.update);
  const reading = resource.readBy ? { permissions: [resource.readBy] } : {};
  return [
    {
      path,
      ...reading,
      async get(v) {
        const t = resourceTexts[v.locale];
        const many = manyOf(resource, v.locale);
        const sorts = Object.fromEntries([...v.query].filter(([name]) => LIST_PARAMETERS.has(name)));
        const page: Page<Row> = await (await v.api.request("GET", address + searchOf(sorts))).json();
        return {
          title: many,
          actions: may(v.viewer, managedBy) && (
            <ButtonLink
              href={`${path}/new`}
              label={commonTexts[v.locale].create}
              icon="plus"
              tone="primary"
            />
          ),
          body: list(v, page, {
            path,
            icon: "files",
            caption: many,
            empty: [t.noneYet(many)],
            filters: [search(t.search)],
            columns: columnsOf(v, resource, path),
          }),
        };
      },
    },
    formPage({
      path: `${path}/new`,
      permissions: [managedBy],
      show: (v, sent) => formOf(new Fields(v, sent, null), resource, inputs, null),
      async send(v, form) {
        await v.api.request("POST", address, bodyOf(form, inputs));
        return done(path, resourceTexts[v.locale].wasCreated(oneOf(resource, v.locale)));
      },
    }),
    formPage({
      path: `${path}/{id}`,
      managedBy,
      ...reading,
      async show(v, sent) {
        const answer = await v.api.request("GET", `${address}/${v.params.id}`);
        const row: Row = await answer.json();
        const values = { ...valuesOf(row, changes), etag: answer.headers.get("etag") ?? "" };
        return formOf(new Fields(v, sent, null, values), resource, changes, row);
      },
      async send(v, form) {
        const ifMatch = { "if-match": field(form, "etag") };
        await v.api.request("PUT", `${address}/${v.params.id}`, bodyOf(form, changes), ifMatch);
        return done(path, resourceTexts[v.locale].saved(oneOf(resource, v.locale)));
      },
    }),
    {
      path: `${path}/{id}/delete`,
      permissions: [managedBy],
      async post(v) {
        await v.api.request("DELETE", `${address}/${v.params.id}`);
        return done(path, resourceTexts[v.locale].removed(oneOf(resource, v.locale)));
      },
    },
  ];
}

const LIST_PARAMETERS = new Set(["page", "pageSize", "search", "sortBy", "sortDirection"]);

function formOf(f: Fields, resource: Resource, inputs: Input[], row: Row | null) {
  const language = f.v.locale;
  const [first] = inputs;
  return resourceView(f, {
    path: pathOf(resource),
    managedBy: resource.managedBy,
    many: manyOf(resource, language),
    title: String((first && row?.[first.name]) || oneOf(resource, language)),
    row,
    inputs: inputs.map((input) => inputOf(f, input, labelOf(resource, input.name, language))),
  });
}

function inputOf(f: Fields, { name, kind, required, choices }: Input, label: string) {
  switch (kind) {
    case "check":
      return f.check(name, label);
    case "choice":
      return f.select(name, label, choices.map((value) => ({ value, label: nameInWords(value) })));
    case "long text":
      return f.area(name, label, { rows: 5, required });
    case "json":
      return f.area(name, label, { rows: 5, code: true, required });
    case "date":
      return f.text(name, label, { type: "date", required });
    case "number":
    case "text":
      return f.text(name, label, { required });
  }
}

/** The first fields of a resource as columns; the first leads to the resource. */
function columnsOf(v: Visit, resource: Resource, path: string): Column<Row>[] {
  const names = Object.keys(resource.result.shape).filter((name) => name !== "id" && name !== "updatedAt");
  return names.slice(0, COLUMNS).map((name, index) => ({
    head: name === "createdAt" ? resourceTexts[v.locale].created : labelOf(resource, name, v.locale),
    ...resource.sortable.includes(name) ? { sort: name } : {},
    cell: (row) =>
      index === 0 ? <a href={`${path}/${row.id}`}>{cellOf(v, row[name])}</a> : cellOf(v, row[name]),
  }));
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function cellOf(v: Visit, value: unknown) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? commonTexts[v.locale].yes : commonTexts[v.locale].no;
  if (typeof value === "object") return <code class="clamp">{JSON.stringify(value)}</code>;
  return TIME.test(String(value)) ? <Time v={v} at={String(value)} /> : String(value);
}

function inputsOf(shape: z.ZodObject): Input[] {
  const schema = z.toJSONSchema(shape, { io: "input", unrepresentable: "any" });
  const object = schema.$ref ? Object.values(schema.$defs ?? {})[0] ?? {} : schema;
  return Object.entries(object.properties ?? {}).map(([name, given]) => {
    const options = typeof given === "object" && given.anyOf ? given.anyOf : [given];
    const [value] = options.filter((option) => typeof option === "object" && option.type !== "null");
    const field = typeof value === "object" ? value : {};
    return {
      name,
      kind: kindOf(field),
      required: (object.required ?? []).includes(name),
      nullable: options.length > 1,
      choices: (field.enum ?? []).map(String),
    };
  });
}

function kindOf({ type, format, maxLength, enum: choices }: z.core.JSONSchema.JSONSchema): Kind {
  if (choices) return "choice";
  if (type === "boolean") return "check";
  if (type === "number" || type === "integer") return "number";
  if (type !== "string") return "json";
  if (format === "date") return "date";
  return (maxLength ?? 0) > LONG_TEXT ? "long text" : "text";
}

/** The values of a row as its form shows them. */
const valuesOf = (row: Row, inputs: Input[]): Record<string, unknown> =>
  Object.fromEntries(inputs.map(({ name, kind }) => [
    name,
    row[name] === null ? "" : kind === "json" ? JSON.stringify(row[name], null, 2) : row[name],
  ]));

/** The body of a request. An empty input is null, or left out if the field cannot be null. */
function bodyOf(form: FormData, inputs: Input[]): Record<string, unknown> {
  return Object.fromEntries(inputs.flatMap(({ name, kind, nullable }) => {
    if (kind === "check") return [[name, form.get(name) === "true"]];
    const text = textOf(form, name);
    if (text === "") {
      return nullable ? [[name, null]] : kind === "text" || kind === "long text" ? [[name, ""]] : [];
    }
    if (kind === "number") return [[name, Number.isNaN(Number(text)) ? text : jsonIn(text) ?? Number(text)]];
    const value = kind === "json" ? jsonIn(text) : text;
    return [[name, value === undefined ? text : value]]; // the API refuses a text that is not JSON
  }));
}
