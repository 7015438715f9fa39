/** The version of the service. A test checks that deno.json has the same. */
export const VERSION = "0.2.0";
