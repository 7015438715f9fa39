import { Problem, problem, type ProblemCode } from "../../problems/problem.ts";

/** The detail error keywords of RFC 7644, 3.12. */
type ScimType =
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "mutability"
  | "noTarget"
  | "tooMany"
  | "uniqueness";

const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";

/** Creates a refusal (400) with one of SCIM's keywords. @param detail says what was found and expected */
export const scimProblem = (scimType: ScimType, detail: string): Problem =>
  problem("VALIDATION_ERROR", detail, { members: { scimType } });

/** The keywords of problems that other functions of the area throw. */
const TYPES: Partial<Record<ProblemCode, ScimType>> = {
  ROLE_ALREADY_EXISTS: "uniqueness",
  USER_ALREADY_ASSIGNED: "uniqueness",
  USER_ALREADY_EXISTS: "uniqueness",
  USER_EXTERNAL_ID_CONFLICT: "uniqueness",
  VALIDATION_ERROR: "invalidValue",
};

/** A refusal in the format of SCIM, with the problem's code and errors, whose pages say how to fix it. */
export function scimError({ code, status, message, extras }: Problem) {
  const { errors, members } = extras;
  const isMalformed = errors !== undefined && !Array.isArray(errors) && Object.hasOwn(errors, "body");
  const scimType = members?.scimType ?? (isMalformed ? "invalidSyntax" : TYPES[code]);
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...scimType ? { scimType } : {},
    detail: message,
    code,
    ...errors ? { errors } : {},
  };
}
