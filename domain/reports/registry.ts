import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { Caller } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";
import { FORMAT } from "./formats.ts";
import { holdsAll } from "./permissions.ts";
import * as columns from "./report_template.ts";
import { defineReport, type ReportTemplate } from "./report_template.ts";
import { BUILT_IN_REPORTS } from "./templates/mod.ts";

/** What a template file of a deployment's own folder is given, so that it needs no imports. */
export const REPORT_KIT = { z, ...columns, defineReport, FORMAT };
export type ReportKit = typeof REPORT_KIT;

/** The report templates of a service, by id. */
export type ReportTemplates = ReadonlyMap<string, ReportTemplate>;

/**
 * The built-in templates and those of `folder`: every `.ts` or `.js` file there exports as default a function that
 * takes the kit and returns a report.
 * @throws Error naming the setting when the folder cannot be read, the file that has no report, or the id that two of
 * them share.
 */
export async function loadReportTemplates(folder: string | null): Promise<ReportTemplates> {
  const own = folder === null ? [] : await Promise.all(templateFiles(folder).map(importTemplate));
  const templates = new Map<string, ReportTemplate>();
  for (const template of [...BUILT_IN_REPORTS, ...own]) {
    if (templates.has(template.id)) throw new Error(`two report templates are called "${template.id}"`);
    templates.set(template.id, template);
  }
  return templates;
}

function templateFiles(folder: string): string[] {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)];
  } catch (cause) {
    throw unreadable(folder, cause as Error);
  }
  // Links count: mounted configuration comes as links to files.
  const names = entries.filter((entry) => !entry.isDirectory).map(({ name }) => name);
  return names.filter((name) => /\.[jt]s$/.test(name)).sort().map((name) => join(resolve(folder), name));
}

function unreadable(folder: string, cause: Error): Error {
  const path = resolve(folder);
  const mend = cause instanceof Deno.errors.NotCapable
    ? `this process may not read it; move it into ${Deno.cwd()} or name it in --allow-read, as in --allow-read=.,/usr/bin/ldd,${path}`
    : cause instanceof Deno.errors.NotFound
    ? "there is no such folder"
    : cause.message;
  return new Error(`REPORT_TEMPLATES_DIR names ${path}, which cannot be read: ${mend}`, { cause });
}

async function importTemplate(path: string): Promise<ReportTemplate> {
  const { default: make } = await import(pathToFileURL(path).href);
  if (typeof make !== "function") {
    throw new Error(`${path}: expected a default export, a function that takes the report kit`);
  }
  const template = make(REPORT_KIT);
  if (typeof template?.id !== "string" || typeof template.query !== "function") {
    throw new Error(`${path}: its default export returned no report; expected what defineReport returns`);
  }
  return template;
}

/** The templates whose data the caller may see, in order of listing. */
export const visibleTemplates = (templates: ReportTemplates, caller: Caller): ReportTemplate[] =>
  [...templates.values()].filter((template) => holdsAll(caller, template.permissions));

/** @throws REPORT_TEMPLATE_NOT_FOUND */
export function requireTemplate(templates: ReportTemplates, id: string): ReportTemplate {
  const template = templates.get(id);
  if (template) return template;
  throw problem("REPORT_TEMPLATE_NOT_FOUND", `No report template is called "${id}".`);
}
