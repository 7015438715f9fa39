import { type AreasOn, keepsFiles } from "../infra/areas.ts";
import { loadLater } from "../infra/load_later.ts";
import type { TimedWork } from "./jobs/instance/due_times.ts";
import type { AttachedFiles } from "./notifications/platform.ts";
import type { ServicePlatform } from "./platform.ts";
import type { ReportExtensions } from "./reports/threads/reports.ts";
import type { PersonalData } from "./shared/personal_data.ts";

const files = () => loadLater<typeof import("./files/open_files.ts")>(import.meta, "./files/open_files.ts");
const reports = () =>
  loadLater<typeof import("./reports/threads/reports.ts")>(import.meta, "./reports/threads/reports.ts");
const schedules = () =>
  loadLater<typeof import("./reports/schedules/schedule_runs.ts")>(
    import.meta,
    "./reports/schedules/schedule_runs.ts",
  );
const personalData = () => loadLater<typeof import("./personal_data.ts")>(import.meta, "./personal_data.ts");

const hasDataRequests = (o: AreasOn): boolean => o.AREAS.has("access") && keepsFiles(o);

/** Loads the modules of all parts that a service opens, so that one import loads them. */
export async function loadAreaParts(o: AreasOn): Promise<void> {
  await Promise.all([
    keepsFiles(o) && files(),
    o.AREAS.has("reports") && Promise.all([reports(), schedules()]),
    hasDataRequests(o) && personalData(),
  ]);
}

type FileParts = Pick<ServicePlatform, "objects" | "scanner" | "reservationWriter" | "attachedFiles">;

/** The members of the platform that only the registry of files uses. */
export async function openFiles(
  o: Parameters<Awaited<ReturnType<typeof files>>["openFiles"]>[0],
): Promise<FileParts> {
  if (keepsFiles(o.config)) return await (await files()).openFiles(o);
  return {
    objects: absent("the object store"),
    scanner: absent("the scanner"),
    reservationWriter: absent("the registry of files"),
    attachedFiles: formerAttachments,
  };
}

const loadAttachedFiles = async (): Promise<AttachedFiles> =>
  (await loadLater<typeof import("./files/service_files.ts")>(import.meta, "./files/service_files.ts"))
    .attachedFiles;

/** Without files, new messages attach none. Those of before keep theirs and release them. */
const formerAttachments: AttachedFiles = {
  lock: () => Promise.resolve(new Map()),
  hold: async (...o) => await (await loadAttachedFiles()).hold(...o),
  release: async (...o) => await (await loadAttachedFiles()).release(...o),
  readSize: async (...o) => await (await loadAttachedFiles()).readSize(...o),
  open: async (...o) => await (await loadAttachedFiles()).open(...o),
};

/** The reports of the service and its extensions. */
export const openReports = async (
  config: ServicePlatform["config"],
  extensions: ReportExtensions,
): Promise<ServicePlatform["reports"]> =>
  config.AREAS.has("reports") ? await (await reports()).openReports(config, extensions) : absent("reports");

/** The work of areas that is due at times stored in the database. */
export const timedWorkOf = async (p: ServicePlatform): Promise<TimedWork[]> =>
  p.config.AREAS.has("reports") ? [(await schedules()).scheduleWork(p)] : [];

/** The work of each area on personal data, which only data requests and erasure do. */
export const personalDataOf = async (o: AreasOn): Promise<readonly PersonalData<never>[]> =>
  hasDataRequests(o) ? (await personalData()).allPersonalData : [];

/** Stands for a part that is not opened because its area is off: no route and no job of the service reaches it. */
export const absent = <T extends object>(name: string): T =>
  new Proxy({} as T, {
    get(_, member) {
      if (member === "then") return undefined; // a promise that resolves with it asks for this
      throw new Error(`${name} is not open: its area is not in AREAS`);
    },
  });
