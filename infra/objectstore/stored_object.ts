/** A stored object. The ETag has no quotes. It is opaque, and not always an MD5. */
export interface StoredObject {
  sizeBytes: number;
  etag: string;
}
