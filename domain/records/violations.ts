import { PostgresError, SQLSTATE } from "../../infra/postgres/failures.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { constraintProblem } from "../problems/constraints.ts";
import { invalid, type Problem, problem } from "../problems/problem.ts";
import { memberOf } from "./members.ts";
import type { RecordSource } from "./record_type.ts";

const NOT_NULL = "23502";
const CHECK = "23514";
const EXCLUSION = "23P01";
const RESTRICT = "23001";
const DATA = "22";

/** Wraps a source so that values which the table refuses are answered as errors of the request (400 or 409), not as 500. */
export const refusingViolations = <Result, Create, Update>(
  source: RecordSource<Result, Create, Update>,
): RecordSource<Result, Create, Update> => ({
  ...source,
  create: (...args) => checked(args[1], source.create(...args)),
  update: (...args) => checked(args[1], source.update(...args)),
  remove: (...args) => checked(args[0], source.remove(...args), { isRemoval: true }),
});

/** Runs a change and checks deferred constraints at once, because at the end of the transaction it is too late to answer them. */
async function checked<T>(tx: Tx, change: Promise<T>, o = { isRemoval: false }): Promise<T> {
  try {
    const changed = await change;
    await tx`set constraints all immediate`;
    return changed;
  } catch (failure) {
    throw constraintProblem(failure) ?? violationProblem(failure, o) ?? failure;
  }
}

/** The problem for values that a constraint or the type of a column refuses; null for any other failure. */
function violationProblem(failure: unknown, o: { isRemoval: boolean }): Problem | null {
  if (!(failure instanceof PostgresError)) return null;
  const { code, detail = "", constraint_name: rule, message } = failure;
  switch (code) {
    case RESTRICT:
      return conflict("Other records refer to it");
    case SQLSTATE.foreignKeyViolation: {
      if (o.isRemoval) return conflict("Other records refer to it");
      // Only the list in parentheses is read, because the words around it are in the language of the server.
      const columns = /\((.*?)\)=/.exec(detail)?.[1]?.split(", ") ?? [];
      const fields = columns.filter((column) => column !== "tenant_id").map(memberOf);
      return invalid(
        Object.fromEntries(fields.map((field) => [field, ["expected the id of an existing record"]])),
      );
    }
    case SQLSTATE.uniqueViolation:
    case EXCLUSION:
      return conflict(`Another record already has these values (constraint ${rule})`);
    case NOT_NULL:
      return invalid({ [memberOf(failure.column_name ?? "")]: ["expected a value"] });
    case CHECK:
      return invalid({ [rule || "value"]: [rule ? "the values violate this constraint" : message] });
    default:
      return code.startsWith(DATA) ? invalid({ value: [message] }) : null;
  }
}

const conflict = (why: string) => problem("RESOURCE_CONFLICT", `${why}, so nothing was changed.`);
