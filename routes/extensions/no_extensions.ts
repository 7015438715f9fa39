import { EVENT_TYPES } from "../../domain/events/event_types.ts";
import type { Assembly } from "./assemble.ts";

/** The assembly of a service without extensions. Checking the names of extensions loads every area; this loads none. */
export const noExtensions = (): Assembly => ({
  catalog: { permissions: [], roleGrants: [] },
  eventTypes: new Map(Object.entries(EVENT_TYPES)),
  jobTypes: [],
  endpoints: [],
  loadSections: () => Promise.resolve([]),
  reports: { modules: [], databases: {} },
  channelProviders: [],
  personalData: [],
  migrations: [],
});
