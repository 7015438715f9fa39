import { CATALOGUE, isProblemCode, type ProblemCode } from "../problems/problem.ts";
import { CONSTRAINT_PROBLEMS } from "../problems/constraints.ts";
import type { CatalogueEntry } from "../problems/entry.ts";
import { type Label, labelIn } from "./labels.ts";

/** The not-found code of a record that declares none, such as `LABEL_NOT_FOUND`. */
export function notFoundProblem(one: string): ProblemCode {
  const words = wordsOf(one);
  const meaning = `The ${words} does not exist, is deleted, or belongs to another tenant.`;
  return derivedCode(`${constantOf(one)}_NOT_FOUND`, {
    status: 404,
    title: `No such ${words}`,
    meaning,
    fix: "Check the id.",
    user: {
      en: `${meaning} Reload the list.`,
      pt: "O registro não existe, foi excluído ou pertence a outro inquilino. Recarregue a lista.",
    },
  });
}

/**
 * A list with the code of a record's unique violations; empty if the record names no index.
 * @param unique the error message by index name; its translations are for the console
 */
export function uniqueProblem(one: string, unique: Record<string, Label>, table: string): ProblemCode[] {
  const indexes = Object.entries(unique);
  if (indexes.length === 0) return [];
  const words = wordsOf(one);
  const meaning =
    `The ${words} was not saved because the tenant has another one with a value that must be unique.`;
  const code = derivedCode(`${constantOf(one)}_ALREADY_EXISTS`, {
    status: 409,
    title: `The ${words} already exists`,
    meaning,
    fix: "Use another value, or change the existing one.",
    user: {
      en: `${meaning} Use another value.`,
      pt: "Não foi salvo: já existe um registro com este valor. Use outro valor.",
    },
  });
  const schema = table.includes(".") ? table.split(".")[0] : "public";
  for (const [index, text] of indexes) {
    const user = typeof text === "string" ? {} : text;
    CONSTRAINT_PROBLEMS[`${schema}.${index}`] = [code, labelIn(text, "en"), user];
  }
  return [code];
}

/** Returns the code, with a generic entry in the catalogue if it has none. */
function derivedCode(code: string, generic: CatalogueEntry): ProblemCode {
  if (!isProblemCode(code)) Object.assign(CATALOGUE, { [code]: generic });
  return code as ProblemCode;
}

const constantOf = (one: string): string => one.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
const wordsOf = (one: string): string => constantOf(one).replaceAll("_", " ").toLowerCase();
