/** Number of instances behind the address that tests use; see `setup`. */
export const INSTANCES = Number(Deno.env.get("STEWARD_TEST_INSTANCES") ?? 1);

/**
 * A test of state inside one instance. With several instances, its requests would reach different instances. So it is then
 * reported as ignored, with name and reason.
 */
export function inOneInstance(name: string, reason: string, fn: () => void | Promise<void>): void {
  const isIgnored = INSTANCES > 1;
  Deno.test({ name: isIgnored ? `${name} (one instance only: ${reason})` : name, ignore: isIgnored, fn });
}
