import type { Sql } from "../../infra/postgres/postgres.ts";
import { permissionCodes } from "./held_permissions.ts";
import { givenBy } from "./key_permissions.ts";
import { digest } from "./secrets.ts";

/** What is known of a key is as fresh as what is known of a session: see Rights. */
const FRESH_MS = 600;
const KEYS_REMEMBERED = 5_000;
const USE_NOTED_EVERY_MS = 60_000;

/** What a key may do, as the database has it. */
export interface ApiKeyRights {
  id: string;
  tenantId: string;
  /** Whoever made it, in whose name it acts. */
  userId: string;
  revoked: boolean;
  expired: boolean;
  /** The user is active, not deleted, and has an active link to the tenant, which is active too. */
  usable: boolean;
  permissions: ReadonlySet<string>;
}

interface Remembered {
  rights: Promise<ApiKeyRights | null>;
  loadedAt: number;
}

/** Remembers what keys may do, for less than a second, and notes when they were last used. */
export class ApiKeyRightsCache {
  #keys = new Map<string, Remembered>();
  #noted = new Map<string, number>();

  constructor(private readonly sql: Sql) {}

  /** The rights of a key; null for one that nobody has made. */
  async read(key: string): Promise<ApiKeyRights | null> {
    const hash = digest(key);
    const name = hash.toString("base64");
    const known = this.#keys.get(name);
    if (known && performance.now() - known.loadedAt < FRESH_MS) return await known.rights;
    this.#keys.delete(name);
    makeRoom(this.#keys);
    const entry = { rights: this.#load(hash), loadedAt: performance.now() };
    this.#keys.set(name, entry);
    const unlessFound = () => {
      if (this.#keys.get(name) === entry) this.#keys.delete(name); // guesses must not push out what is in use
    };
    entry.rights.then((rights) => rights ?? unlessFound(), unlessFound);
    return await entry.rights;
  }

  /** Forgets everything: somebody's rights, or a key, have changed. */
  forget(): void {
    this.#keys.clear();
  }

  /** Notes that a key was used, at most once a minute. Nobody waits for it, and it may be lost. */
  noteUse(keyId: string, ip: string | null): void {
    const now = performance.now();
    const before = this.#noted.get(keyId);
    if (before !== undefined && now - before < USE_NOTED_EVERY_MS) return;
    this.#noted.delete(keyId);
    makeRoom(this.#noted);
    this.#noted.set(keyId, now);
    this.sql`update api_keys set last_used_at = now(), last_used_ip = ${ip} where id = ${keyId}
      and (last_used_at is null or last_used_at < now() - make_interval(secs => ${
      USE_NOTED_EVERY_MS / 1000 - 1
    }))`
      .catch(() => this.#noted.delete(keyId)); // the next use is noted instead
  }

  async #load(hash: Uint8Array): Promise<ApiKeyRights | null> {
    const { sql } = this;
    const [key] = await sql<(Omit<ApiKeyRights, "permissions"> & { permissions: string[] })[]>`
      select k.id, k.tenant_id, k.created_by as user_id, k.revoked_at is not null as revoked,
        k.expires_at is not null and k.expires_at <= now() as expired,
        u.is_active and u.deleted_at is null and exists (
          select from user_tenants l join tenants t on t.id = l.tenant_id
          where l.user_id = u.id and l.tenant_id = k.tenant_id and l.is_active
            and t.is_active and t.deleted_at is null) as usable,
        k.permissions
      from api_keys k join users u on u.id = k.created_by where k.hash = ${hash}`;
    if (!key) return null;
    const codes = await sql<{ code: string }[]>`${permissionCodes(sql, key.userId, key.tenantId)}`;
    const held = new Set(codes.map(({ code }) => code));
    return { ...key, permissions: new Set(key.permissions.filter((code) => givenBy(held, code))) };
  }
}

/** Lets the oldest entry go where the map is full. */
function makeRoom(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size >= KEYS_REMEMBERED && oldest !== undefined) map.delete(oldest);
}
