import type { NotificationPlatform } from "../notifications/platform.ts";
import type { Pictures } from "../../infra/pictures/pictures.ts";
import type { ReservationWriter } from "./reservation_writer.ts";

export interface FilePlatform extends NotificationPlatform {
  /** Writes single file reservations of many requests in shared commits. */
  reservationWriter: ReservationWriter;
  pictures: Pictures;
}
