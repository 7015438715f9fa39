import { z } from "zod";
import {
  PICTURE_FITS,
  PICTURE_FORMATS,
  PICTURED_TYPES,
  PictureRefused,
} from "../../infra/pictures/pictures.ts";
import { ObjectNotFound } from "../../infra/objectstore/errors.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { invalid, problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { enumName, orUndefined, time } from "../shared/shapes.ts";
import { profilesOf, type RenditionSize } from "./profiles.ts";
import { contentKey, type DownloadUrl } from "./download.ts";
import { type FileRow, lockVisibleFile } from "./file.ts";
import { endWrite, newFinalKey, registerObject } from "./objects.ts";
import type { FilePlatform } from "./platform.ts";

/** The address of a picture stays the same for a day, so that browsers keep the picture; it is valid for one more. */
const ADDRESS_SECONDS = 2 * 24 * 60 * 60;
const MAX_SOURCE_BYTES = 100 * 1024 * 1024;
/** A picture is given up after this number of workers that died while they made it. */
const MAX_DEATHS = 3;
/** Time after the start of an attempt at which its picture is deleted, if a crash has left it behind. */
const ORPHAN_MS = 60 * 60_000;

/** A picture of a file in one of the sizes of its profile. */
export const Rendition = z.object({
  name: z.string().describe("The name of the size in the file's profile"),
  status: z.enum(["Pending", "Ready", "Failed"]),
  contentType: z.string(),
  width: z.int().nullable(),
  height: z.int().nullable(),
  sizeBytes: z.int().nullable(),
  reason: z.string().nullable().describe("Why a Failed one could not be made"),
  createdAt: time,
  settledAt: time.nullable(),
}).meta({ id: "FileRendition" });
export type Rendition = z.output<typeof Rendition>;

const side = orUndefined(z.int().min(1));

/** The size of a picture: one of those that the profile of the file lists. */
export const RenditionRequest = z.object({
  width: side.meta({ example: 256 }),
  height: side.meta({ example: 256 }),
  fit: enumName(PICTURE_FITS).meta({ example: "cover" }),
  format: enumName(PICTURE_FORMATS).meta({ example: "webp" }),
}).meta({ id: "FileRenditionRequest" });

const columns = (q: Sql) =>
  q`name, status, content_type, width, height, size_bytes, reason, created_at, settled_at`;

/** Lists the pictures of a file, by name. */
export const listRenditions = (q: Sql, fileId: string): Promise<Rendition[]> =>
  q<Rendition[]>`select ${columns(q)} from file_renditions where file_id = ${fileId} order by name`;

/**
 * Makes a picture of an Available image, or of the first page of a PDF, by a job. A repeated call returns the same picture.
 * A failed one stays failed: the content would fail again.
 * @throws FILE_NOT_FOUND, VALIDATION_ERROR for a size that the profile does not list,
 * FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE, the errors of `contentKey`
 */
export async function makeRendition(
  p: FilePlatform,
  caller: Caller,
  fileId: string,
  wanted: z.output<typeof RenditionRequest>,
): Promise<Rendition> {
  return await transact(p.sql, async (tx) => {
    const file = await lockVisibleFile(tx, caller, fileId); // a purge at the same time would leave a picture behind
    contentKey(file);
    const name = requireListed(p, file, wanted);
    requirePictured(file);
    const [row] = await tx<Rendition[]>`
      insert into file_renditions (file_id, name, content_type) values (${file.id}, ${name}, ${`image/${wanted.format}`})
      on conflict (file_id, name) do update set name = excluded.name returning ${columns(tx)}`;
    if (!row) throw new Error("an upsert returned no row");
    if (row.status === "Pending") {
      await enqueueJob(p, tx, renditionJob, { fileId: file.id, name }, {
        tenantId: file.tenantId,
        createdBy: caller.userId,
        traceId: caller.traceId,
        uniqueKey: `rendition:${file.id}:${name}`,
      });
    }
    return row;
  });
}

const sizesOf = (p: Pick<FilePlatform, "config">, file: FileRow): Record<string, RenditionSize> =>
  profilesOf(p.config).get(file.profile)?.renditions ?? {};

/** The name of a size, so that strangers cannot make work with sizes of their own. @throws VALIDATION_ERROR */
function requireListed(
  p: Pick<FilePlatform, "config">,
  file: FileRow,
  { width, height, fit, format }: z.output<typeof RenditionRequest>,
): string {
  const sizes = Object.entries(sizesOf(p, file));
  const listed = sizes.find(([, size]) =>
    size.width === width && size.height === height && size.fit === fit && size.format === format
  );
  if (listed) return listed[0];
  const known = sizes.map(([, s]) => `${s.width ?? "any"} x ${s.height ?? "any"} ${s.fit} ${s.format}`);
  throw invalid({
    width: [`expected a size of the profile ${file.profile}: ${known.join(", ") || "it has none"}`],
  });
}

