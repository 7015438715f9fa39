import { z } from "zod";
import { keepsFiles } from "../../infra/areas.ts";
import type { Config } from "../../infra/config.ts";
import { PICTURE_FITS, PICTURE_FORMATS } from "../../infra/pictures/pictures.ts";
import { problem } from "../problems/problem.ts";

const MAX_SIDE = 4096;
const side = z.int().min(1).max(MAX_SIDE).optional();
const renditionSize = z.strictObject({
  width: side,
  height: side,
  fit: z.enum(PICTURE_FITS).default("inside"),
  format: z.enum(PICTURE_FORMATS).default("webp"),
}).refine(({ width, height }) => width ?? height, "expected a width or a height");
/** A size of the pictures of a profile's files, in pixels. */
export type RenditionSize = z.output<typeof renditionSize>;

/** The size and content types allowed for one kind of upload. */
export interface FileProfile {
  name: string;
  maxBytes: number;
  /** Media types in lower case, without parameters. */
  contentTypes: readonly string[];
  /** True: only the service itself may create files with this profile. */
  serviceOnly: boolean;
  /** The sizes in which pictures of its files are made, by name; absent: none. */
  renditions?: Readonly<Record<string, RenditionSize>>;
}

const MEBIBYTE = 1024 * 1024;
/**
 * S3's limit for one PUT and for one copy call. A larger file could be uploaded in parts but not copied for its scan.
 */
const LARGEST_FILE = 5 * 1024 * MEBIBYTE;
const OOXML = "application/vnd.openxmlformats-officedocument.";
const OPEN_DOCUMENT = "application/vnd.oasis.opendocument.";
const OFFICE = [
  `${OOXML}wordprocessingml.document`,
  `${OOXML}spreadsheetml.sheet`,
  `${OOXML}presentationml.presentation`,
  `${OPEN_DOCUMENT}text`,
  `${OPEN_DOCUMENT}spreadsheet`,
  `${OPEN_DOCUMENT}presentation`,
  "application/msword",
  "application/vnd.ms-excel",
  "application/vnd.ms-powerpoint",
];

/**
 * The profile of exports of personal data, and of results of imports into several tenants. Only the user who asked for such
 * a file sees it.
 */
export const EXPORT_PROFILE = "export";

/** The type of exports of personal data. The other files of their profile have another one. */
export const EXPORT_CONTENT_TYPE = "application/zip";

/** True for exports of personal data. `lockReadable` says it in SQL. */
export const isPersonalExport = (o: { profile: string; declaredContentType: string }): boolean =>
  o.profile === EXPORT_PROFILE && o.declaredContentType === EXPORT_CONTENT_TYPE;

/** The built-in profiles, which the configuration can override. */
export const defaultProfiles: readonly FileProfile[] = [
  {
    name: "document",
    maxBytes: 50 * MEBIBYTE,
    contentTypes: ["application/pdf", ...OFFICE, "text/plain", "text/csv"],
    serviceOnly: false,
    renditions: { preview: { width: 640, height: 900, fit: "inside", format: "webp" } },
  },
  {
    name: "image",
    maxBytes: 20 * MEBIBYTE,
    contentTypes: ["image/png", "image/jpeg", "image/webp", "image/gif"],
    serviceOnly: false,
    renditions: {
      thumbnail: { width: 256, height: 256, fit: "cover", format: "webp" },
      preview: { width: 1280, height: 1280, fit: "inside", format: "webp" },
    },
  },
  {
    name: "archive",
    maxBytes: 200 * MEBIBYTE,
    contentTypes: ["application/zip", "application/gzip"],
    serviceOnly: false,
  },
  {
    name: "report",
    maxBytes: 500 * MEBIBYTE,
    contentTypes: ["application/pdf", `${OOXML}spreadsheetml.sheet`, "text/csv", "text/html"],
    serviceOnly: true,
  },
  {
    name: EXPORT_PROFILE,
    maxBytes: 500 * MEBIBYTE,
    contentTypes: ["application/zip", "text/csv"],
    serviceOnly: true,
  },
];

const contentType = z.string().transform(normalizeContentType).pipe(
  z.string().regex(/^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+-]*$/, "expected a media type such as application/pdf"),
);
const profileOverride = z.strictObject({
  maxBytes: z.int().positive().max(LARGEST_FILE).optional(),
  contentTypes: z.array(contentType).min(1).optional(),
  serviceOnly: z.boolean().optional(),
  renditions: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/), renditionSize).optional(),
});

/**
 * Parses the configured profiles: JSON text of an object `name → {maxBytes?, contentTypes?, serviceOnly?, renditions?}`. Given
 * members replace those of the default profile. A new name adds a profile and needs `maxBytes` and `contentTypes`.
 */
export const profileOverrides = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    context.addIssue(`expected JSON: ${error instanceof Error ? error.message : error}`);
    return z.NEVER;
  }
}).pipe(
  z.record(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/), profileOverride).superRefine((overrides, context) => {
    for (const [name, { maxBytes, contentTypes }] of Object.entries(overrides)) {
      const known = defaultProfiles.some((profile) => profile.name === name);
      if (known || (maxBytes !== undefined && contentTypes !== undefined)) continue;
      context.addIssue({
        code: "custom",
        path: [name],
        message: "a new profile needs maxBytes and contentTypes",
      });
    }
  }),
);

