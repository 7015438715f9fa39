/** How many instances answer a test's callers in turn behind one address; see `setup`. */
export const INSTANCES = Number(Deno.env.get("STEWARD_TEST_INSTANCES") ?? 1);

/**
 * A test of state that one instance keeps to itself, which requests spread over several instances cannot show. With several
 * instances it is reported as ignored, with name and reason; otherwise it is an ordinary test.
 */
export function inOneInstance(name: string, reason: string, fn: () => void | Promise<void>): void {
  const isIgnored = INSTANCES > 1;
  Deno.test({ name: isIgnored ? `${name} (one instance only: ${reason})` : name, ignore: isIgnored, fn });
}
