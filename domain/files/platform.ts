import type { NotificationPlatform } from "../notifications/platform.ts";
import type { Pictures } from "../../infra/pictures/pictures.ts";
import type { GroupCommit } from "../../infra/postgres/group_commit.ts";
import type { NewFile } from "./reservation_writer.ts";

export interface FilePlatform extends NotificationPlatform {
  /** Writes single file reservations of many requests in shared commits. */
  reservationWriter: GroupCommit<NewFile, string>;
  pictures: Pictures;
}