/** @throws FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE */
function requirePictured({ detectedContentType: type }: FileRow): void {
  if (PICTURED_TYPES.includes(type ?? "")) return;
  throw problem(
    "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
    `The file is ${type ?? "of an unknown type"}; pictures are made of ${PICTURED_TYPES.join(", ")}.`,
  );
}

/**
 * Signs the address of a Ready picture. It shows the picture in the browser, and stays the same until midnight (UTC).
 * @throws FILE_RENDITION_NOT_FOUND, FILE_RENDITION_NOT_READY_CONFLICT, the errors of `contentKey`
 */
export async function giveRenditionUrl(
  p: Pick<FilePlatform, "sql" | "objects">,
  file: FileRow,
  name: string,
): Promise<DownloadUrl> {
  contentKey(file);
  const [row] = await p.sql<
    (Pick<Rendition, "status" | "contentType" | "reason"> & { objectKey: string | null })[]
  >`
    select status, content_type, reason, object_key from file_renditions where file_id = ${file.id} and name = ${name}`;
  if (!row) throw problem("FILE_RENDITION_NOT_FOUND", `The file has no picture "${name}".`);
  const { status, contentType, reason, objectKey } = row;
  if (objectKey === null) {
    const why = reason === null ? "" : `: ${reason}`;
    throw problem("FILE_RENDITION_NOT_READY_CONFLICT", `The picture "${name}" is ${status}${why}.`);
  }
  return p.objects.signInline(objectKey, { contentType, expiresInSeconds: ADDRESS_SECONDS });
}

/** Makes one picture. Outages of the store postpone it; content that cannot be decoded fails it, with its reason. */
export const renditionJob = defineJob({
  name: "files.render",
  args: z.object({ fileId: z.guid(), name: z.string() }),
  timeoutMs: 2 * 60_000,
  share: 1 / 4,
  async run({ fileId, name }, { platform: p, signal, lostLeases }: JobContext<FilePlatform>) {
    const [file] = await p.sql<FileRow[]>`select f.* from files f join file_renditions r on r.file_id = f.id
      where f.id = ${fileId} and r.name = ${name} and r.status = 'Pending'`;
    const size = file && sizesOf(p, file)[name];
    try {
      if (!file || !size || file.status !== "Available") throw new PictureRefused("the file has changed");
      if (lostLeases >= MAX_DEATHS) {
        throw new PictureRefused(`the worker died ${lostLeases} times while it made the picture`);
      }
      if (file.sizeBytes > MAX_SOURCE_BYTES) {
        throw new PictureRefused(`it has more than ${MAX_SOURCE_BYTES} bytes`);
      }
      const content = await p.objects.read(contentKey(file), { signal });
      const bytes = await new Response(content).bytes() as Uint8Array<ArrayBuffer>;
      const contentType = file.detectedContentType ?? "";
      const picture = await p.pictures.make({ bytes, contentType, size }, signal);
      await store(p, { fileId, name }, picture);
    } catch (error) {
      if (!(error instanceof PictureRefused || error instanceof ObjectNotFound)) throw error;
      await p.sql`
        update file_renditions set status = 'Failed', reason = ${
        error.message.slice(0, 500)
      }, settled_at = now()
        where file_id = ${fileId} and name = ${name} and status = 'Pending'`;
    }
  },
});

/** Writes a picture. It is kept only if the file is still Available and no other attempt was faster. */
async function store(
  p: FilePlatform,
  { fileId, name }: { fileId: string; name: string },
  picture: { bytes: Uint8Array<ArrayBuffer>; width: number; height: number },
): Promise<void> {
  const key = newFinalKey();
  const { bytes, width, height } = picture;
  const writableUntil = new Date(p.clock.now().getTime() + ORPHAN_MS);
  await registerObject(p.sql, { key, fileId, writableUntil });
  await p.objects.write(key, new Blob([bytes]).stream(), { contentType: "application/octet-stream" });
  await transact(p.sql, async (tx) => {
    const [available] = await tx`select from files where id = ${fileId} and status = 'Available' for share`;
    const kept = available && await tx`
      update file_renditions set status = 'Ready', object_key = ${key}, width = ${width}, height = ${height},
        size_bytes = ${bytes.length}, settled_at = now()
      where file_id = ${fileId} and name = ${name} and status = 'Pending'`;
    await endWrite(tx, key, kept?.count === 1 ? null : p.clock.now());
  });
}
