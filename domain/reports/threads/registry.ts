import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { FORMAT, type ReportFormat } from "../../documents/formats.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { holdsAll } from "../definition/permissions.ts";
import * as columns from "../definition/report_template.ts";
import { defineReport, type ReportTemplate } from "../definition/report_template.ts";
import { BUILT_IN_REPORTS } from "../templates/mod.ts";

/** The kit passed to template files of a deployment, so that they need no imports. */
const REPORT_KIT = { z, ...columns, defineReport, FORMAT };
export type ReportKit = typeof REPORT_KIT;

/** The report templates of a service, by id. */
export type ReportTemplates = ReadonlyMap<string, ReportTemplate>;

/**
 * Loads the built-in templates and those of a deployment.
 * @param o.folder the default export of each `.ts` or `.js` file there must be a function that takes the kit and returns
 * a report
 * @param o.extensions URLs of extension modules; `assemble` has checked them
 * @throws Error if the folder cannot be read (names the setting), a file returns no report, or two templates share an
 * id
 */
export async function loadReportTemplates(
  { folder, extensions }: { folder: string | null; extensions: readonly string[] },
): Promise<ReportTemplates> {
  const inFolder = folder === null ? [] : await Promise.all(templateFiles(folder).map(importTemplate));
  const ofExtensions = await Promise.all(extensions.map(reportsOfModule));
  const templates = new Map<string, ReportTemplate>();
  for (const template of [...BUILT_IN_REPORTS, ...inFolder, ...ofExtensions.flat()]) {
    if (templates.has(template.id)) throw new Error(`two report templates have the id "${template.id}"`);
    templates.set(template.id, template);
  }
  return templates;
}

async function reportsOfModule(url: string): Promise<ReportTemplate[]> {
  const { default: extension } = await import(url);
  return extension.reports ?? [];
}

function templateFiles(folder: string): string[] {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)];
  } catch (cause) {
    throw unreadable(folder, cause as Error);
  }
  // Symbolic links count, because mounted configuration often consists of links to files.
  const names = entries.filter((entry) => !entry.isDirectory).map(({ name }) => name);
  return names.filter((name) => /\.[jt]s$/.test(name)).sort().map((name) => join(resolve(folder), name));
}

function unreadable(folder: string, cause: Error): Error {
  const path = resolve(folder);
  const reason = cause instanceof Deno.errors.NotCapable
    ? `this process may not read it; move it into ${Deno.cwd()} or add it to --allow-read, as in --allow-read=.,/run/secrets,/usr/bin/ldd,${path}`
    : cause instanceof Deno.errors.NotFound
    ? "the folder does not exist"
    : cause.message;
  return new Error(`REPORT_TEMPLATES_DIR names ${path}, which cannot be read: ${reason}`, { cause });
}

async function importTemplate(path: string): Promise<ReportTemplate> {
  const { default: make } = await import(pathToFileURL(path).href);
  if (typeof make !== "function") {
    throw new Error(`${path}: expected a default export that is a function and takes the report kit`);
  }
  const template = make(REPORT_KIT);
  if (typeof template?.id !== "string" || !Array.isArray(template.parts)) {
    throw new Error(`${path}: its default export returned no report; expected the result of defineReport`);
  }
  return template;
}

/** The templates whose permissions the caller holds, in list order. */
export const visibleTemplates = (templates: ReportTemplates, caller: Caller): ReportTemplate[] =>
  [...templates.values()].filter((template) => holdsAll(caller, template.permissions));

/** @throws REPORT_TEMPLATE_NOT_FOUND */
export function requireTemplate(templates: ReportTemplates, id: string): ReportTemplate {
  const template = templates.get(id);
  if (template) return template;
  throw problem("REPORT_TEMPLATE_NOT_FOUND", `There is no report template with the id "${id}".`);
}

/** The formats that a template supports. */
export const formatsOf = (template: ReportTemplate): ReportFormat[] =>
  template.formats ?? Object.values(FORMAT);
