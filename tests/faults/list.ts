import { readPlantedFaults } from "../support/planted_faults.ts";

/** The tests of an area: prefixes of paths in tests/. */
export const TESTS_OF = {
  "access": ["domain/access/", "routes/access/"],
  "audit": ["routes/access/audit_log", "domain/audit/", "routes/user_data/"],
  "console": ["domain/console/", "routes/console/"],
  "events": ["domain/events/", "routes/events/"],
  "extensions": ["routes/extensions/", "scripts/example/"],
  "files": ["domain/files/", "routes/files/"],
  "infra": ["infra/", "main_test.ts"],
  "jobs": ["domain/jobs/", "routes/jobs/", "simulation/"],
  "looks": ["domain/looks/", "routes/looks/"],
  "notifications": ["domain/notifications/", "domain/templates/", "routes/notifications/"],
  "oauth": ["routes/oauth/"],
  "reports": ["domain/documents/", "domain/reports/", "routes/reports/"],
  "requests": ["domain/requests/", "domain/shared/", "routes/records/", "routes/shared/"],
  "scripts": ["scripts/"],
  "sign-in": ["domain/access/", "infra/sign", "routes/auth/"],
  "user data": ["domain/user_data/", "routes/access/imports/", "routes/user_data/"],
} as const satisfies Record<string, string[]>;

/** These tests walk all endpoints, so they are tests of each area. */
export const OF_ALL_AREAS = ["routes/contract/", "routes/isolation"];

/** A mistake that a reviewer would fear. */
export interface Fault {
  name: string;
  area: keyof typeof TESTS_OF;
  file: string;
  /** Occurs once in the file. */
  text: string;
  replacement: string;
  /** Tests that could see it: prefixes of paths in tests/; absent: those of the area. */
  tests?: string[];
}

export const FAULTS: readonly Fault[] = readPlantedFaults(import.meta.resolve("./faults.txt")).map(
  ({ headings: [title = "", file = "", tests], from, to }) => {
    const [, area = "", name = ""] = /^(.+?): (.+)$/.exec(title) ?? [];
    if (!Object.hasOwn(TESTS_OF, area)) throw new Error(`${title}: ${area} is no area`);
    return {
      name,
      area: area as Fault["area"],
      file,
      text: from,
      replacement: to,
      ...(tests ? { tests: tests.split(" ").slice(1) } : {}),
    };
  },
);