/** The profiles by name: the defaults with the configured overrides. */
export function fileProfiles(
  overrides: z.output<typeof profileOverrides> = {},
): ReadonlyMap<string, FileProfile> {
  const profiles = new Map(defaultProfiles.map((profile) => [profile.name, profile]));
  for (const [name, override] of Object.entries(overrides)) {
    const { maxBytes = 0, contentTypes = [], serviceOnly = false, renditions } = {
      ...profiles.get(name),
      ...override,
    };
    profiles.set(name, { name, maxBytes, contentTypes, serviceOnly, ...renditions ? { renditions } : {} });
  }
  return profiles;
}

/** Other names that browsers and operating systems use for some types. */
const ALIASES = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/pjpeg", "image/jpeg"],
  ["image/x-png", "image/png"],
  ["image/apng", "image/png"],
  ["application/x-pdf", "application/pdf"],
  ["application/x-zip", "application/zip"],
  ["application/x-zip-compressed", "application/zip"],
  ["application/x-gzip", "application/gzip"],
  ["application/csv", "text/csv"],
  ["text/x-csv", "text/csv"],
  ["application/x-csv", "text/csv"],
  ["text/comma-separated-values", "text/csv"],
  ["text/x-comma-separated-values", "text/csv"],
]);

/** Normalizes a media type: lower case, no parameters such as charset, common aliases replaced. */
export function normalizeContentType(contentType: string): string {
  const essence = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return ALIASES.get(essence) ?? essence;
}

/** True if a reservation with this profile may declare this type. */
export function declaredTypeAllowed(profile: FileProfile, declared: string): boolean {
  return profile.contentTypes.includes(normalizeContentType(declared));
}

/**
 * True if the profile allows the detected type. The detected type decides, not the declared one: a JPEG named .png is
 * allowed as an image. Text types without a signature (CSV, JSON, …) are detected as `text/plain`; for them the
 * declared type decides.
 */
export function typeAllowed(profile: FileProfile, declared: string, detected: string): boolean {
  if (profile.contentTypes.includes(detected)) return true;
  return detected === "text/plain" && isUnmarkedText(normalizeContentType(declared)) &&
    declaredTypeAllowed(profile, declared);
}

/** True for a text type whose content has no signature. */
function isUnmarkedText(type: string): boolean {
  return type.startsWith("text/") && type !== "text/html" ||
    /^application\/(?:.*[+-])?(?:json|yaml)$/.test(type);
}

const cache = new WeakMap<Pick<Config, "FILE_PROFILES">, ReadonlyMap<string, FileProfile>>();

/** The profiles of a configuration; parsed once and cached. @throws Error naming the mistakes in FILE_PROFILES */
export function profilesOf(config: Pick<Config, "FILE_PROFILES">): ReadonlyMap<string, FileProfile> {
  const cached = cache.get(config);
  if (cached) return cached;
  const parsed = config.FILE_PROFILES === null ? undefined : profileOverrides.safeParse(config.FILE_PROFILES);
  if (parsed && !parsed.success) {
    const mistakes = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw new Error(`FILE_PROFILES: ${mistakes.join("; ")}`);
  }
  const profiles = fileProfiles(parsed?.data);
  cache.set(config, profiles);
  return profiles;
}

/** @throws FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE */
export function requireContentType(profile: FileProfile, contentType: string): void {
  if (declaredTypeAllowed(profile, contentType)) return;
  const allowed = profile.contentTypes.join(", ");
  throw problem(
    "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
    `The profile ${profile.name} does not allow ${contentType}; expected one of ${allowed}.`,
  );
}

/** @throws FILE_TOO_LARGE_UNPROCESSABLE */
export function requireSize(profile: FileProfile, sizeBytes: number): void {
  if (sizeBytes <= profile.maxBytes) return;
  throw problem(
    "FILE_TOO_LARGE_UNPROCESSABLE",
    `The file has ${sizeBytes} bytes; the profile ${profile.name} allows at most ${profile.maxBytes} bytes.`,
  );
}

/** The profile of a new file. @param usable the profiles that may be chosen @throws FILE_PROFILE_UNKNOWN */
export function requireProfile(
  p: { config: Config },
  name: string,
  usable: (profile: FileProfile) => boolean = () => true,
): FileProfile {
  if (!keepsFiles(p.config)) {
    throw problem("FILE_PROFILE_UNKNOWN", `The profile "${name}" cannot be used: AREAS leaves out files.`);
  }
  const profiles = profilesOf(p.config);
  const profile = profiles.get(name);
  if (profile && usable(profile)) return profile;
  const allowed = [...profiles.values()].filter(usable).map((each) => each.name).join(", ");
  throw problem("FILE_PROFILE_UNKNOWN", `The profile "${name}" cannot be used; expected one of ${allowed}.`);
}
