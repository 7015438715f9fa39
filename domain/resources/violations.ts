import { PostgresError, SQLSTATE } from "../../infra/postgres/failures.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { constraintProblem } from "../problems/constraints.ts";
import { invalid, type Problem, problem } from "../problems/problem.ts";
import type { ResourceSource } from "./resource.ts";

const NOT_NULL = "23502";
const CHECK = "23514";
const EXCLUSION = "23P01";
const DATA = "22";

/** The source, whose changes answer values that the table refuses as mistakes of the request, not of the service. */
export const refusingViolations = <Result, Create, Update>(
  source: ResourceSource<Result, Create, Update>,
): ResourceSource<Result, Create, Update> => ({
  ...source,
  create: (...args) => checked(args[1], source.create(...args)),
  update: (...args) => checked(args[1], source.update(...args)),
  remove: (...args) => checked(args[0], source.remove(...args)),
});

/** Deferred constraints are checked with the change, not when the transaction ends. */
async function checked<T>(tx: Tx, change: Promise<T>): Promise<T> {
  try {
    const changed = await change;
    await tx`set constraints all immediate`;
    return changed;
  } catch (failure) {
    throw constraintProblem(failure) ?? violationProblem(failure) ?? failure;
  }
}

/** The problem for values that a constraint or the type of a column refuses; null for any other failure. */
function violationProblem(failure: unknown): Problem | null {
  if (!(failure instanceof PostgresError)) return null;
  const { code, detail = "", constraint_name: rule, message } = failure;
  switch (code) {
    case SQLSTATE.foreignKeyViolation: {
      if (/is still referenced/.test(detail)) return conflict("Other records refer to it");
      const columns = /^Key \((.*?)\)=/.exec(detail)?.[1]?.split(", ") ?? [];
      const fields = columns.filter((column) => column !== "tenant_id").map(fieldOf);
      return invalid(Object.fromEntries(fields.map((field) => [field, ["names no existing record"]])));
    }
    case SQLSTATE.uniqueViolation:
    case EXCLUSION:
      return conflict(`Another record excludes these values (${rule})`);
    case NOT_NULL:
      return invalid({ [fieldOf(failure.column_name ?? "")]: ["expected a value"] });
    case CHECK:
      return invalid({ [rule ?? ""]: ["this rule refuses the values"] });
    default:
      return code.startsWith(DATA) ? invalid({ value: [message] }) : null;
  }
}

const conflict = (why: string) => problem("RESOURCE_CONFLICT", `${why}, so nothing was changed.`);

const fieldOf = (column: string) =>
  column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
