import { z } from "zod";
import { scheduleMistakes } from "../../domain/jobs/cron.ts";
import type { Extension } from "./extension.ts";

const text = z.string({ error: "expected a text" }).min(1, "expected a text");
const work = z.custom((value) => typeof value === "function", "expected a function");
const shape = z.custom(
  (value) => value instanceof z.ZodType,
  "expected a schema made with z of @steward/steward",
);
const count = z.int("expected a whole number");
const cron = z.string().check((context) => {
  const [mistake] = Object.values(scheduleMistakes(context.value, "UTC")).flat();
  if (mistake) context.issues.push({ code: "custom", input: context.value, message: mistake });
});

const permission = z.object({ code: text, category: text, description: text });
const job = z.object({
  name: text,
  args: shape,
  run: work,
  timeoutMs: count.min(1, "expected at least 1"),
  maxRetries: count.min(0, "expected 0 to 25").max(25, "expected 0 to 25"),
  concurrency: count.min(1, "expected at least 1").optional(),
  share: z.number().gt(0).max(1).optional(),
  places: z.number().gt(0).max(1).refine((places) => Number.isInteger(Math.log2(places)), {
    error: "expected a power of two, such as 0.25",
  }).optional(),
  cron: cron.optional(),
});
const route = z.object({
  method: z.enum(["get", "post", "put", "delete"]),
  path: text,
  alsoAt: z.array(text).optional(),
  area: text,
  id: text,
  summary: text,
  access: z.object({ permissions: z.array(text), admit: work }, "expected an access such as inTenant(…)"),
  params: shape.optional(),
  query: shape.optional(),
  body: shape.optional(),
  answers: z.record(z.string(), z.object({ description: text, schema: shape.optional() })),
  problems: z.array(text),
  run: work,
});
const label = z.union([text, z.record(z.string(), text)], "expected a text, or one for each language");
const action = z.object({
  label,
  route: text,
  when: work.optional(),
  confirm: label.optional(),
  done: label.optional(),
  tone: z.enum(["primary", "danger"]).optional(),
});
const resource = z.object({
  one: text,
  many: text,
  members: z.array(z.looseObject({})),
  actions: z.record(
    z.string().regex(/^[a-z][a-z0-9-]*$/, "expected a name of lower-case letters and dashes"),
    action,
  ),
}, "expected a result of defineRecord");
const report = z.object({
  id: text,
  permissions: z.array(text),
  parts: z.array(z.object({ kind: z.enum(["table", "chart"]) })).min(1),
}, "expected a result of defineReport");
const title = z.object({ en: text, pt: text }, "expected a text in both languages: { en, pt }");
const file = z.instanceof(URL, { error: "expected a URL, such as new URL('./page.js', import.meta.url)" });
const card = z.object({ title, permission: text, read: work });
const page = z.object({
  path: text,
  title,
  permission: text,
  isInNavigation: z.boolean().optional(),
  render: work,
  submit: work.optional(),
  script: file.optional(),
  style: file.optional(),
});
const provider = z.object({ name: text, send: work });
const channel = z.object({
  name: text,
  displayName: text,
  address: z.object({ expected: text, fits: work, ofUsers: work.optional() }),
  providers: z.array(provider),
});

/** Queries of an export, by the name of the file. */
const exported = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "expected a name of lower-case letters, digits and hyphens"),
  work,
);
const personalData = z.strictObject({
  user: exported.optional(),
  tenant: exported.optional(),
  eraseUsers: work.optional(),
  eraseTenant: work.optional(),
});

/** The types that `assemble` relies on. They are checked at the start, because an extension is not always type-checked. */
const EXTENSION = z.object({
  permissions: z.array(permission),
  tenantRoles: z.record(z.string(), z.array(text)),
  jobs: z.array(job),
  reports: z.array(report),
  resources: z.array(resource),
  routes: z.array(route),
  overview: z.array(card),
  pages: z.array(page),
  events: z.record(z.string(), z.object({ description: text, example: z.unknown() })),
  channels: z.array(channel),
  providers: z.array(provider.extend({ channel: text })),
  personalData,
  migrations: z.instanceof(URL, {
    error: "expected a URL, such as new URL('./migrations/', import.meta.url)",
  }),
}).partial();

/** @throws Error that names the extension, the member and what was expected, if a declaration is malformed */
export function checkDeclarations(extension: Extension): void {
  const [issue] = EXTENSION.safeParse(extension).error?.issues ?? [];
  if (!issue) return;
  const member = issue.path.map((part) => typeof part === "number" ? `[${part}]` : `.${String(part)}`).join(
    "",
  );
  throw new Error(`extension ${extension.name}: ${member.slice(1)}: ${issue.message}`);
}
