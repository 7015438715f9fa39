/** A path in the arguments of a job: `$.customer.id`; `*` stands for every member of its level. */
export const ARGS_PATH = /^\$(\.[A-Za-z0-9_*-]+)+$/;
export const ARGS_PATH_EXPECTED = "expected a path such as $.customer.id";

/** The member names of a path, joined by dots: the form of `SecretArg`. */
export const memberPath = (path: string): string => path.slice("$.".length);
