/** So many instances answer a test's callers in turn, behind one address: see `setup`. */
export const INSTANCES = Number(Deno.env.get("STEWARD_TEST_INSTANCES") ?? 1);

/**
 * A test of what one instance keeps to itself, which requests to several cannot show. Where several answer, it is
 * reported as ignored, by name and with the reason; otherwise it is a test like any other.
 */
export function inOneInstance(name: string, reason: string, fn: () => void | Promise<void>): void {
  const isIgnored = INSTANCES > 1;
  Deno.test({ name: isIgnored ? `${name} (one instance only: ${reason})` : name, ignore: isIgnored, fn });
}
