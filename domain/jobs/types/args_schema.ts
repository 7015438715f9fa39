import { z } from "zod";
import { invalid } from "../../problems/problem.ts";
import { MARK, markedPaths, MAX_SEARCHABLE } from "../searchable_args.ts";
import { requireShallow } from "../../shared/storable.ts";

/** Maximum size of a schema, in characters of its JSON. */
const SCHEMA_LENGTH = 32_768;

/**
 * Checks arguments against a JSON Schema (2020-12). `format` is not checked. A reference must point into the schema, and
 * patterns have the syntax of RE2. A check that costs too much is refused: callers choose both schema and arguments.
 * @throws VALIDATION_ERROR if it is not a valid schema
 */
export async function readArgsSchema(argsSchema: string): Promise<z.ZodType> {
  if (argsSchema.length > SCHEMA_LENGTH) {
    throw refused(`expected a schema of at most ${SCHEMA_LENGTH} characters`);
  }
  const schema = JSON.parse(argsSchema);
  requireShallow(schema, "argsSchema");
  const findMistake = await compile(schema);
  requireMarks(schema);
  return z.unknown().superRefine((args, context) => {
    const mistake = findMistake(args);
    if (mistake) context.addIssue({ code: "custom", ...mistake });
  });
}

async function compile(schema: Record<string, unknown>) {
  const { compileSchema } = await import("./schema_validator.ts"); // loading it takes tens of milliseconds
  try {
    return compileSchema(schema);
  } catch (error) {
    throw refused(`expected a JSON Schema (2020-12): ${(error as Error).message}`);
  }
}

/** @throws VALIDATION_ERROR for a mark that is not `true` or a list of paths, or too many marks */
function requireMarks(schema: Record<string, unknown>): void {
  const mark = schema[MARK];
  if (mark !== undefined && !(Array.isArray(mark) && mark.every((path) => PATH.test(String(path))))) {
    throw refused(`${MARK}: expected a list of paths such as customer.id at the root, or true at a property`);
  }
  const paths = markedPaths(schema);
  if (paths.length > MAX_SEARCHABLE) {
    throw refused(`${MARK}: expected at most ${MAX_SEARCHABLE} searchable arguments, found ${paths.length}`);
  }
}

const PATH = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const refused = (message: string) => invalid({ argsSchema: [message] });
