/** The areas of the product that a service may leave out. */
export const AREA_NAMES = [
  "access",
  "jobs",
  "files",
  "notifications",
  "reports",
  "events",
  "records",
  "oauth",
] as const;
export type AreaName = typeof AREA_NAMES[number];

/** The kinds of old rows that may be archived. */
export const ARCHIVE_KINDS = ["jobs", "messages", "events"] as const;
export type ArchiveKind = typeof ARCHIVE_KINDS[number];

/** The areas of a service that are on. */
export interface AreasOn {
  AREAS: ReadonlySet<AreaName>;
}

/** True if no area is off. */
export const hasAllAreas = ({ AREAS }: AreasOn): boolean => AREA_NAMES.every((area) => AREAS.has(area));

/** The areas, as AREAS takes them. */
export const areaList = (areas: AreasOn["AREAS"]): string =>
  AREA_NAMES.filter((area) => areas.has(area)).join();

/** True if the registry of files works: its routes are served, or reports keep their documents in it. */
export const keepsFiles = ({ AREAS }: AreasOn): boolean => AREAS.has("files") || AREAS.has("reports");
